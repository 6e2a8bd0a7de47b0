//! Gibbs sampling of weights with a horseshoe prior.

use rand::Rng;
use rand_distr::{Distribution, Exp1, Gamma, StandardNormal};
use vi_core::special::{HALF_LN_2PI, log_sigmoid};
use vi_linalg::Cholesky;
use vi_linalg::faer::{Mat, MatRef, Par};
use vi_linalg::kernels::{axpy, dot, symmetric_rank_r};

use super::polya_gamma::polya_gamma;

/// The standard deviation of the Gaussian factor of the prior: of numbers in units of their own deviation, of classes in log odds.
const SLAB: [f64; 2] = [20.0, 5.0];

/// All weights are drawn together once in so many sweeps, which moves along directions that the columns share.
const TOGETHER: usize = 10;

/// The most weights, or rows where they are fewer, that are drawn together.
const MOST_TOGETHER: usize = 512;

/// What the rows say of their predictors.
pub(super) enum Response {
    /// `y ~ N(t, σ²)`, `observations` of them, whose squared error beyond that of the rows is `rest`.
    Numbers { y: Vec<f64>, observations: f64, rest: f64 },
    /// `y` is 1 with probability `s(t)`; here `2y − 1`.
    Classes { signs: Vec<f64> },
}

impl Response {
    /// The log-likelihood at predictors `t`, tempered: that of numbers times `power`, that of classes at `power·t`.
    fn log_likelihood(&self, t: &[f64], noise: f64, power: f64) -> f64 {
        match self {
            Self::Numbers { y, observations, rest } => {
                let square = rest + y.iter().zip(t).map(|(y, t)| (y - t).powi(2)).sum::<f64>();
                -power * (observations * (HALF_LN_2PI + 0.5 * noise.ln()) + 0.5 * square / noise)
            }
            Self::Classes { signs } => signs.iter().zip(t).map(|(sign, t)| log_sigmoid(power * sign * t)).sum(),
        }
    }
}

/// One state of the chain and what it moves by.
///
/// ```text
/// w_j ~ N(0, σ²τ²λ_j²)·N(0, s²)   λ_j, τ, σ ~ C⁺(0, 1)     (σ = 1 for classes; an intercept has N(0, s²) alone)
/// ```
///
/// Each half-Cauchy variable is an inverse gamma given another one (Makalic and Schmidt, *A simple sampler for the horseshoe estimator*, IEEE
/// Signal Processing Letters 23, 2016), so every conditional is drawn exactly; the Gaussian factor (Nishimura and Suchard, *Shrinkage with shrunken
/// shoulders*, Bayesian Analysis 18, 2023) keeps weights finite where the labels do not.
pub(super) struct Sampler {
    x: Mat<f64>,
    response: Response,
    /// Columns at the front that are not shrunk: an intercept of classes.
    free: usize,
    pub(super) w: Vec<f64>,
    /// `λ_j²`.
    local: Vec<f64>,
    /// `τ²`.
    global: f64,
    /// `σ²`.
    pub(super) noise: f64,
    /// The other variables of `λ_j`, `τ`, `σ`.
    partners: (Vec<f64>, f64, f64),
    /// `t = Xw`.
    t: Vec<f64>,
    /// The precision that each row adds, and what is left of its pull.
    h: Vec<f64>,
    pull: Vec<f64>,
    /// `Σ_i h_i·x_ij²`.
    squares: Vec<f64>,
    sweeps: usize,
}

/// `rate/Gamma(shape, 1)`.
fn inverse_gamma<R: Rng + ?Sized>(shape: f64, rate: f64, rng: &mut R) -> f64 {
    // A shape of half a count is always valid.
    let draw = Gamma::new(shape, 1.0).map_or(f64::NAN, |gamma| gamma.sample(rng));
    rate / draw
}

/// `rate/Exp(1)`: an inverse gamma of shape 1.
fn inverse_exponential<R: Rng + ?Sized>(rate: f64, rng: &mut R) -> f64 {
    let draw: f64 = Exp1.sample(rng);
    rate / draw
}

fn normal<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    StandardNormal.sample(rng)
}

