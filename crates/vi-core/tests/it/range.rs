//! Results beyond the range of floats are errors, and the state stays as it was to the bit.

use vi_core::block::{BlockBelief, BlockRecursion};
use vi_core::{
    Belief, Checkpoint, DenseGaussian, DiagonalGaussian, Error, Explicit, Forget, GaussianLikelihood, LowRankGaussian,
    LowRankSettings, MeanMoves, Site, SiteRule, SquareRootGaussian, VectorSite, filter, papers::kalman,
};
use vi_linalg::faer::{Mat, MatRef, Par, mat};

use crate::common::{Made, bytes};

/// Runs `action` on a copy, expects an overflow, and every byte as it was.
fn overflows<B: Checkpoint + Belief + Clone>(belief: &B, action: impl FnOnce(&mut B) -> Result<(), Error>) {
    let mut changed = belief.clone();
    let error = action(&mut changed).expect_err("an infinity was accepted");
    let cause = match &error {
        Error::Row { source, .. } => source,
        other => other,
    };
    assert!(matches!(cause, Error::Overflow { .. }), "{error:?}");
    assert_eq!(bytes(&changed), bytes(belief), "{error:?}");
    assert_eq!(changed.mean(), belief.mean());
}

/// A site whatever is seen.
fn always(site: Site) -> impl SiteRule + Copy {
    Made(move |_, _, _| Ok(site))
}

const MEAN: [f64; 2] = [0.0, 0.0];

fn low_rank_forms() -> Vec<LowRankSettings> {
    let blocked = LowRankSettings::blocked(1).unwrap();
    let printed = |mean| LowRankSettings::recursive(1, 2, mean).unwrap();
    vec![
        blocked,
        blocked.with_block(1).unwrap(),
        LowRankSettings::one_loop(1).unwrap(),
        printed(MeanMoves::BeforeProjection),
        printed(MeanMoves::AfterProjection),
    ]
}

/// One step with every kind of belief `N(0, σ₀²I)`.
fn step_everywhere<R: SiteRule>(sigma0: f64, rule: &R, x: [f64; 2], y: f64) {
    let mut scratch = filter::Scratch::default();
    let mut step = |b: &mut DenseGaussian| filter::step(b, rule, &x, y, &mut scratch).map(drop);
    overflows(&DenseGaussian::isotropic(&MEAN, sigma0).unwrap(), &mut step);
    let root = SquareRootGaussian::isotropic(&MEAN, sigma0).unwrap();
    overflows(&root, |b| filter::step(b, rule, &x, y, &mut filter::Scratch::default()).map(drop));
    let diagonal = DiagonalGaussian::isotropic(&MEAN, sigma0).unwrap();
    overflows(&diagonal, |b| filter::step(b, rule, &x, y, &mut filter::Scratch::default()).map(drop));
    let row = (&[0, 1], &x);
    overflows(&diagonal, |b| filter::step(b, rule, row, y, &mut filter::Scratch::default()).map(drop));
    for form in low_rank_forms() {
        let belief = LowRankGaussian::isotropic(&MEAN, sigma0, form).unwrap();
        overflows(&belief, |b| b.step(rule, &x, y, Par::Seq).map(drop));
        overflows(&belief, |b| b.step(rule, row, y, Par::Seq).map(drop));
        let x = MatRef::from_row_major_slice(&x, 1, 2);
        overflows(&belief, |b| b.step_block(rule, x, &[y], Par::Seq).map(drop));
    }
}

#[test]
fn a_mean_that_overflows_is_refused_by_every_belief() {
    step_everywhere(1e10, &Explicit(GaussianLikelihood::new(1e5).unwrap()), [1e-5, 0.0], 1e305);
}

#[test]
fn a_gain_that_overflows_is_refused_by_every_belief() {
    step_everywhere(1.0, &always(Site { slope: 1e308, curvature: -0.999_999 }), [1.0, 0.0], 0.0);
}

