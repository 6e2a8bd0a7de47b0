//! Verdicts against the truth, on targets with exact draws.

mod targets;
mod truth;

use vi_boost::{BoostError, FitSettings, Verdict, fit};

use self::truth::Distance;
use crate::common::rng;

#[test]
fn measured() {
    let wanted = std::env::var("ONLY").unwrap_or_default();
    let held = std::env::var_os("HELD").is_some();
    let (mut lies, mut improper, mut hard, mut n) = (0, 0, 0, 0);
    for case in targets::cases() {
        if case.held_out != held || !case.name.contains(&wanted) {
            continue;
        }
        n += 1;
        let began = std::time::Instant::now();
        let found = fit(&case.target, &FitSettings::default(), &mut rng(1));
        let s = began.elapsed().as_secs_f64();
        match found {
            Ok(found) => {
                let d = Distance::of(&case, &found.mixture);
                let lie = d.is_wrong() && found.diagnosis.verdict == Verdict::Good;
                lies += usize::from(lie);
                hard += usize::from(case.easy && found.diagnosis.verdict != Verdict::Good);
                println!("{:42} {:?} w1 {:.3} q {:.3} kl {:.4} modes {} K {} ev {} {s:.1}s {}{}", case.name, found.diagnosis.verdict, d.wasserstein, d.quantile, found.diagnosis.kl, found.modes, found.mixture.len(), format_args!("{}/{} u {:.2}", found.evaluations.all().total(), found.evaluations.all().gradients, found.unseen), if lie {"LIE "} else {""}, if case.easy && found.diagnosis.verdict != Verdict::Good {"HARD"} else {""});
            }
            Err(error) => {
                improper += usize::from(matches!(error, BoostError::Improper { .. }));
                println!("{:42} ERROR {error} {s:.1}s", case.name);
            }
        }
    }
    println!("n {n} lies {lies} improper {improper} easy not good {hard}");
}
