//! Numbers with their derivatives by `N` others.

use std::ops::{Add, Mul, Sub};

/// A value and its gradient.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Dual<const N: usize> {
    pub(super) value: f64,
    pub(super) by: [f64; N],
}

/// What the integrator needs of a number, with or without derivatives.
pub(super) trait Real: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    fn times(self, factor: f64) -> Self;
    fn value(self) -> f64;
}

impl Real for f64 {
    fn times(self, factor: f64) -> Self {
        self * factor
    }

    fn value(self) -> f64 {
        self
    }
}

impl<const N: usize> Dual<N> {
    /// The `k`-th of the numbers that derivatives are taken by.
    pub(super) fn variable(value: f64, k: usize) -> Self {
        let mut by = [0.0; N];
        by[k] = 1.0;
        Self { value, by }
    }
}

impl<const N: usize> Add for Dual<N> {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { value: self.value + other.value, by: std::array::from_fn(|k| self.by[k] + other.by[k]) }
    }
}

impl<const N: usize> Sub for Dual<N> {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { value: self.value - other.value, by: std::array::from_fn(|k| self.by[k] - other.by[k]) }
    }
}

impl<const N: usize> Mul for Dual<N> {
    type Output = Self;

    #[allow(clippy::suspicious_arithmetic_impl, reason = "the product rule is a sum")]
    fn mul(self, other: Self) -> Self {
        let by = std::array::from_fn(|k| self.by[k] * other.value + self.value * other.by[k]);
        Self { value: self.value * other.value, by }
    }
}

impl<const N: usize> Real for Dual<N> {
    fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, by: self.by.map(|by| by * factor) }
    }

    fn value(self) -> f64 {
        self.value
    }
}
