//! Three small real sets that come with the crate; `data/README.md` gives their provenance.

use crate::{CsvSettings, DataError, Dataset, Label, read_csv};

const NODAL: &str = include_str!("../data/nodal.csv");
const BIOPSY: &str = include_str!("../data/biopsy.csv");
const DIGITS: &str = include_str!("../data/digits.csv");

/// The number of black pixels in a full block of a digit's bitmap.
const FULL_BLOCK: f64 = 16.0;

/// The names of the columns V1 to V9 of the breast cancer data.
const CYTOLOGY: [&str; 9] = [
    "clump thickness",
    "cell size uniformity",
    "cell shape uniformity",
    "marginal adhesion",
    "epithelial cell size",
    "bare nuclei",
    "bland chromatin",
    "normal nucleoli",
    "mitoses",
];

/// Nodal involvement in 53 patients with prostate cancer (Brown 1980).
///
/// The inputs are an `intercept` of ones and the five indicators `aged` (60 or over), `stage`,
/// `grade`, `xray` and `acid` in {0, 1}, so d = 6; y = 1 where the lymph nodes are involved, in 20
/// patients.
///
/// ```
/// let data = vi_data::nodal()?;
/// assert_eq!((data.n(), data.d()), (53, 6));
/// assert_eq!(data.columns()[0], "intercept");
/// # Ok::<(), vi_data::DataError>(())
/// ```
///
/// # Errors
/// None can arise with the data as shipped; the signature is that of the parser.
pub fn nodal() -> Result<Dataset, DataError> {
    let settings = CsvSettings { label: Label::Name("r".to_owned()), ..CsvSettings::default() };
    read_csv(NODAL.as_bytes(), &settings)?.without_column("m")?.with_intercept()
}

/// The Wisconsin breast cancer data (Wolberg 1992): nine scores of 683 tumours, complete cases.
///
/// The nine inputs are scored from 1 to 10 and scaled onto [−1, 1], so d = 9; y = 1 for the 239
/// malignant tumours. There is no intercept: add one by [`Dataset::with_intercept`]. The sample's code number is not a property
/// of the tumour and is left out.
///
/// ```
/// let data = vi_data::breast_cancer()?.with_intercept()?;
/// assert_eq!((data.n(), data.d()), (683, 10));
/// # Ok::<(), vi_data::DataError>(())
/// ```
///
/// # Errors
/// None can arise with the data as shipped; the signature is that of the parser.
pub fn breast_cancer() -> Result<Dataset, DataError> {
    breast_cancer_with_id()?.without_column("id")
}

/// [`breast_cancer`] with the sample's code number, scaled likewise, as first of ten columns.
///
/// This is the matrix of LIBSVM's `breast-cancer_scale` (with y = 0, 1 for its labels 2, 4) before
/// its rounding to six digits; use it to compare with figures computed from that file.
///
/// # Errors
/// None can arise with the data as shipped; the signature is that of the parser.
pub fn breast_cancer_with_id() -> Result<Dataset, DataError> {
    let settings = CsvSettings { classes: vec!["benign".to_owned(), "malignant".to_owned()], ..CsvSettings::default() };
    let scored = read_csv(BIOPSY.as_bytes(), &settings)?;
    let names = std::iter::once("id").chain(CYTOLOGY).map(str::to_owned);
    Dataset::new(scored.rows_row_major().to_vec(), scored.y().to_vec(), Some(names.collect()))?.min_max_scaled()
}