/// `1 + hν = ∞` would make the step vanish instead of being the largest there is.
#[test]
fn a_step_too_large_to_be_seen_is_refused_by_every_belief() {
    step_everywhere(1e90, &always(Site { slope: 1.0, curvature: 1e150 }), [1.0, 0.0], 0.0);
}

#[test]
fn a_variance_that_overflows_is_refused() {
    // 1 − 1e-12 of the precision 1e-300 goes.
    let rule = always(Site { slope: 0.0, curvature: -1e-300 * (1.0 - 1e-12) });
    let belief = DenseGaussian::isotropic(&MEAN, 1e150).unwrap();
    overflows(&belief, |b| filter::step(b, &rule, &[1.0, 0.0], 0.0, &mut filter::Scratch::default()).map(drop));
}

/// Two rows of which the second moves the mean beyond the floats.
fn absorb_block<B: BlockBelief>(belief: &mut B, x: MatRef<'_, f64>, sites: [Site; 2]) -> Result<(), Error> {
    let (mut recursion, mut panels) = (BlockRecursion::new(2), belief.panels(2));
    belief.project_block(x, &mut recursion, &mut panels, Par::Seq);
    recursion.resolve(|t, _| Ok(sites[t]))?;
    belief.absorb_block(x, &recursion, &mut panels, Par::Seq)
}

#[test]
fn blocks_that_overflow_are_refused() {
    let x = mat![[1.0, 0.5], [0.2, 1.0]];
    for curvature in [0.3, -1e-21] {
        let sites = [Site { slope: 1.0, curvature }, Site { slope: 1e300, curvature: 1e-25 }];
        let dense = DenseGaussian::isotropic(&MEAN, 1e10).unwrap();
        overflows(&dense, |b| absorb_block(b, x.as_ref(), sites));
        let root = SquareRootGaussian::isotropic(&MEAN, 1e10).unwrap();
        overflows(&root, |b| absorb_block(b, x.as_ref(), sites));
        for form in low_rank_forms() {
            let belief = LowRankGaussian::isotropic(&MEAN, 1e10, form).unwrap();
            if belief.room() > 1 {
                overflows(&belief, |b| absorb_block(b, x.as_ref(), sites));
            }
        }
    }
}

#[test]
fn vectors_that_overflow_are_refused() {
    let belief = DenseGaussian::isotropic(&[1.7e308, 0.0], 1.0).unwrap();
    let (gains, shrinkage) = (mat![[1.0], [0.0]], mat![[0.5]]);
    let site = VectorSite { shift: &[1.7e308], shrinkage: shrinkage.as_ref(), information: &[1.0, 0.0], factor: 2.0 };
    overflows(&belief, |b| b.absorb_vector(gains.as_ref(), site, Par::Seq));
    let wide = DenseGaussian::isotropic(&MEAN, 1e10).unwrap();
    // K = 1e20·1e-5/(1e5 + 1e10), so the mean would move by 1e310.
    let (h, r) = (mat![[1e-5, 0.0]], mat![[1e5]]);
    overflows(&wide, |b| kalman::step(b, h.as_ref(), &[1e305], r.as_ref(), Par::Seq).map(drop));
}

#[test]
fn a_shift_of_the_mean_that_overflows_is_refused() {
    for form in low_rank_forms() {
        let belief = LowRankGaussian::isotropic(&[0.0, 1.7e308], 1.0, form).unwrap();
        overflows(&belief, |b| b.shift_mean(&[1.0, 1.7e308]));
    }
}

/// Products of a row that waits grow by `1/λ`.
#[test]
fn fading_that_would_spoil_a_waiting_row_is_refused() {
    let mut belief = LowRankGaussian::isotropic(&MEAN, 1.0, LowRankSettings::blocked(1).unwrap()).unwrap();
    let rule = always(Site { slope: 0.0, curvature: 1e-140 });
    belief.step(&rule, &[1e100, 0.0], 0.0, Par::Seq).unwrap();
    overflows(&belief, |b| b.fade(1e-150));
    belief.flush(Par::Seq).unwrap();
}

