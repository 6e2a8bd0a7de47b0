#![allow(warnings)]
use std::time::Instant;
use std::ops::ControlFlow;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use vi_boost::*;
use vi_boost::target::*;
use vi_linalg::faer::*;
use vi_core::*;
fn json(p:&str)->serde_json::Value{ serde_json::from_str(&std::fs::read_to_string(format!("/work/shared/reference/bvi/{p}")).unwrap()).unwrap() }
fn vecf(v:&serde_json::Value)->Vec<f64>{ v.as_array().unwrap().iter().map(|x|x.as_f64().unwrap()).collect() }
fn matf(v:&serde_json::Value)->Mat<f64>{ let r:Vec<Vec<f64>>=v.as_array().unwrap().iter().map(vecf).collect(); Mat::from_fn(r.len(), r[0].len(), |i,j| r[i][j]) }
fn run<T:LogDensity>(name:&str, t:&T, start:&Component, s:BoostSettings, seed:u64, logz:f64, verbose:bool)->f64{
    match std::env::args().nth(7).as_deref() {
      Some("hell")=>{ use vi_boost::hellinger::*; let k:usize=std::env::args().nth(3).unwrap().parse().unwrap(); let n:usize=std::env::args().nth(4).unwrap().parse().unwrap();
        let t0=Instant::now(); let mut r=Hellinger::new(t,start,HellingerSettings::new(k,n,4,100).unwrap(),&mut ChaCha8Rng::seed_from_u64(seed)).unwrap();
        r.run(|i,q|{ println!("  {:2} K={} ({}) renyi={:.6}±{:.1e} imp={:.2e} lam={:.4} tries={} fb={} rej={} ev={} t={:.2} {}",i.iteration,i.components,q.len(),i.objective.value+logz,i.objective.standard_error,i.improvement,i.alpha,i.tries,i.fallbacks,i.rejected,i.evaluations,t0.elapsed().as_secs_f64(), divergence::quasi(q,t,512,4,1).map(|d| format!("{:.5}",d.effective.value+logz)).unwrap_or("-".into())); ControlFlow::Continue(())}).unwrap(); 0.0 }
      Some("print")=>{ use vi_boost::printed::*; let k:usize=std::env::args().nth(3).unwrap().parse().unwrap(); let n:usize=std::env::args().nth(4).unwrap().parse().unwrap();
        let b:f64=std::env::args().nth(8).map_or(1.0,|v| v.parse().unwrap());
        let t0=Instant::now(); let mut rng=ChaCha8Rng::seed_from_u64(seed); let mut r=Printed::new(t,start.clone(),PrintedSettings::new(n,b,1e-3).unwrap().weight(if std::env::args().nth(9).is_some() {WeightRule::Inclusive} else {WeightRule::Exclusive})).unwrap();
        r.run(k-1,&mut rng,|i,q|{ if [2,3,5,10,20,30,40,50].contains(&i.iteration) {print!(" {}:{:.5}(a {:.4} tr {} fb {} rej {})",i.iteration,divergence::quasi(q,t,256,4,1).map_or(f64::NAN,|d| d.effective.value+logz),i.alpha,i.tries,i.fallbacks,i.rejected);} ControlFlow::Continue(())}).unwrap(); println!(" t {:.2}",t0.elapsed().as_secs_f64()); 0.0 }
      _=>run1(name,t,start,s,seed,logz,verbose)
    }
}
fn run1<T:LogDensity>(name:&str, t:&T, start:&Component, s:BoostSettings, seed:u64, logz:f64, verbose:bool)->f64{
    let t0=Instant::now();
    let mut b=Boost::new(t,start,s,&mut ChaCha8Rng::seed_from_u64(seed)).unwrap();
    let stop=b.run(|i,_|{ if verbose {println!("  {:2} K={} kl={:.6}±{:.6} imp={:.2e} alpha={:.4} gap={:.4} tries={} fb={} rej={} ev={} ess={:.0} lZ={:.5} t={:.2}", i.iteration,i.components,i.objective.value+logz,i.objective.standard_error,i.improvement,i.alpha,i.gap,i.tries,i.fallbacks,i.rejected,i.evaluations,i.effective_sample_size,i.log_evidence.value,t0.elapsed().as_secs_f64());} ControlFlow::Continue(())});
    let stop=match stop {Ok(s)=>s,Err(e)=>{println!("{name} seed {seed} ERR {e}");return f64::NAN}};
    let i=*b.last().unwrap();
    let kl=i.objective.value+logz;
    let q=b.mixture().unwrap();
    match divergence::known_evidence(q,t,logz,4096,16,99) { Ok(e)=>print!("[KL {:.3e}±{:.1e}] ",e.value,e.standard_error), Err(e)=>print!("[{e}] ") }
    println!("{name} seed {seed} {stop:?} K={} kl={kl:.3e}±{:.1e} time {:.2} ev {}",i.components,i.objective.standard_error,t0.elapsed().as_secs_f64(),i.evaluations);
    kl
}
fn main(){
    let what=std::env::args().nth(1).unwrap();
    let refit=match std::env::args().nth(2).unwrap().as_str(){"never"=>Refit::Never,"each"=>Refit::Each,_=>Refit::Last};
    let k:usize=std::env::args().nth(3).unwrap().parse().unwrap();
    let n:usize=std::env::args().nth(4).unwrap().parse().unwrap();
    let seeds:u64=std::env::args().nth(5).unwrap().parse().unwrap();
    let s=BoostSettings::default().components(k).unwrap().points(n).unwrap().refit(refit).polish(if refit==Refit::Never {0} else {4*n}).unwrap();
    let verbose=std::env::args().nth(6).is_some();
    for seed in 1..=seeds {
    match what.as_str(){
        "cauchy"=>{ let t=Cauchy::new(0.0,2.0).unwrap(); let st=Component::isotropic(&[0.0],10.0).unwrap(); run("cauchy",&t,&st,s.clone(),seed,t.log_normaliser(),verbose); }
        "mix4"=>{ let d=json("toy_mixture4_1d.json"); let d=&d["target"]; let m=vecf(&d["means"]); let sd=vecf(&d["sds"]); let w=vecf(&d["weights"]);
            let t=GaussianMixture::new(m.iter().zip(&sd).map(|(m,s)|Component::diagonal(&[*m],&[s*s]).unwrap()).collect(),&w).unwrap();
            let st=Component::isotropic(&[0.0],10.0).unwrap(); run("mix4",&t,&st,s.clone(),seed,0.0,verbose); }
        "mix5"=>{ let d=json("toy_mixture5_2d.json"); let d=&d["target"]; let m=matf(&d["means"]); let w=vecf(&d["weights"]); let cs=d["covariances"].as_array().unwrap();
            let t=GaussianMixture::new((0..m.nrows()).map(|i|Component::full(&[m[(i,0)],m[(i,1)]],matf(&cs[i]).as_ref()).unwrap()).collect(),&w).unwrap();
            let st=Component::isotropic(&[0.0,0.0],6.0).unwrap(); run("mix5",&t,&st,s.clone(),seed,0.0,verbose); }
        "nodal"|"nodals"=>{ let d=json(if what=="nodal" {"nodal_01.json"} else {"nodal_standardised.json"}); let x=matf(&d["X"]); let y:Vec<f64>=vecf(&d["y"]).iter().map(|v| if *v>0.0 {1.0} else {0.0}).collect();
            let prior=DenseGaussian::isotropic(&[0.0;6],1.0).unwrap(); let t=GlmTarget::new(&prior,x.as_ref(),&y,BernoulliLogit(Mixture8)).unwrap();
            let lz=d["truth"]["log_evidence"].as_f64().unwrap();
            let st=Component::isotropic(&[0.0;6],10f64.sqrt()).unwrap(); run(&what,&t,&st,s.clone(),seed,-lz*-1.0,verbose); }
        "funnel"=>{ let t=Funnel::new(k.max(2),1.5).unwrap(); let st=Component::isotropic(&vec![0.0;k.max(2)],5.0).unwrap(); run("funnel",&t,&st,s.clone(),seed,0.0,verbose); }
        "banana"=>{ let t=Banana::new(2.0,0.5).unwrap(); let st=Component::isotropic(&[0.0,0.0],6.0).unwrap(); run("banana",&t,&st,s.clone(),seed,0.0,verbose); }
        _=>panic!()
    }}
}
