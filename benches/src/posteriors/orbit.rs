//! Lotka and Volterra's equations for several parameters at once, and the derivatives of what is seen of their solutions.
//!
//! The classical Runge-Kutta method forwards, and its adjoint backwards: the derivatives by all six parameters then cost some three
//! times as much as the solution.

use std::array::from_fn;
use std::ops::{Add, Mul, Sub};

/// Parameters at once.
pub(super) const LANES: usize = 8;

/// One number for each of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lanes(pub(super) [f64; LANES]);

/// `(α, β, γ, δ)`.
pub(super) type Rates = [Lanes; 4];

/// `(u, v)`.
pub(super) type State = [Lanes; 2];

impl Add for Lanes {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(from_fn(|i| self.0[i] + other.0[i]))
    }
}

impl Sub for Lanes {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(from_fn(|i| self.0[i] - other.0[i]))
    }
}

impl Mul for Lanes {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self(from_fn(|i| self.0[i] * other.0[i]))
    }
}

impl Mul<Lanes> for f64 {
    type Output = Lanes;
    #[inline(always)]
    fn mul(self, other: Lanes) -> Lanes {
        Lanes(from_fn(|i| self * other.0[i]))
    }
}

/// `u̇ = (α − βv)u`, `v̇ = (δu − γ)v`.
#[inline(always)]
fn slope([alpha, beta, gamma, delta]: Rates, [u, v]: State) -> State {
    [(alpha - beta * v) * u, (delta * u - gamma) * v]
}

/// `x + h·k`.
#[inline(always)]
fn ahead(x: State, h: f64, k: State) -> State {
    [x[0] + h * k[0], x[1] + h * k[1]]
}

/// The slopes of a step, and the states that they are taken at.
struct Stages {
    states: [State; 4],
    slopes: [State; 4],
}

#[inline(always)]
fn stages(rates: Rates, x: State, h: f64) -> Stages {
    let k1 = slope(rates, x);
    let x2 = ahead(x, 0.5 * h, k1);
    let k2 = slope(rates, x2);
    let x3 = ahead(x, 0.5 * h, k2);
    let k3 = slope(rates, x3);
    let x4 = ahead(x, h, k3);
    Stages { states: [x, x2, x3, x4], slopes: [k1, k2, k3, slope(rates, x4)] }
}

/// A step of length `h`.
#[inline(always)]
pub(super) fn step(rates: Rates, x: State, h: f64) -> State {
    let Stages { slopes: [k1, k2, k3, k4], .. } = stages(rates, x, h);
    from_fn(|i| x[i] + (h / 6.0) * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i]))
}

/// The transposed derivatives of [`slope`] at `x`, by the state and (added to `by`) by the rates, of `gᵀ·slope`.
#[inline(always)]
fn slope_back([alpha, beta, gamma, delta]: Rates, [u, v]: State, g: State, by: &mut Rates) -> State {
    let (gu, gv, uv) = (g[0] * u, g[1] * v, u * v);
    by[0] = by[0] + gu;
    by[1] = by[1] - g[0] * uv;
    by[2] = by[2] - gv;
    by[3] = by[3] + g[1] * uv;
    [(alpha - beta * v) * g[0] + delta * gv, (delta * u - gamma) * g[1] - beta * gu]
}

/// The transposed derivatives of [`step`] from `x`, by the state and (added to `by`) by the rates, of `gᵀ·step`.
#[inline(always)]
pub(super) fn step_back(rates: Rates, x: State, h: f64, g: State, by: &mut Rates) -> State {
    let Stages { states: [x1, x2, x3, x4], .. } = stages(rates, x, h);
    let scaled = |factor: f64| -> State { [factor * g[0], factor * g[1]] };
    let b4 = slope_back(rates, x4, scaled(h / 6.0), by);
    let b3 = slope_back(rates, x3, ahead(scaled(h / 3.0), h, b4), by);
    let b2 = slope_back(rates, x2, ahead(scaled(h / 3.0), 0.5 * h, b3), by);
    let b1 = slope_back(rates, x1, ahead(scaled(h / 6.0), 0.5 * h, b2), by);
    from_fn(|i| g[i] + b1[i] + b2[i] + b3[i] + b4[i])
}