impl Sampler {
    pub(super) fn new(x: MatRef<'_, f64>, response: Response, free: usize) -> Self {
        let (n, d) = x.shape();
        Self {
            x: x.to_owned(),
            response,
            free,
            w: vec![0.0; d],
            local: vec![1.0; d],
            global: 1.0,
            noise: 1.0,
            partners: (vec![1.0; d], 1.0, 1.0),
            t: vec![0.0; n],
            h: vec![0.0; n],
            pull: vec![0.0; n],
            squares: vec![0.0; d],
            sweeps: 0,
        }
    }

    /// The precision of the prior of weight `j`, given the scales.
    fn prior(&self, j: usize) -> f64 {
        let slab = SLAB[usize::from(!self.is_numbers())].powi(-2);
        if j < self.free { slab } else { slab + 1.0 / (self.noise * self.global * self.local[j]) }
    }

    fn is_numbers(&self) -> bool {
        matches!(self.response, Response::Numbers { .. })
    }

    /// What the rows say at the present predictors: precisions `h`, and `pull = r − h∘t`.
    fn weigh<R: Rng + ?Sized>(&mut self, power: f64, rng: &mut R) {
        for i in 0..self.t.len() {
            (self.h[i], self.pull[i]) = match &self.response {
                Response::Numbers { y, .. } => (power / self.noise, power * (y[i] - self.t[i]) / self.noise),
                Response::Classes { signs } => {
                    let h = power * power * polya_gamma(power * self.t[i], rng);
                    (h, 0.5 * power * signs[i] - h * self.t[i])
                }
            };
        }
        let numbers = self.is_numbers();
        for (j, square) in self.squares.iter_mut().enumerate() {
            let column = self.x.col_as_slice(j);
            *square = if numbers {
                dot(column, column) * power / self.noise
            } else {
                column.iter().zip(&self.h).map(|(x, h)| h * x * x).sum()
            };
        }
    }

    /// The weights, one after another.
    fn one_by_one<R: Rng + ?Sized>(&mut self, rng: &mut R) {
        let numbers = self.is_numbers();
        for j in 0..self.w.len() {
            let column = self.x.col_as_slice(j);
            let pull = dot(column, &self.pull) + self.squares[j] * self.w[j];
            let precision = self.squares[j] + self.prior(j);
            let drawn = pull / precision + normal(rng) / precision.sqrt();
            let change = drawn - self.w[j];
            if numbers {
                axpy(&mut self.pull, -change * self.h.first().copied().unwrap_or(0.0), column);
            } else {
                for ((pull, h), x) in self.pull.iter_mut().zip(&self.h).zip(column) {
                    *pull -= change * h * x;
                }
            }
            self.w[j] = drawn;
        }
    }

    /// All weights together; `None` where rounding leaves no factor. Cost `d³/3` and `nd²` flops, or `n³/3` and `n²d` for fewer rows than weights
    /// (Bhattacharya, Chakraborty and Mallick, *Fast sampling with Gaussian scale mixture priors*, Biometrika 103, 2016).
    fn together<R: Rng + ?Sized>(&mut self, rng: &mut R) -> Option<Vec<f64>> {
        let (n, d) = self.x.shape();
        let prior: Vec<f64> = (0..d).map(|j| self.prior(j)).collect();
        let target: Vec<f64> = self.pull.iter().zip(&self.h).zip(&self.t).map(|((pull, h), t)| pull + h * t).collect();
        let roots: Vec<f64> = self.h.iter().map(|h| h.sqrt()).collect();
        if d <= n {
            let scaled = Mat::from_fn(d, n, |j, i| roots[i] * self.x[(i, j)]);
            let mut precision = Mat::from_fn(d, d, |i, j| if i == j { prior[i] } else { 0.0 });
            symmetric_rank_r(precision.as_mut(), 1.0, scaled.as_ref(), scaled.as_ref(), Par::Seq);
            let factor = Cholesky::new(precision.as_ref()).ok()?;
            let mut w: Vec<f64> = (0..d).map(|j| dot(self.x.col_as_slice(j), &target)).collect();
            // Lᵀδ = z: the whole is solved at once from Xᵀr + Lz.
            let z: Vec<f64> = (0..d).map(|_| normal(rng)).collect();
            for (j, z) in z.iter().enumerate() {
                w[j..].iter_mut().enumerate().for_each(|(i, w)| *w += z * factor.factor()[(j + i, j)]);
            }
            factor.solve_vec_in_place(&mut w).ok()?;
            return Some(w);
        }
        let u: Vec<f64> = prior.iter().map(|prior| normal(rng) / prior.sqrt()).collect();
        let mut left: Vec<f64> = target
            .iter()
            .zip(&roots)
            .map(|(target, root)| if *root > 0.0 { target / root } else { 0.0 } - normal(rng))
            .collect();
        let mut along = vec![0.0; n];
        for (j, u) in u.iter().enumerate() {
            axpy(&mut along, *u, self.x.col_as_slice(j));
        }
        left.iter_mut().zip(&along).zip(&roots).for_each(|((left, along), root)| *left -= root * along);
        let scaled = Mat::from_fn(n, d, |i, j| roots[i] * self.x[(i, j)] / prior[j].sqrt());
        let mut gram = Mat::<f64>::identity(n, n);
        symmetric_rank_r(gram.as_mut(), 1.0, scaled.as_ref(), scaled.as_ref(), Par::Seq);
        Cholesky::new(gram.as_ref()).ok()?.solve_vec_in_place(&mut left).ok()?;
        left.iter_mut().zip(&roots).for_each(|(left, root)| *left *= root);
        Some((0..d).map(|j| u[j] + dot(self.x.col_as_slice(j), &left) / prior[j]).collect())
    }

