//! Theorems 2 and 3: the same Gaussian under several names, held against each other row by row.

use vi_core::papers::ekf::{self, MeanModel};
use vi_core::papers::{NaturalGradient, OnlineNewton};
use vi_core::special::{sigmoid, sigmoid_derivative};
use vi_core::{
    Belief, BernoulliLogit, DenseGaussian, Error, Exact, Explicit, GaussianLikelihood, Implicit, Linearised,
    divergence, filter, papers::kalman,
};
use vi_data::Dataset;
use vi_data::synthetic::{LinearSettings, Normalisation};
use vi_linalg::Cholesky;
use vi_linalg::faer::{Mat, MatMut, MatRef, Par};
use vi_linalg::kernels::dot;

use super::replicate::Setting;
use super::words;
use crate::error::{Doing as _, ReproError};
use crate::item::Context;
use crate::plot::palette::{BLACK, BLUE, Dash, GREEN, Marker, SKY, Style};
use crate::plot::{Axis, Figure, Panel};
use crate::report::{Check, Outcome, Table, join, number};
use crate::streams::generator;

const D: usize = 20;
const N: usize = 200;
/// Standard deviation of the noise.
const NOISE: f64 = 0.7;
/// Rounding of `N` rank-one updates in dimension `D` whose matrices have condition numbers to 10³.
const ROUNDING: f64 = 1e3 * (N * D) as f64 * f64::EPSILON;

/// A name under which the algorithm goes, and how far its mean is from the reference after each row, in posterior deviations.
struct Form {
    name: &'static str,
    style: Style,
    off: Vec<f64>,
}

impl Form {
    fn worst(&self) -> f64 {
        self.off.iter().copied().fold(0.0, |a, b| if b.is_nan() { f64::INFINITY } else { a.max(b) })
    }
}

/// Distance of two Gaussians: of the means in deviations of `p`, and of the covariances by the root of the divergence.
fn distance(q: &DenseGaussian, p: &DenseGaussian) -> Result<f64, Error> {
    let cholesky = p.cholesky()?;
    let mut shift: Vec<f64> = q.mean().iter().zip(p.mean()).map(|(a, b)| a - b).collect();
    let before = shift.clone();
    cholesky.solve_vec_in_place(&mut shift)?;
    let (a, b) = (q.covariance(), p.covariance());
    let scale = (0..D).map(|j| b[(j, j)]).fold(0.0, f64::max);
    let widest = (0..D * D).map(|k| (a[(k % D, k / D)] - b[(k % D, k / D)]).abs()).fold(0.0, f64::max) / scale;
    Ok(dot(&before, &shift).max(0.0).sqrt().max(widest))
}

/// Every row's step by one form.
type Step<'a> = Box<dyn FnMut(&[f64], f64) -> Result<DenseGaussian, Error> + 'a>;

/// Runs the reference beside the forms.
fn compare(
    data: &Dataset,
    mut reference: Step<'_>,
    forms: Vec<(&'static str, Style, Step<'_>)>,
) -> Result<(Vec<Form>, DenseGaussian), ReproError> {
    let mut out: Vec<Form> =
        forms.iter().map(|(name, style, _)| Form { name, style: *style, off: Vec::new() }).collect();
    let mut steps: Vec<Step<'_>> = forms.into_iter().map(|(.., step)| step).collect();
    let mut last = None;
    for (x, y) in data.observations() {
        let truth = reference(x, y).context("a step")?;
        for (form, step) in out.iter_mut().zip(&mut steps) {
            let belief = step(x, y).context("a step")?;
            form.off.push(distance(&belief, &truth).context("a step")?);
        }
        last = Some(truth);
    }
    Ok((out, last.context("theorems")?))
}

/// A belief from a mean and an accumulated precision.
fn gaussian(mean: &[f64], precision: MatRef<'_, f64>) -> Result<DenseGaussian, Error> {
    DenseGaussian::new(mean, Cholesky::new(precision).map_err(Error::from)?.inverse().as_ref())
}

fn outer(x: &[f64], scale: f64) -> Mat<f64> {
    Mat::from_fn(D, D, |i, j| scale * x[i] * x[j])
}

/// One step of a filter on one row.
fn one<R: vi_core::SiteRule>(belief: &mut DenseGaussian, rule: &R, x: &[f64], y: f64) -> Result<DenseGaussian, Error> {
    filter::run(belief, rule, MatRef::from_row_major_slice(x, 1, D), &[y], |_, _, _| {})?;
    Ok(belief.clone())
}