/// Takes all of the precision along `x` but for a rounding, `y` times.
const ALL_BUT: Made = Made(|_, nu, y| Ok(Site { slope: 0.0, curvature: -y * (1.0 - f64::EPSILON / 2.0) / nu }));

/// A flush that fails gives back the rows in the form in which they waited.
#[test]
fn rows_keep_their_form_when_the_projection_fails() {
    let (mean, form) = ([0.0; 5], LowRankSettings::blocked(1).unwrap().with_block(2).unwrap());
    let start = LowRankGaussian::isotropic(&mean, 1.0, form).unwrap();
    let single = LowRankGaussian::isotropic(&mean, 1.0, form.with_block(1).unwrap()).unwrap();
    // Rounding decides whether something is left: counts the times that nothing was.
    let mut refused = [0; 3];
    let mut attempt =
        |kind: usize, belief: &LowRankGaussian, action: &dyn Fn(&mut LowRankGaussian) -> Result<(), Error>| {
            let mut changed = belief.clone();
            if let Err(error) = action(&mut changed) {
                assert!(matches!(error, Error::NotPositiveDefinite { .. }), "{error:?}");
                assert_eq!(bytes(&changed), bytes(belief));
                // What comes next finds the rows as they were.
                let [mut next, mut expected] = [changed, belief.clone()];
                for b in [&mut next, &mut expected] {
                    b.fade(0.5).unwrap();
                }
                assert_eq!(bytes(&next), bytes(&expected));
                refused[kind] += 1;
            }
        };
    for t in 1..20 {
        let values = [0.3, -0.7, 0.1 * f64::from(t)];
        let sparse = (&[0, 2, 3], &values);
        let mut waiting = start.clone();
        if waiting.step(&ALL_BUT, sparse, 1.0, Par::Seq).is_err() {
            continue;
        }
        attempt(0, &waiting, &|b| b.step(&ALL_BUT, &[0.0, 1.0, 0.0, 0.0, 0.0], 0.0, Par::Seq).map(drop));
        let other = (&[1], &[1.0]);
        attempt(1, &waiting, &|b| b.step(&ALL_BUT, other, 0.0, Par::Seq).map(drop));
        attempt(2, &single, &|b| b.step(&ALL_BUT, sparse, 1.0, Par::Seq).map(drop));
    }
    assert!(refused.iter().all(|count| *count > 0), "{refused:?}");
}

/// Beliefs that could never absorb a row are not made.
#[test]
fn beliefs_without_room_for_a_row_are_refused() {
    let form = LowRankSettings::blocked(1).unwrap();
    let tight = LowRankGaussian::isotropic(&MEAN, 1e-75, form).unwrap_err();
    assert!(matches!(tight, Error::Entry { argument: "psi", index: 0, .. }), "{tight:?}");
    let w = mat![[0.0], [1e100]];
    let steep = LowRankGaussian::from_precision(&MEAN, w.as_ref(), &[1.0, 1.0], form).unwrap_err();
    assert!(matches!(steep, Error::Overflow { quantity: "wᵀΨ⁻¹w", .. }), "{steep:?}");
    // The largest that is accepted takes rows and projects them.
    let mut belief = LowRankGaussian::isotropic(&MEAN, 1e-70, form.with_block(1).unwrap()).unwrap();
    belief.step(&Explicit(GaussianLikelihood::new(1e-142).unwrap()), &[1.0, 0.0], 1e-70, Par::Seq).unwrap();
    assert!(belief.mean()[0] > 0.0);
    let w = Mat::from_fn(2, 1, |i, _| if i == 0 { 0.9e70 } else { 0.0 });
    let mut belief = LowRankGaussian::from_precision(&MEAN, w.as_ref(), &[1.0; 2], form).unwrap();
    belief.step(&Explicit(GaussianLikelihood::new(1.0).unwrap()), &[0.0, 1.0], 2.0, Par::Seq).unwrap();
    belief.flush(Par::Seq).unwrap();
    assert!((belief.mean()[1] - 1.0).abs() < 1e-14);
}
