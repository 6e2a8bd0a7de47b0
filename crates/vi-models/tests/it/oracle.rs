//! Counts of any size against 40-digit arithmetic, in posterior standard deviations.

use vi_core::{Error, Exact, GaussianExpectation, Implicit, Mixture8, SiteRule};
use vi_models::likelihood::{Binomial, NegativeBinomial, Poisson};

/// A line of the table: family; count, size or trials, prior mean and variance; mean, variance and log normaliser of the tilted
/// density; mean and variance of the implicit step.
type Case = (char, [f64; 9]);

fn cases() -> Vec<Case> {
    let case = |line: &str| {
        let (family, numbers) = line.split_once(' ').unwrap();
        let numbers: Vec<f64> = numbers.split(' ').map(|number| number.parse().unwrap()).collect();
        (family.chars().next().unwrap(), numbers.try_into().unwrap())
    };
    include_str!("oracle.txt").lines().skip(1).map(case).collect()
}

/// How far a belief `N(a, ν)` that learns the count is from the oracle: mean in the oracle's standard deviations, variance
/// relative, `log Z` in nats.
fn distances<L: GaussianExpectation>(likelihood: &L, case: &Case) -> Result<[f64; 5], Error> {
    let &(_, [y, _, a, nu, mean, variance, log_normaliser, alpha, shrunk]) = case;
    let tilted = likelihood.tilted(y, a, nu)?;
    let site = Implicit(likelihood).site(a, nu, y)?;
    let root = [a + nu * site.gain(nu), nu / (1.0 + site.curvature * nu)];
    Ok([
        (a + nu * tilted.slope - mean).abs() / variance.sqrt(),
        (tilted.variance / variance - 1.0).abs(),
        (tilted.log_normaliser - log_normaliser).abs(),
        (root[0] - alpha).abs() / shrunk.sqrt(),
        (root[1] / shrunk - 1.0).abs(),
    ])
}

/// Sizes 10⁻⁸ to 10¹², up to 10¹⁵ trials: tilted moments (mean, variance, log normaliser) and implicit step (mean, variance) are
/// within a millionth of a standard deviation, the mixture's expectations within the millionth at which they give way.
#[test]
fn counts_of_any_size_are_those_of_the_oracle() {
    let cases = cases();
    assert_eq!(cases.len(), 29);
    for case in &cases {
        let &(family, [y, size, a, nu, _, variance, log_expected, ..]) = case;
        let found = match family {
            'n' => [
                distances(&NegativeBinomial::with_method(size, Mixture8).unwrap(), case),
                distances(&NegativeBinomial::with_method(size, Exact).unwrap(), case),
            ],
            'b' => [
                distances(&Binomial::with_method(size, Mixture8).unwrap(), case),
                distances(&Binomial::with_method(size, Exact).unwrap(), case),
            ],
            _ => [distances(&Poisson::default(), case), distances(&Poisson::default(), case)],
        };
        // t is rounded to ε·|t|, seen against the posterior's width; log Z is of size |log Z|, its terms of the deviance's.
        let width = variance.sqrt();
        let rounding = 8.0 * f64::EPSILON * (a.abs() + size.ln().abs() + 1.0) / width;
        for (method, found) in ["mixture", "exact"].into_iter().zip(found) {
            let context = format!("{family}, {method}, y = {y:e}, size = {size:e}, a = {a}, nu = {nu:e}: {found:?}");
            let [mean, variance, log_normaliser, root, root_variance] =
                found.unwrap_or_else(|error| panic!("{context} {error}"));
            let log_size = 1.0 + log_expected.abs();
            assert!(mean < 1e-9 + rounding && variance < 1e-9 + 4.0 * rounding, "{context}");
            assert!(log_normaliser < (1e-11 + rounding) * log_size, "{context}");
            assert!(root < 2e-6 + rounding && root_variance < 1e-5 + 4.0 * rounding, "{context}");
        }
    }
}