/// Theorem 2: forms against the textbook's Kalman filter; and that filter's end against the posterior, as a divergence.
fn linear(ctx: &Context) -> Result<(Vec<Form>, f64), ReproError> {
    let settings =
        LinearSettings { n: N, d: D, c: 1.0, normalisation: Normalisation::AsRun, noise_sd: NOISE, theta_sd: 1.0 };
    let data = settings.draw(&mut generator(ctx.seed, 0)).context("data")?.data;
    let prior = DenseGaussian::isotropic(&[0.0; D], 1.0).context("Theorem 2")?;
    let noise = GaussianLikelihood::new(NOISE * NOISE).context("Theorem 2")?;
    let (implicit, explicit) = (Implicit(noise), Explicit(noise));
    let precision = NOISE.powi(-2);
    let mut newton = OnlineNewton::new(&prior).context("Theorem 2")?;
    let (mut textbook, mut by_implicit, mut by_explicit) = (prior.clone(), prior.clone(), prior.clone());
    let r = Mat::from_fn(1, 1, |_, _| NOISE * NOISE);
    let reference: Step<'_> = Box::new(|x, y| {
        kalman::step(&mut textbook, MatRef::from_row_major_slice(x, 1, D), &[y], r.as_ref(), Par::Seq)?;
        Ok(textbook.clone())
    });
    let forms: Vec<(&'static str, Style, Step<'_>)> = vec![
        (
            "implicit scheme (35)-(36)",
            Style::solid(BLUE).marker(Marker::Disc),
            Box::new(|x, y| one(&mut by_implicit, &implicit, x, y)),
        ),
        (
            "explicit scheme (37)-(38)",
            Style::solid(SKY).dash(Dash::Dashed).marker(Marker::Triangle),
            Box::new(|x, y| one(&mut by_explicit, &explicit, x, y)),
        ),
        (
            "online Newton (39)",
            Style::solid(GREEN).dash(Dash::DashDot).marker(Marker::Square),
            Box::new(|x, y| {
                let residual = dot(x, &newton.mean) - y;
                let gradient: Vec<f64> = x.iter().map(|x| precision * residual * x).collect();
                newton.step(&gradient, outer(x, precision).as_ref())?;
                gaussian(&newton.mean, newton.hessian.as_ref())
            }),
        ),
    ];
    let (forms, end) = compare(&data, reference, forms)?;
    // The posterior itself: one solve with all rows.
    let x = data.x();
    let mut total = Mat::<f64>::identity(D, D);
    total += x.transpose() * x * precision;
    let y = Mat::from_fn(N, 1, |i, _| precision * data.y()[i]);
    let all = Cholesky::new(total.as_ref()).context("posterior")?;
    let mean = all.solve((x.transpose() * &y).as_ref()).context("posterior")?;
    let posterior = DenseGaussian::new(&(0..D).map(|j| mean[(j, 0)]).collect::<Vec<_>>(), all.inverse().as_ref())
        .context("Theorem 2")?;
    Ok((forms, divergence::gaussian_kl(&end, &posterior).context("Theorem 2")?))
}

/// A logistic observation as the textbook's extended Kalman filter wants it.
struct Logistic<'a>(&'a [f64]);

impl MeanModel for Logistic<'_> {
    fn output_dim(&self) -> usize {
        1
    }

    fn mean(&self, theta: &[f64], out: &mut [f64]) {
        out[0] = sigmoid(dot(self.0, theta));
    }

    fn jacobian(&self, theta: &[f64], mut out: MatMut<'_, f64>) {
        let slope = sigmoid_derivative(dot(self.0, theta));
        for (j, x) in self.0.iter().enumerate() {
            out[(0, j)] = slope * x;
        }
    }

    fn covariance(&self, theta: &[f64], mut out: MatMut<'_, f64>) {
        out[(0, 0)] = sigmoid_derivative(dot(self.0, theta));
    }
}

/// The linearised observation at `a`: a label `z` with Gaussian noise whose variance is `1/s′(a)`.
fn linearised(a: f64, y: f64) -> Result<(f64, GaussianLikelihood), Error> {
    let weight = sigmoid_derivative(a);
    Ok((a + (y - sigmoid(a)) / weight, GaussianLikelihood::new(weight.recip())?))
}

