//! Feature maps and their parameter gradients for stored draws, compositions, the Hadamard transform (revrand §2).
//!
//! Two things of the published library are not ours, and are reached by what is: its radial features
//! `exp(−r²/(4l⁴))` are ours at the length scale `√2·l²`, and where its gradients are wrong (its file says by how much),
//! finite differences of its features are the truth.

use vi_linalg::faer::{Mat, Par};
use vi_revrand::basis::{
    AnyBasis, Basis, Bias, Composed, FastFood, FastFoodDraws, FastFoodMixture, Kernel, LengthScale, Linear, OnPart,
    Polynomial, Radial, RandomFourier, Sigmoidal, prior_variances, sequency_order, walsh_hadamard,
};

use super::Shape;
use crate::json::Node;
use crate::report::Report;
use crate::{CaseError, compare, tolerance};

pub(super) const SHAPE: Shape = Shape { about: "feature maps and their gradients", recognise, check };

fn recognise(root: &Node<'_>) -> bool {
    let is_basis = |case: &Node<'_>| case.find("basis").is_some();
    let cases = root.find("cases").and_then(|cases| cases.items().ok());
    root.find("hadamard").is_some() || cases.is_some_and(|cases| cases.iter().any(is_basis))
}

fn check(root: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    if let Some(hadamard) = root.find("hadamard") {
        report.part("hadamard", |report| check_hadamard(&hadamard, report));
    }
    if let Some(cases) = root.find("cases") {
        for (k, case) in cases.items()?.iter().enumerate() {
            let basis = case.get("basis")?;
            let name = basis.text().ok_or_else(|| basis.refuse("no name of a basis"))?;
            let columns = case.get("inputs")?.get("X")?.matrix()?.ncols();
            report.part(&format!("case{k}/{name}/d{columns}"), |report| match name {
                "concatenation" => check_concatenation(case, report),
                name => check_basis(name, case, report),
            });
        }
    }
    Ok(())
}

/// The stored transforms are divided by the length.
fn check_hadamard(hadamard: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let y = hadamard.get("Y")?.matrix()?;
    let (rows, n) = y.shape();
    let order = sequency_order(n)?;
    let mut natural = Mat::zeros(rows, n);
    for i in 0..rows {
        let mut row: Vec<f64> = y.row(i).iter().copied().collect();
        walsh_hadamard(&mut row)?;
        row.iter().enumerate().for_each(|(j, value)| natural[(i, j)] = value / n as f64);
    }
    let sequency = Mat::from_fn(rows, n, |i, j| natural[(i, order[j])]);
    for (key, found) in [("natural_order", natural), ("sequency_order", sequency)] {
        report.matrix(hadamard, key, found.as_ref(), tolerance::FEATURES)?;
    }
    Ok(())
}

/// A basis at its parameters, with what links those to the stored ones.
struct AtParameters {
    basis: AnyBasis,
    theta: Vec<f64>,
    /// `dθ/d(stored parameter)`.
    slopes: Vec<f64>,
}

/// Radial features `exp(−r²/(4l⁴))` as ours: at `θ = √2·l²`, with `dθ/dl`.
pub(super) fn published_radial(centres: &Mat<f64>, scales: &[f64]) -> Result<(Radial, Vec<f64>, Vec<f64>), CaseError> {
    let theta: Vec<f64> = scales.iter().map(|l| std::f64::consts::SQRT_2 * l * l).collect();
    let slopes = scales.iter().map(|l| 2.0 * std::f64::consts::SQRT_2 * l).collect();
    Ok((Radial::new(centres.as_ref(), length_scale(&theta))?, theta, slopes))
}

impl AtParameters {
    fn same(basis: impl Into<AnyBasis>, theta: Vec<f64>) -> Self {
        let slopes = vec![1.0; theta.len()];
        Self { basis: basis.into(), theta, slopes }
    }

    fn features(&self, x: &Mat<f64>) -> Result<Mat<f64>, CaseError> {
        Ok(self.basis.features(&self.theta, x.as_ref(), Par::Seq)?)
    }

    /// Derivatives in the stored parameters.
    fn gradients(&self, x: &Mat<f64>) -> Result<Vec<Mat<f64>>, CaseError> {
        let gradients = self.basis.parameter_gradients(&self.theta, x.as_ref())?;
        Ok(gradients.into_iter().zip(&self.slopes).map(|(gradient, slope)| gradient * *slope).collect())
    }
}

/// One number is shared by all inputs.
pub(super) fn length_scale(values: &[f64]) -> LengthScale {
    match values {
        [value] => LengthScale::Shared(*value),
        values => LengthScale::PerInput(values.to_vec()),
    }
}

