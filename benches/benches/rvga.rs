//! Criterion benches of R-VGA: one filter step at d = 10 and 100, and the implicit root.
#![allow(missing_docs, reason = "what Criterion's macros write has none")]
#![allow(clippy::unwrap_used, reason = "the inputs are fixed")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use vi_benches::stream::{SIGMA0, Stream};
use vi_core::expectation::LogisticExpectation;
use vi_core::{
    BernoulliLogit, DenseGaussian, Exact, Explicit, GaussianLikelihood, Implicit, Linearised, MirrorProx, Mixture8,
    ProbitApproximation, QuadraticBound, SiteRule, SkipCovariance, filter,
};

/// One pass over 100 observations.
fn rules(criterion: &mut Criterion) {
    let logit = BernoulliLogit(Mixture8);
    let rules: [(&str, &dyn SiteRule); 9] = [
        ("implicit_probit", &Implicit(BernoulliLogit(ProbitApproximation))),
        ("implicit_mixture8", &Implicit(logit)),
        ("explicit", &Explicit(logit)),
        ("ekf", &Linearised::extended_kalman(logit)),
        ("qkf_once", &QuadraticBound::Once),
        ("qkf_optimal", &QuadraticBound::Optimal),
        ("mirror_prox", &MirrorProx(logit)),
        ("skip_covariance", &SkipCovariance(logit)),
        ("kalman", &Explicit(GaussianLikelihood::new(1.0).unwrap())),
    ];
    let mut group = criterion.benchmark_group("rules");
    for d in [10, 100] {
        let stream = Stream::new(d, 100);
        let prior = DenseGaussian::isotropic(&vec![0.0; d], SIGMA0).unwrap();
        group.throughput(Throughput::Elements(stream.len() as u64));
        for (name, rule) in rules {
            let id = BenchmarkId::new(name, format!("d{d}"));
            group.bench_with_input(id, &stream, |bencher, stream| {
                bencher.iter(|| {
                    let mut belief = prior.clone();
                    filter::run(&mut belief, &rule, stream.inputs(), stream.labels(), |_, _, _| {}).unwrap();
                    belief
                });
            });
        }
    }
    group.finish();
}

/// The implicit step where label and belief agree, where they do not, and under a vague prior.
fn root(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("root");
    for (what, a, nu) in [("agree", 1.0, 1.0), ("contradict", -10.0, 10.0), ("vague", -1e4, 1e6)] {
        let mut class = |name: &str, root: &dyn Fn(f64, f64) -> f64| {
            let id = BenchmarkId::new(name, what);
            group.bench_function(id, |bencher| bencher.iter(|| root(black_box(a), black_box(nu))));
        };
        class("probit", &|a, nu| ProbitApproximation.implicit_root(1.0, a, nu).unwrap().alpha);
        class("mixture8", &|a, nu| Mixture8.implicit_root(1.0, a, nu).unwrap().alpha);
        class("exact", &|a, nu| Exact.implicit_root(1.0, a, nu).unwrap().alpha);
    }
    group.finish();
}

fn quick() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(500))
        .sample_size(20)
        .without_plots()
}

criterion_group! {
    name = benches;
    config = quick();
    targets = rules, root
}
criterion_main!(benches);