/// Theorem 3: linearised forms against the textbook's extended Kalman filter; and how far implicit and explicit scheme are
/// apart when nothing is linearised.
fn logistic(ctx: &Context) -> Result<(Vec<Form>, Form), ReproError> {
    let setting = Setting { n: N, d: D, s: 1.0, c: 1.0, sigma0: 1.0, mu0_norm: 0.0 };
    let (data, prior) = (setting.data(ctx.seed, 0)?, setting.prior()?);
    let mut natural = NaturalGradient::new(&prior).context("Theorem 3")?;
    let (mut textbook, mut rule, mut implicit) = (prior.clone(), prior.clone(), prior.clone());
    let explicit = Linearised::extended_kalman(BernoulliLogit(Exact));
    let reference: Step<'_> = Box::new(|x, y| {
        ekf::step(&mut textbook, &Logistic(x), &[y], Par::Seq)?;
        Ok(textbook.clone())
    });
    let forms: Vec<(&'static str, Style, Step<'_>)> = vec![
        (
            "linearised R-VGA, implicit (51)",
            Style::solid(BLUE).marker(Marker::Disc),
            Box::new(|x, y| {
                let (z, noise) = linearised(dot(x, implicit.mean()), y)?;
                one(&mut implicit, &Implicit(noise), x, z)
            }),
        ),
        (
            "linearised R-VGA, explicit (52)-(53)",
            Style::solid(SKY).dash(Dash::Dashed).marker(Marker::Triangle),
            Box::new(|x, y| one(&mut rule, &explicit, x, y)),
        ),
        (
            "online natural gradient (54)",
            Style::solid(GREEN).dash(Dash::DashDot).marker(Marker::Square),
            Box::new(|x, y| {
                let a = dot(x, &natural.mean);
                let gradient: Vec<f64> = x.iter().map(|x| (sigmoid(a) - y) * x).collect();
                natural.step(&gradient, outer(x, sigmoid_derivative(a)).as_ref())?;
                let scale = natural.steps as f64 + 1.0;
                gaussian(&natural.mean, (&natural.fisher * scale).as_ref())
            }),
        ),
    ];
    let (forms, _) = compare(&data, reference, forms)?;
    let logit = BernoulliLogit(Exact);
    let (mut exact, mut other) = (prior.clone(), prior);
    let (rule_i, rule_e) = (Implicit(logit), Explicit(logit));
    let apart: Step<'_> = Box::new(|x, y| one(&mut exact, &rule_i, x, y));
    let style = Style::solid(BLACK).dash(Dash::Dotted).marker(Marker::Cross);
    let not_linear: Vec<(&'static str, Style, Step<'_>)> = vec![(
        "R-VGA explicit from implicit, nothing linearised",
        style,
        Box::new(|x, y| one(&mut other, &rule_e, x, y)),
    )];
    let (mut apart, _) = compare(&data, apart, not_linear)?;
    let form = apart.pop().context("theorems")?;
    Ok((forms, form))
}

fn same(name: &str, forms: &[Form]) -> Check {
    let each = join(forms, ", ", |f| format!("{} {}", f.name, number(f.worst())));
    words().fact(name, largest(forms) < ROUNDING, &[&N, &each, &ROUNDING])
}

fn largest(forms: &[Form]) -> f64 {
    forms.iter().map(Form::worst).fold(0.0, f64::max)
}

fn panel<'a>(title: &str, forms: impl IntoIterator<Item = &'a Form>) -> Panel {
    let axis = Axis::log("distance (posterior deviations)").floor(1e-17);
    let t: Vec<f64> = (1..=N).map(|t| t as f64).collect();
    let panel = Panel::new(title, Axis::linear("observations"), axis);
    forms.into_iter().fold(panel, |panel, f| panel.line(&t, &f.off, f.style, f.name))
}

/// Theorems 2 and 3.
pub(super) fn theorems(ctx: &Context) -> Result<Outcome, ReproError> {
    ctx.steps(2);
    let (two, kl) = linear(ctx)?;
    ctx.step("Theorem 2");
    let (three, apart) = logistic(ctx)?;
    ctx.step("Theorem 3");
    let mut table = Table::new("", &["theorem", "form", "t", "distance"]);
    for (theorem, forms) in [("2", two.iter().collect::<Vec<_>>()), ("3", three.iter().chain([&apart]).collect())] {
        for form in forms {
            for (t, off) in form.off.iter().enumerate() {
                table.push(&[&theorem, &form.name, &(t + 1), off])?;
            }
        }
    }
    Ok(Outcome {
        checks: vec![
            same("theorem-2", &two),
            words().below("theorem-2-posterior", kl, ROUNDING),
            same("theorem-3", &three),
            words().fact("theorem-3-lost", apart.worst() > 1e3 * ROUNDING, &[&apart.worst()]),
        ],
        tables: vec![table],
        figure: Figure::new("One algorithm under several names").row(
            360.0,
            vec![
                panel("Theorem 2: from the Kalman filter", &two),
                panel("Theorem 3: from the extended Kalman filter", three.iter().chain([&apart])),
            ],
        ),
        ..words().outcome(ctx, &[&largest(&two), &largest(&three), &apart.worst(), &D, &N, &NOISE.to_string()])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_sees_a_shift_and_a_width() {
        let p = DenseGaussian::isotropic(&[0.0; D], 2.0).unwrap();
        let mut mean = [0.0; D];
        mean[3] = 0.5;
        let shifted = DenseGaussian::isotropic(&mean, 2.0).unwrap();
        assert!((distance(&shifted, &p).unwrap() - 0.25).abs() < 1e-14);
        let wider = DenseGaussian::isotropic(&[0.0; D], 2.2).unwrap();
        assert!((distance(&wider, &p).unwrap() - 0.21).abs() < 1e-14);
        assert_eq!(distance(&p, &p).unwrap(), 0.0);
    }
}