fn check_basis(name: &str, case: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let inputs = case.get("inputs")?;
    let expected = case.get("expected")?;
    let x = inputs.get("X")?.matrix()?;
    let stored = expected.get("Phi")?.matrix()?;
    expected.check_len(x.nrows(), stored.nrows())?;
    let Some(at) = read_basis(name, &inputs, x.ncols(), stored.ncols())? else {
        report.skip("", "a basis that is not known");
        return Ok(());
    };
    let found = at.features(&x)?;
    expected.check_len(stored.ncols(), found.ncols())?;
    report.compare("Phi", compare::matrices(found.as_ref(), stored.as_ref()), tolerance::FEATURES);
    if let (Some(documented), Some(centres)) = (expected.find("Phi_documented_formula"), inputs.find("centres")) {
        let scales = parameters(&inputs)?.concat();
        let radial = Radial::new(centres.matrix()?.as_ref(), length_scale(&scales))?;
        let found = AtParameters::same(radial, scales).features(&x)?;
        let documented = documented.matrix_of(found.nrows(), found.ncols())?;
        report.compare("Phi_documented", compare::matrices(found.as_ref(), documented.as_ref()), tolerance::FEATURES);
    }
    check_gradients(&at.gradients(&x)?, &parameters(&inputs)?, &expected, report)
}

/// Each parameter is a vector; the gradient holds one matrix for each of its numbers.
fn check_gradients(
    found: &[Mat<f64>],
    parameters: &[Vec<f64>],
    expected: &Node<'_>,
    report: &mut Report,
) -> Result<(), CaseError> {
    let errors = expected.find("published_gradient_max_error").map(|errors| errors.vector()).transpose()?;
    for (key, tolerance) in
        [("grad_finite_difference", tolerance::FEATURE_DIFFERENCES), ("grad_as_published", tolerance::FEATURES)]
    {
        let Some(stored) = expected.find(key) else { continue };
        let stored = stored.items()?;
        expected.check_len(parameters.len(), stored.len())?;
        let mut rest = found;
        for (p, (stored, parameter)) in stored.iter().zip(parameters).enumerate() {
            let stored = stored.items()?;
            expected.check_len(parameter.len(), stored.len())?;
            let (own, after) = rest.split_at(parameter.len());
            rest = after;
            // The published gradient where it is one, by the file's own account.
            let right = errors.as_ref().and_then(|errors| errors.get(p)).is_some_and(|error| *error < 1e-8);
            if key == "grad_as_published" && !right {
                continue;
            }
            for (i, (found, stored)) in own.iter().zip(stored).enumerate() {
                let stored = stored.matrix_of(found.nrows(), found.ncols())?;
                let error = compare::matrices(found.as_ref(), stored.as_ref());
                report.compare(&format!("{key}/{p}/{i}"), error, tolerance);
            }
        }
    }
    Ok(())
}

fn parameters(inputs: &Node<'_>) -> Result<Vec<Vec<f64>>, CaseError> {
    match inputs.find("params") {
        Some(parameters) => parameters.items()?.iter().map(Node::vector).collect(),
        None => Ok(Vec::new()),
    }
}

/// The basis that the name and the draws describe; `None` for a name that is not known.
fn read_basis(name: &str, inputs: &Node<'_>, columns: usize, width: usize) -> Result<Option<AtParameters>, CaseError> {
    let parameters = parameters(inputs)?;
    let scales = parameters.last().cloned().unwrap_or_default();
    let at = if inputs.find("PI").is_some() {
        let draws = read_draws(inputs)?;
        if let [means, scales] = &parameters[..] {
            let basis = FastFoodMixture::from_draws(draws, means, length_scale(scales))?;
            AtParameters::same(basis, parameters.concat())
        } else {
            let basis = FastFood::from_draws(Kernel::Rbf, draws, columns, length_scale(&scales))?;
            AtParameters::same(basis, scales)
        }
    } else if let Some(weights) = inputs.find("weights_W") {
        let basis = RandomFourier::from_frequencies(kernel(name), weights.matrix()?, length_scale(&scales))?;
        AtParameters::same(basis, scales)
    } else if let Some(centres) = inputs.find("centres") {
        let centres = centres.matrix()?;
        if name.starts_with("radial") {
            let (basis, theta, slopes) = published_radial(&centres, &scales)?;
            AtParameters { basis: basis.into(), theta, slopes }
        } else if name.starts_with("sigmoid") {
            AtParameters::same(Sigmoidal::new(centres.as_ref(), length_scale(&scales))?, scales)
        } else {
            return Ok(None);
        }
    } else if let Some(order) = inputs.find("order") {
        let order = order.count()?;
        let plain = Polynomial::new(columns, order)?;
        let with = Polynomial::with_intercept(columns, order)?;
        AtParameters::same(if plain.width() == width { plain } else { with }, Vec::new())
    } else if let Some(offset) = inputs.find("offset") {
        AtParameters::same(Bias::new(offset.number()?)?, Vec::new())
    } else if name.starts_with("linear") {
        let linear = if width == columns { Linear::new(columns)? } else { Linear::with_intercept(columns)? };
        AtParameters::same(linear, Vec::new())
    } else {
        return Ok(None);
    };
    Ok(Some(at))
}