/// 1000 handwritten digits, images of 8 × 8 (Alpaydin and Kaynak 1998).
///
/// The 64 inputs are the shares of black in the blocks of a digit's bitmap, in [0, 1], row by row (`r0c0` … `r7c7`), so
/// d = 64; y ∈ {0, …, 9} is the digit. There is no intercept.
///
/// ```
/// let data = vi_data::digits()?;
/// assert_eq!((data.n(), data.d()), (1000, 64));
/// assert!(data.row(0).iter().all(|share| (0.0..=1.0).contains(share)));
/// # Ok::<(), vi_data::DataError>(())
/// ```
///
/// # Errors
/// None can arise with the data as shipped; the signature is that of the parser.
pub fn digits() -> Result<Dataset, DataError> {
    let counts = read_csv(DIGITS.as_bytes(), &CsvSettings::default())?;
    let rows = counts.rows_row_major().iter().map(|count| count / FULL_BLOCK).collect();
    Dataset::new(rows, counts.y().to_vec(), Some(counts.columns().to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Σᵢ x_ik and Σᵢ i·x_ik with i from 1: any change of a value or of the order shows.
    fn sums(data: &Dataset, k: usize) -> (f64, f64) {
        let mut sums = (0.0, 0.0);
        for (i, (x, _)) in data.observations().enumerate() {
            sums.0 += x[k];
            sums.1 += (i + 1) as f64 * x[k];
        }
        sums
    }

    fn label_sums(data: &Dataset) -> (f64, usize) {
        let ones = data.y().iter().enumerate().filter(|&(_, &y)| y == 1.0);
        (data.y().iter().sum(), ones.map(|(i, _)| i + 1).sum())
    }

    #[test]
    fn nodal_has_browns_counts() {
        let data = nodal().unwrap();
        assert_eq!((data.n(), data.d()), (53, 6));
        let names = ["intercept", "aged", "stage", "grade", "xray", "acid"];
        assert_eq!(data.columns(), names);
        let wanted = [(53.0, 1431.0), (24.0, 720.0), (27.0, 631.0), (21.0, 523.0), (16.0, 477.0), (30.0, 686.0)];
        for (k, wanted) in wanted.into_iter().enumerate() {
            assert_eq!(sums(&data, k), wanted, "{}", names[k]);
        }
        assert!(data.rows_row_major().iter().all(|&v| v == 0.0 || v == 1.0));
        assert_eq!(label_sums(&data), (20.0, 543));
    }

    #[test]
    fn breast_cancer_is_libsvms() {
        // Column sums of LIBSVM's breast-cancer_scale, whose entries are rounded to six digits.
        let wanted = [
            (-579.62969, -197_235.386332),
            (-160.555561, -65_638.224313),
            (-356.555568, -131_212.003622),
            (-346.777796, -129_172.228939),
            (-405.222242, -143_615.785536),
            (-343.888982, -130_274.923428),
            (-296.777779, -121_917.333582),
            (-311.888989, -117_232.918728),
            (-399.222235, -150_323.337689),
            (-591.444462, -209_487.338957),
        ];
        let data = breast_cancer_with_id().unwrap();
        assert_eq!((data.n(), data.d()), (683, 10));
        let (n, half_unit) = (data.n() as f64, 0.5e-6);
        for (k, wanted) in wanted.into_iter().enumerate() {
            let found = sums(&data, k);
            assert!((found.0 - wanted.0).abs() <= n * half_unit, "column {k}");
            let weight = n * (n + 1.0) / 2.0;
            assert!((found.1 - wanted.1).abs() <= weight * half_unit, "column {k}");
        }
        assert_eq!(label_sums(&data), (239.0, 68_789));
    }

    #[test]
    fn breast_cancer_for_analysis_has_the_nine_scores() {
        let data = breast_cancer().unwrap();
        assert_eq!((data.n(), data.d()), (683, 9));
        assert_eq!(data.columns(), CYTOLOGY);
        // Scores 5, 1, 1, 1, 2, 1, 3, 1, 1 of the first tumour: −1 + 2(v − 1)/9.
        let first = [5.0, 1.0, 1.0, 1.0, 2.0, 1.0, 3.0, 1.0, 1.0];
        for (found, score) in data.row(0).iter().zip(first) {
            assert!((found - (2.0 * (score - 1.0) / 9.0 - 1.0)).abs() <= 2.0 * f64::EPSILON);
        }
    }

    #[test]
    fn digits_are_the_first_thousand() {
        let data = digits().unwrap();
        assert_eq!((data.n(), data.d()), (1000, 64));
        // Sums of the counts over all entries, weighted by the row from 1, and by the column from 1.
        let mut found = (0.0, 0.0, 0.0);
        for (i, (x, _)) in data.observations().enumerate() {
            for (k, share) in x.iter().enumerate() {
                let count = share * FULL_BLOCK;
                found.0 += count;
                found.1 += (i + 1) as f64 * count;
                found.2 += (k + 1) as f64 * count;
            }
        }
        assert_eq!(found, (314_334.0, 157_311_981.0, 10_236_904.0));
        let weighted: f64 = data.y().iter().enumerate().map(|(i, y)| (i + 1) as f64 * y).sum();
        assert_eq!((data.y().iter().sum::<f64>(), weighted), (4480.0, 2_250_602.0));
    }
}
