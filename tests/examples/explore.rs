use vi_core::*;
use vi_linalg::faer::{Mat, Par};
use vi_tests::json::Node;
fn main() {
    let value: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string("/work/shared/reference/lrvga/lrvga_logistic.json").unwrap())
            .unwrap();
    let root = Node::root(&value);
    let x = root.get("x").unwrap().matrix().unwrap();
    let y = root.get("y").unwrap().vector().unwrap();
    let mean = root.get("prior_mean").unwrap().vector().unwrap();
    let d = x.ncols();
    let prior = DenseGaussian::isotropic(&mean, 4.0).unwrap();
    let posterior = GlmPosterior::new(&prior, x.as_ref(), &y, BernoulliLogit(Exact)).unwrap();
    for case in root.get("cases").unwrap().items().unwrap() {
        let p = case.get("p").unwrap().count().unwrap();
        let w0 = case.get("W0").unwrap().matrix().unwrap();
        let psi0 = case.get("Psi0").unwrap().vector().unwrap();
        for (name, node) in case.get("algorithms").unwrap().members().unwrap() {
            let m = node.get("final_mean").unwrap().vector().unwrap();
            let kl = node.get("kl_unnormalised").unwrap().number().unwrap();
            for mv in [MeanMoves::BeforeProjection, MeanMoves::AfterProjection] {
                let run = |rule: &dyn SiteRule| {
                    let mut b = LowRankGaussian::from_precision(
                        &mean,
                        w0.as_ref(),
                        &psi0,
                        LowRankSettings::recursive(p, 1, mv).unwrap(),
                    )
                    .unwrap();
                    struct D<'a>(&'a dyn SiteRule);
                    impl SiteRule for D<'_> {
                        fn check_label(&self, l: f64) -> Result<(), Error> {
                            self.0.check_label(l)
                        }
                        fn site(&self, a: f64, nu: f64, y: f64) -> Result<Site, Error> {
                            self.0.site(a, nu, y)
                        }
                    }
                    b.run(&D(rule), x.as_ref(), &y, Par::Seq, |_, _, _| {}).map(|()| b)
                };
                let l = BernoulliLogit(Probit);
                let rules: Vec<(&str, Box<dyn SiteRule>)> = vec![
                    ("implicit", Box::new(Implicit(l))),
                    ("explicit", Box::new(Explicit(l))),
                    ("skip", Box::new(SkipCovariance(l))),
                    ("mpp", Box::new(MirrorProxPrinted(l))),
                    ("mp", Box::new(MirrorProx(l))),
                    ("ekf", Box::new(Linearised::extended_kalman(l))),
                ];
                for (rn, r) in &rules {
                    match run(r.as_ref()) {
                        Ok(b) => {
                            let off = vi_tests::compare::vectors(b.mean(), &m, 0.0);
                            if off < 0.1 {
                                println!(
                                    "{p} {name} {mv:?} {rn} {off:e} kl {} {kl}",
                                    posterior.kl(&b.to_dense(Par::Seq).unwrap(), Par::Seq).unwrap()
                                );
                            }
                        }
                        Err(e) => println!("{e}"),
                    }
                }
            }
        }
        // ours
        for inner in [0, 1, 2, 5] {
            for block in [1, 5, 20, 64, 300] {
                let mut b = LowRankGaussian::isotropic(
                    &mean,
                    4.0,
                    LowRankSettings::blocked(p).unwrap().with_block(block).unwrap().with_inner_loops(inner),
                )
                .unwrap();
                b.run(&Implicit(BernoulliLogit(Mixture8)), x.as_ref(), &y, Par::Seq, |_, _, _| {}).unwrap();
                println!(
                    "p {p} inner {inner} block {block} kl {} {:?}",
                    posterior.kl(&b.to_dense(Par::Seq).unwrap(), Par::Seq).unwrap(),
                    b.counts()
                );
            }
        }
        let mut q = prior.clone();
        filter::run(&mut q, &Implicit(BernoulliLogit(Mixture8)), x.as_ref(), &y, |_, _, _| {}).unwrap();
        println!("dense {}", posterior.kl(&q, Par::Seq).unwrap());
    }
    let value: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string("/work/shared/reference/lrvga/lrvga_linear.json").unwrap())
            .unwrap();
    let root = Node::root(&value);
    let x = root.get("x").unwrap().matrix().unwrap();
    let y = root.get("y").unwrap().vector().unwrap();
    let mean = root.get("prior_mean").unwrap().vector().unwrap();
    let mut exact = DenseGaussian::isotropic(&mean, 1.0).unwrap();
    let kalman = Explicit(GaussianLikelihood::new(1.0).unwrap());
    filter::run(&mut exact, &kalman, x.as_ref(), &y, |_, _, _| {}).unwrap();
    for case in root.get("cases").unwrap().items().unwrap() {
        let p = case.get("p").unwrap().count().unwrap();
        let w0 = case.get("W0").unwrap().matrix().unwrap();
        let psi0 = case.get("Psi0").unwrap().vector().unwrap();
        let m = case.get("final_mean").unwrap().vector().unwrap();
        for mv in [MeanMoves::BeforeProjection, MeanMoves::AfterProjection] {
            let mut b = LowRankGaussian::from_precision(
                &mean,
                w0.as_ref(),
                &psi0,
                LowRankSettings::recursive(p, 3, mv).unwrap(),
            )
            .unwrap();
            b.run(&kalman, x.as_ref(), &y, Par::Seq, |_, _, _| {}).unwrap();
            let (dense, w, psi) = (
                b.to_dense(Par::Seq).unwrap(),
                case.get("W").unwrap().matrix().unwrap(),
                case.get("Psi").unwrap().vector().unwrap(),
            );
            let c = |w: &Mat<f64>, psi: &[f64]| {
                let mut c = w * w.transpose();
                for i in 0..d {
                    c[(i, i)] += psi[i];
                }
                c
            };
            let off = vi_tests::compare::matrices(
                c(&b.precision().w().to_owned(), b.precision().psi()).as_ref(),
                c(&w, &psi).as_ref(),
            );
            println!(
                "p {p} recursive {mv:?} mean {:e} C {off:e} kl {}",
                vi_tests::compare::vectors(b.mean(), &m, 0.0),
                divergence::gaussian_kl(&dense, &exact).unwrap()
            );
        }
        let mut b = LowRankGaussian::isotropic(&mean, 1.0, LowRankSettings::one_loop(p).unwrap()).unwrap();
        b.run(&kalman, x.as_ref(), &y, Par::Seq, |_, _, _| {}).unwrap();
        println!("one loop W=0 {}", divergence::gaussian_kl(&b.to_dense(Par::Seq).unwrap(), &exact).unwrap());
        let mut b =
            LowRankGaussian::from_precision(&mean, w0.as_ref(), &psi0, LowRankSettings::one_loop(p).unwrap()).unwrap();
        b.run(&kalman, x.as_ref(), &y, Par::Seq, |_, _, _| {}).unwrap();
        println!("one loop W0 {}", divergence::gaussian_kl(&b.to_dense(Par::Seq).unwrap(), &exact).unwrap());
        for inner in [0, 1, 2, 5] {
            for block in [1, 5, 20, 64, 100, 150, 300] {
                let mut b = LowRankGaussian::isotropic(
                    &mean,
                    1.0,
                    LowRankSettings::blocked(p).unwrap().with_block(block).unwrap().with_inner_loops(inner),
                )
                .unwrap();
                b.run(&kalman, x.as_ref(), &y, Par::Seq, |_, _, _| {}).unwrap();
                let waiting = b.waiting();
                b.flush(Par::Seq).unwrap();
                println!(
                    "p {p} inner {inner} block {block} waiting {waiting} kl {} {:?}",
                    divergence::gaussian_kl(&b.to_dense(Par::Seq).unwrap(), &exact).unwrap(),
                    b.counts()
                );
            }
        }
    }
}
