//! Gradients against differences.
#![allow(clippy::unwrap_used, reason = "tests")]

use vi_linalg::faer::mat;

use super::*;
use crate::block::{self, Block};
use crate::chart::Chart;
use crate::component::{Component, Family};
use crate::mixture::{GaussianMixture, Scratch};
use crate::target::{Banana, Probe};

fn components() -> Vec<Component> {
    let covariance = mat![[1.4, 0.0], [-0.5, 0.8]];
    vec![
        Component::full(&[0.3, -0.2], covariance.as_ref()).unwrap(),
        Component::diagonal(&[-1.0, 1.0], &[0.5, 2.0]).unwrap(),
        Component::low_rank(&[0.4, 0.6], &[0.7, 0.3], mat![[0.5], [-0.8]].as_ref()).unwrap(),
    ]
}

/// Compares `f`'s gradient with central differences at `u`.
fn check(u: &[f64], f: impl Fn(&[f64], &mut [f64]) -> f64) {
    let mut gradient = vec![0.0; u.len()];
    let mut unused = gradient.clone();
    f(u, &mut gradient);
    // All of few coordinates, some of many.
    for j in (0..u.len()).step_by(u.len().div_ceil(60)) {
        let h = f64::EPSILON.cbrt();
        let (mut up, mut down) = (u.to_vec(), u.to_vec());
        up[j] += h;
        down[j] -= h;
        let difference = (f(&up, &mut unused) - f(&down, &mut unused)) / (up[j] - down[j]);
        // Truncation h²·f‴/6 and rounding ε·|f|/h, both of order ε^⅔ for a function of order one; ours reach ten.
        let tolerance = 1e3 * h * h;
        assert!((gradient[j] - difference).abs() < tolerance, "{j}: {} {difference}", gradient[j]);
    }
}

fn some_place(len: usize) -> Vec<f64> {
    (0..len).map(|i| 0.3 * ((7 * i + 3) as f64).sin()).collect()
}

fn points(component: &Component, seed: u64) -> Vec<Block> {
    block::quasi(300, component.latent_dim(), seed).unwrap()
}

#[test]
fn a_single_gaussians_gradient_is_that_of_its_value() {
    let banana = Banana::new(1.5, 0.4).unwrap();
    let probe = Probe::new(&banana, vec![1.0, 1.0]).unwrap();
    for component in components() {
        let z = points(&component, 1);
        let single = Single { probe: &probe, z: &z };
        let chart = Chart::new(component.clone());
        let u = some_place(chart.len());
        check(&u, |u, g| single.at(&chart, u, g));
        let value = single.at(&chart, &u, &mut vec![0.0; u.len()]);
        let direct = single.value(&chart.component(&u).unwrap());
        assert!((value - direct).abs() < 1e-13 * value.abs().max(1.0));
    }
}

#[test]
fn the_greedy_steps_gradient_is_that_of_its_value() {
    let banana = Banana::new(1.5, 0.4).unwrap();
    let probe = Probe::new(&banana, vec![1.0, 1.0]).unwrap();
    let q = GaussianMixture::new(components(), &[0.5, 0.2, 0.3]).unwrap();
    let mut reference = Reference::default();
    let mut scratch = Scratch::default();
    for (k, component) in q.components().iter().enumerate() {
        for z in points(component, k as u64) {
            let mut x = Block::default();
            component.map(&z, &mut x);
            let mut log_f = vec![0.0; x.rows()];
            probe.values(&x, &mut log_f);
            q.evaluate(&x, &mut scratch, false);
            reference.weight.push(vec![q.weights()[k] / 300.0; x.rows()]);
            reference.log_q.push(scratch.total.clone());
            reference.log_f.push(log_f);
            reference.x.push(x);
        }
    }
    for component in components() {
        let z = points(&component, 9);
        let greedy = Greedy { probe: &probe, q: &q, reference: &reference, z: &z };
        let chart = Chart::new(component);
        check(&some_place(chart.len() + 1), |u, g| greedy.at(&chart, u, g));
    }
}

