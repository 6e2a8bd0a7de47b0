//! Inputs, stored or made by a recipe, and priors.

use vi_linalg::faer::Mat;
use vi_models::vb::{LinearPrior, LogitPrior};

use crate::CaseError;
use crate::json::Node;

/// Which model a file is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Linear,
    Logistic,
}

impl Family {
    /// From what only one of them has.
    pub(super) fn of(root: &Node<'_>, cases: &[(&str, Node<'_>)]) -> Self {
        let authors = |case: &Node<'_>, key: &str| {
            ["fit", "fit_ard", "fit_iter"].iter().any(|fit| {
                case.find(fit).and_then(|fit| fit.find("authors")).is_some_and(|authors| authors.find(key).is_some())
            })
        };
        let any = |keys: &[&str]| cases.iter().any(|(_, case)| keys.iter().any(|key| authors(case, key)));
        let noise = root
            .find("prior")
            .is_some_and(|prior| prior.find("c0").is_some() || prior.text().is_some_and(|text| text.contains("c0")));
        if any(&["pred_mean", "pred_precision", "pred_dof", "cn", "dn"]) {
            Self::Linear
        } else if any(&["pred_prob_batch", "pred_prob_per_row", "pred_prob_batch_at_minus_x"]) || !noise {
            Self::Logistic
        } else {
            Self::Linear
        }
    }
}

/// The priors of both models; those of the linear one are whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prior {
    values: [f64; 4],
}

impl Prior {
    pub(super) const DEFAULT: Self = Self { values: [1e-2, 1e-4, 1e-2, 1e-4] };

    /// `prior` as an object, as text such as `defaults: a0=1e-2,b0=1e-4`, or the authors' where there is none.
    pub(super) fn read(root: &Node<'_>) -> Result<Self, CaseError> {
        let mut prior = Self::DEFAULT;
        let Some(node) = root.find("prior") else { return Ok(prior) };
        for (value, key) in prior.values.iter_mut().zip(["a0", "b0", "c0", "d0"]) {
            if let Some(text) = node.text() {
                if let Some(found) = assigned(text, key) {
                    *value = found.map_err(|()| node.refuse(format!("{key} is not followed by a number")))?;
                }
            } else if let Some(stored) = node.find(key) {
                *value = stored.number()?;
            }
        }
        Ok(prior)
    }

    pub(super) fn linear(&self) -> Result<LinearPrior, CaseError> {
        let [a0, b0, c0, d0] = self.values;
        Ok(LinearPrior::new(a0, b0, c0, d0)?)
    }

    pub(super) fn logit(&self) -> Result<LogitPrior, CaseError> {
        let [a0, b0, ..] = self.values;
        Ok(LogitPrior::new(a0, b0)?)
    }
}

/// The number after `key=`.
fn assigned(text: &str, key: &str) -> Option<Result<f64, ()>> {
    let rest = text.split(&format!("{key}=")).nth(1)?;
    let number = rest.split([',', ' ', ';']).next().unwrap_or(rest);
    Some(number.trim().parse().map_err(|_| ()))
}

/// Rows, labels (0 and 1 for classes) and rows to predict at.
#[derive(Debug, Clone)]
pub(super) struct Inputs {
    pub(super) x: Mat<f64>,
    pub(super) y: Vec<f64>,
    pub(super) test: Option<Mat<f64>>,
}

impl Inputs {
    /// `case` names the degree where the rows are powers: `D=3`.
    pub(super) fn read(root: &Node<'_>, case: &str, family: Family) -> Result<Self, CaseError> {
        let inputs = root.get("inputs")?;
        let made = if inputs.find("X").is_some() {
            let x = inputs.get("X")?.matrix()?;
            let test = inputs.find("X_test").map(|test| {
                let test = test.matrix()?;
                inputs.get("X_test")?.check_len(x.ncols(), test.ncols())?;
                Ok::<_, CaseError>(test)
            });
            Self { y: inputs.get("y")?.vector_of(x.nrows())?, x, test: test.transpose()? }
        } else if inputs.find("x").is_some() {
            let columns = case.trim_start_matches("D=").parse().map_err(|_| inputs.refuse("no degree is named"))?;
            Self::powers(&inputs, columns)?
        } else {
            recipe(&inputs, family)?
        };
        if family == Family::Linear {
            return Ok(made);
        }
        let y = inputs.find("y").unwrap_or_else(|| inputs.clone());
        let labels = made.y.iter().map(|&label| match label {
            1.0 => Ok(1.0),
            -1.0 => Ok(0.0),
            other => Err(y.refuse(format!("{other} is neither -1 nor 1"))),
        });
        Ok(Self { y: labels.collect::<Result<_, _>>()?, ..made })
    }