/// What the features were drawn for; it does not enter the numbers.
fn kernel(name: &str) -> Kernel {
    let named = [
        ("cauchy", Kernel::Cauchy),
        ("laplace", Kernel::LaplaceProduct),
        ("matern32", Kernel::Matern32),
        ("matern52", Kernel::Matern52),
    ];
    named.into_iter().find(|(part, _)| name.contains(part)).map_or(Kernel::Rbf, |(_, kernel)| kernel)
}

fn read_draws(inputs: &Node<'_>) -> Result<FastFoodDraws, CaseError> {
    let rows = |key: &str| -> Result<(usize, Vec<f64>), CaseError> {
        let matrix = inputs.get(key)?.matrix()?;
        let entries = (0..matrix.nrows()).flat_map(|i| matrix.row(i).iter().copied().collect::<Vec<_>>()).collect();
        Ok((matrix.ncols(), entries))
    };
    let (size, signs) = rows("B")?;
    let mut permutation = Vec::with_capacity(signs.len());
    for block in inputs.get("PI")?.items()? {
        for place in block.items()? {
            permutation.push(place.count()?);
        }
    }
    Ok(FastFoodDraws::from_parts(size, signs, rows("G")?.1, permutation, rows("S")?.1)?)
}

/// Columns as a note of the file names them: `0:2` or `[1,3]` after `on columns`.
fn columns_of(note: &str, basis: &str, default: &[usize]) -> Vec<usize> {
    let parse = || -> Option<Vec<usize>> {
        let text = note.split(basis).nth(1)?.split("on columns").nth(1)?.trim_start();
        if let Some(list) = text.strip_prefix('[') {
            return list.split(']').next()?.split(',').map(|column| column.trim().parse().ok()).collect();
        }
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == ':'))?;
        let (first, last) = text[..end].split_once(':')?;
        Some((first.parse().ok()?..last.parse().ok()?).collect())
    };
    parse().unwrap_or_else(|| default.to_vec())
}

/// A line in some columns, waves of others, published radial features of all.
fn check_concatenation(case: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let inputs = case.get("inputs")?;
    let expected = case.get("expected")?;
    let x = inputs.get("X")?.matrix()?;
    let note = case.find("note").and_then(|note| note.text()).unwrap_or("");
    let scales = inputs.get("lenscale_rff")?;
    let scales = if scales.is_array() { scales.vector()? } else { vec![scales.number()?] };
    let radial = inputs.get("lenscale_radial")?;
    let radial = if radial.is_array() { radial.vector()? } else { vec![radial.number()?] };
    let variances = inputs.get("regularisers")?.vector_of(3)?;

    let line = columns_of(note, "linear", &[0, 1]);
    let waves = columns_of(note, "random_rbf", &[1, 3]);
    let weights = inputs.get("weights_W")?.matrix_of(waves.len(), inputs.get("weights_W")?.matrix()?.ncols())?;
    let fourier = RandomFourier::from_frequencies(Kernel::Rbf, weights, length_scale(&scales))?;
    let (bumps, at_radial, _) = published_radial(&inputs.get("centres")?.matrix()?, &radial)?;
    let basis: Composed = Linear::with_intercept(line.len())?.on_columns(&line)?.with_variance(variances[0])?
        + fourier.on_columns(&waves)?.with_variance(variances[1])?
        + bumps.with_variance(variances[2])?;

    let theta = [scales.clone(), at_radial].concat();
    let found = basis.features(&theta, x.as_ref(), Par::Seq)?;
    expected.get("Phi")?;
    report.matrix(&expected, "Phi", found.as_ref(), tolerance::FEATURES)?;
    if let Some(stored) = expected.find("grad_rff_lenscale") {
        let stored = stored.items()?;
        expected.check_len(scales.len(), stored.len())?;
        let gradients = basis.parameter_gradients(&theta, x.as_ref())?;
        for (i, (found, stored)) in gradients.iter().zip(stored).enumerate() {
            let stored = stored.matrix_of(found.nrows(), found.ncols())?;
            let error = compare::matrices(found.as_ref(), stored.as_ref());
            report.compare(&format!("grad_rff_lenscale/{i}"), error, tolerance::FEATURE_DIFFERENCES);
        }
    }
    let diagonal = prior_variances(&basis, &variances)?;
    report.vector(&expected, "regulariser_diagonal", &diagonal, 0.0, tolerance::FEATURES)?;
    if let Some(stored) = expected.find("slices") {
        let found: Vec<f64> = basis
            .regularisers()
            .iter()
            .flat_map(|part| [part.features.start as f64, part.features.end as f64])
            .collect();
        let stored: Vec<f64> = stored.items()?.iter().map(Node::vector).collect::<Result<Vec<_>, _>>()?.concat();
        expected.check_len(found.len(), stored.len())?;
        report.compare("slices", compare::vectors(&found, &stored, 0.0), 0.0);
    }
    report.number(&expected, "dim", basis.width() as f64, 0.0, 0.0)
}