    /// Scales and noise given the weights.
    fn scales<R: Rng + ?Sized>(&mut self, power: f64, rng: &mut R) {
        let (locals, global, noise) = &mut self.partners;
        let (free, d) = (self.free, self.w.len());
        let mut sum = 0.0;
        for j in free..d {
            let square = 0.5 * self.w[j] * self.w[j];
            self.local[j] = inverse_exponential(locals[j].recip() + square / (self.global * self.noise), rng);
            locals[j] = inverse_exponential(1.0 + self.local[j].recip(), rng);
            sum += square / self.local[j];
        }
        let shrunk = (d - free) as f64;
        self.global = inverse_gamma(0.5 * (shrunk + 1.0), global.recip() + sum / self.noise, rng);
        *global = inverse_exponential(1.0 + self.global.recip(), rng);
        if let Response::Numbers { y, observations, rest } = &self.response {
            let square = rest + y.iter().zip(&self.t).map(|(y, t)| (y - t).powi(2)).sum::<f64>();
            let rate = noise.recip() + 0.5 * power * square + sum / self.global;
            self.noise = inverse_gamma(0.5 * (power * observations + shrunk + 1.0), rate, rng);
            *noise = inverse_exponential(1.0 + self.noise.recip(), rng);
        }
    }

    /// One move of everything, under the likelihood tempered by `power`; 1 is the posterior.
    pub(super) fn sweep<R: Rng + ?Sized>(&mut self, power: f64, rng: &mut R) {
        self.weigh(power, rng);
        let (n, d) = self.x.shape();
        self.sweeps += 1;
        let whole = self.sweeps.is_multiple_of(TOGETHER) && n.min(d) <= MOST_TOGETHER;
        match whole.then(|| self.together(rng)).flatten() {
            Some(w) => self.w = w,
            None => self.one_by_one(rng),
        }
        self.t.fill(0.0);
        for (j, w) in self.w.iter().enumerate() {
            axpy(&mut self.t, *w, self.x.col_as_slice(j));
        }
        self.scales(power, rng);
    }

    /// Sweeps from the prior to the posterior and the log evidence by what the tempered log-likelihood gains on the way (path sampling).
    pub(super) fn anneal<R: Rng + ?Sized>(&mut self, sweeps: usize, rng: &mut R) -> f64 {
        /// The first power that is not 0: so weak that the prior alone answers.
        const FIRST: f64 = 1e-8;
        let power = |k: f64| FIRST.powf(1.0 - k / sweeps as f64);
        let at = |own: &Self, power| own.response.log_likelihood(&own.t, own.noise, power);
        for _ in 0..TOGETHER {
            self.sweep(FIRST, rng);
        }
        let mut evidence = at(self, FIRST);
        for k in 0..sweeps {
            let k = k as f64;
            self.sweep(power(k + 0.5), rng);
            evidence += at(self, power(k + 1.0)) - at(self, power(k));
        }
        evidence
    }
}