    /// `X[n, j] = x[n]ʲ`, `j = 0..columns`.
    pub(super) fn powers(inputs: &Node<'_>, columns: usize) -> Result<Self, CaseError> {
        if columns == 0 {
            return Err(inputs.refuse("a design needs a column"));
        }
        let x = inputs.get("x")?.vector()?;
        let y = inputs.get("y")?.vector_of(x.len())?;
        let test = inputs.find("x_test").map(|test| test.vector()).transpose()?;
        let design = |points: &[f64]| Mat::from_fn(points.len(), columns, |i, j| power(points[i], j));
        Ok(Self { x: design(&x), y, test: test.map(|test| design(&test)) })
    }
}

/// `xʲ`, rounded once where the library does: as the reference's was.
fn power(x: f64, j: usize) -> f64 {
    x.powf(j as f64)
}

/// A counter form of splitmix64.
fn uniform(seed: u64, index: u64) -> f64 {
    let mut z = seed.wrapping_add(index.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    (z >> 11) as f64 * (-53.0_f64).exp2()
}

/// The sparse setting: `X = u − ½`, the first `D_eff` weights `8(u − ½)` and the rest 0; `y = Xw + 4(v − ½)`, or a class from
/// the logistic probability.
fn recipe(inputs: &Node<'_>, family: Family) -> Result<Inputs, CaseError> {
    let count = |key: &str| inputs.get(key)?.count();
    let (n, d, informative) = (count("N")?, count("D")?, count("D_eff")?);
    if n == 0 || d == 0 || informative > d {
        return Err(inputs.refuse("the recipe needs rows, columns, and no more informative columns than there are"));
    }
    let seed = count("seed")? as u64;
    let mut next = 0;
    let mut draw = || {
        next += 1;
        uniform(seed, next)
    };
    let mut x = Mat::zeros(n, d);
    for i in 0..n {
        for j in 0..d {
            x[(i, j)] = draw() - 0.5;
        }
    }
    let w: Vec<f64> = (0..informative).map(|_| 8.0 * (draw() - 0.5)).collect();
    let mut y = Vec::with_capacity(n);
    for i in 0..n {
        let mean: f64 = w.iter().enumerate().map(|(j, w)| x[(i, j)] * w).sum();
        let v = draw();
        y.push(match family {
            Family::Linear => mean + 4.0 * (v - 0.5),
            Family::Logistic => {
                if v < 1.0 / (1.0 + (-mean).exp()) {
                    1.0
                } else {
                    -1.0
                }
            }
        });
    }
    check_recipe(inputs, &x, &y)?;
    let test = Mat::from_fn(n.min(20), d, |i, j| 0.5 * x[(i, j)]);
    Ok(Inputs { x, y, test: Some(test) })
}

/// Whether the recipe was this one: to rounding of the sums.
fn check_recipe(inputs: &Node<'_>, x: &Mat<f64>, y: &[f64]) -> Result<(), CaseError> {
    let (n, d) = x.shape();
    let sum_x: f64 = (0..n).map(|i| (0..d).map(|j| x[(i, j)]).sum::<f64>()).sum();
    let first = |key: &str, values: &[f64]| -> Result<(), CaseError> {
        let Some(stored) = inputs.find(key) else { return Ok(()) };
        for (i, value) in stored.vector()?.iter().enumerate() {
            if values.get(i).is_none_or(|found| (found - value).abs() > 1e-12 * value.abs().max(1.0)) {
                return Err(stored.refuse("the recipe does not give these"));
            }
        }
        Ok(())
    };
    let number = |key: &str, found: f64, terms: usize| -> Result<(), CaseError> {
        let Some(stored) = inputs.find(key) else { return Ok(()) };
        let tolerance = 4.0 * terms as f64 * f64::EPSILON;
        if (found - stored.number()?).abs() > tolerance.max(1e-12) {
            return Err(stored.refuse(format!("the recipe gives {found}")));
        }
        Ok(())
    };
    let row: Vec<f64> = x.row(0).iter().copied().collect();
    first("check_X_first_3", &row)?;
    first("check_y_first_3", y)?;
    number("check_X_last", x[(n - 1, d - 1)], 1)?;
    number("check_sum_X", sum_x, n * d)?;
    number("check_sum_y", y.iter().sum(), n * 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priors_in_words_are_read() {
        let value = serde_json::from_str(r#"{"prior": "defaults: a0=2e-1,b0=3, c0=0.5;d0=7"}"#).unwrap();
        assert_eq!(Prior::read(&Node::root(&value)).unwrap().values, [0.2, 3.0, 0.5, 7.0]);
        let value = serde_json::from_str(r#"{"prior": {"b0": 4}}"#).unwrap();
        assert_eq!(Prior::read(&Node::root(&value)).unwrap().values, [1e-2, 4.0, 1e-2, 1e-4]);
        let value = serde_json::from_str(r#"{"prior": "a0=x"}"#).unwrap();
        assert!(Prior::read(&Node::root(&value)).is_err());
    }
}