#[test]
fn the_refits_gradient_is_that_of_its_value() {
    let banana = Banana::new(1.5, 0.4).unwrap();
    let probe = Probe::new(&banana, vec![1.0, 1.0]).unwrap();
    let components = components();
    let z: Vec<Vec<Block>> = components.iter().enumerate().map(|(k, c)| points(c, k as u64)).collect();
    let joint = Joint { probe: &probe, z: z.iter().map(Vec::as_slice).collect() };
    let charts: Vec<Chart> = components.iter().cloned().map(Chart::new).collect();
    let len: usize = charts.iter().map(Chart::len).sum();
    check(&some_place(len + components.len()), |u, g| joint.at(&charts, u, g));
}

#[test]
fn the_gradient_on_resting_points_is_that_of_the_value() {
    let banana = Banana::new(1.5, 0.4).unwrap();
    let probe = Probe::new(&banana, vec![1.0, 1.0]).unwrap();
    let components = components();
    let source = Component::diagonal(&[0.0, 0.0], &[4.0, 4.0]).unwrap();
    let mut rest = Rest::default();
    for z in points(&source, 2) {
        let mut x = Block::default();
        source.map(&z, &mut x);
        let (mut log_f, mut log_m) = (vec![0.0; x.rows()], vec![0.0; x.rows()]);
        probe.values(&x, &mut log_f);
        source.evaluate(&x, &mut log_m, &mut Block::default(), false);
        rest.weight.push(vec![1.0 / 300.0; x.rows()]);
        rest.log_m.push(log_m);
        rest.log_f.push(log_f);
        rest.x.push(x);
    }
    let charts: Vec<Chart> = components.iter().cloned().map(Chart::new).collect();
    let len: usize = charts.iter().map(Chart::len).sum();
    let all = Resting::new(&rest).unwrap();
    check(&some_place(len + components.len()), |u, g| all.at(&charts, u, g));
    assert!(all.at(&charts, &some_place(len + 3), &mut vec![0.0; len + 3]) > 0.0);

    let q = GaussianMixture::new(components, &[0.5, 0.2, 0.3]).unwrap();
    let mut scratch = Scratch::default();
    for x in &rest.x {
        q.evaluate(x, &mut scratch, false);
        rest.fixed.push(scratch.total.clone());
    }
    let beside = Resting::new(&rest).unwrap();
    for chart in charts {
        check(&some_place(chart.len() + 2), |u, g| beside.at(std::slice::from_ref(&chart), u, g));
    }
}

#[test]
fn large_dimensions_take_the_same_derivatives() {
    // Above the size where triangular solves and products are taken as matrices.
    let d = 26;
    let mean: Vec<f64> = (0..d).map(|i| 0.1 * i as f64).collect();
    let covariance =
        vi_linalg::faer::Mat::from_fn(d, d, |i, j| if i == j { 2.0 } else { 0.9 / (1 + i.abs_diff(j)) as f64 });
    let full = Component::full(&mean, covariance.as_ref()).unwrap();
    let target = GaussianMixture::single(full.widened(0.7).unwrap());
    let probe = Probe::new(&target, vec![1.0; d]).unwrap();
    for family in [Family::Full, Family::Diagonal, Family::LowRank { rank: 2 }] {
        let component = full.as_family(family).unwrap();
        let z = points(&component, 4);
        let components = [component.clone(), component.widened(1.3).unwrap()];
        let charts: Vec<Chart> = components.iter().cloned().map(Chart::new).collect();
        let len: usize = charts.iter().map(Chart::len).sum();
        let joint = Joint { probe: &probe, z: vec![&z, &z] };
        let u: Vec<f64> = some_place(len + 2).iter().map(|u| 0.2 * u).collect();
        check(&u, |u, g| joint.at(&charts, u, g));
    }
}
