//! What linear regressions on plain slices have in common.

/// The methods of a struct of `settings`, `rows`, `scaling`, `target`, `fit` and `info`.
macro_rules! fitted_numbers {
    ($model:ident, $settings:ident, $fit:ident) => {
        impl $model {
            /// The predictive density at every row of `x`, rows one after another: mean, variance, intervals, in the units of `y`.
            ///
            /// # Errors
            /// [`ModelError::Core`] with `Empty`, `Dimension`, `Row` with `NonFinite`, or `Overflow`.
            pub fn predict(&self, x: &[f64]) -> Result<Vec<StudentPrediction>, ModelError> {
                self.posterior().predict(x)
            }

            /// The weights in the units of the data.
            #[must_use]
            pub fn coefficients(&self) -> Coefficients {
                self.posterior().coefficients()
            }

            /// A draw of noise and weights from the posterior, in the units of the data: act as if it were the truth. The draw of the noise is
            /// not returned.
            ///
            /// ```text
            /// τ ~ Gam(a_N, b_N),   w ~ N(w_N, V_N/τ),   intercept at the centre of the columns ~ N(ȳ, 1/(nτ))
            /// ```
            ///
            /// The intercept of the draw is the linear predictor where all inputs are 0; it is 0 without one. Of a sparse model the weight of a
            /// column that is out is small and not 0. Cost that of [`samples`](Self::samples) for one.
            ///
            /// # Errors
            /// [`ModelError::Core`] with `Overflow` for a noise or a weight beyond a float.
            ///
            /// ```
            /// use rand::SeedableRng;
            /// use vi_models::vb::{VbLinear, VbLinearSettings};
            /// let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
            /// let y = [23.1, 25.9, 29.0, 32.2, 34.8, 38.1];
            /// let model = VbLinear::fit(&x, 1, &y, &VbLinearSettings::default())?;
            /// let truth = model.sample(&mut rand_chacha::ChaCha8Rng::seed_from_u64(1))?;
            /// assert!((truth.weights[0] - 3.0).abs() < 0.5 && (truth.score(&[6.0])? - 38.0).abs() < 1.0);
            /// # Ok::<(), vi_models::ModelError>(())
            /// ```
            pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<Draw, ModelError> {
                self.posterior().sample(rng)
            }

            /// Many draws, as [`sample`](Self::sample) makes one. Cost `d²` flops a draw for `d` columns, or, with few rows for them, `n²d` and
            /// an eigendecomposition of `n × n` once and `4nd` a draw.
            ///
            /// # Errors
            /// Those of [`sample`](Self::sample).
            ///
            /// ```
            /// use rand::SeedableRng;
            /// use vi_models::vb::{VbLinear, VbLinearSettings};
            /// let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
            /// let y = [23.1, 25.9, 29.0, 32.2, 34.8, 38.1];
            /// let model = VbLinear::fit(&x, 1, &y, &VbLinearSettings::default())?;
            /// let draws = model.samples(1000, &mut rand_chacha::ChaCha8Rng::seed_from_u64(1))?;
            /// let mean = draws.iter().map(|draw| draw.weights[0]).sum::<f64>() / 1000.0;
            /// assert!((mean - model.coefficients().weights[0]).abs() < 0.02);
            /// # Ok::<(), vi_models::ModelError>(())
            /// ```
            pub fn samples<R: Rng + ?Sized>(&self, draws: usize, rng: &mut R) -> Result<Vec<Draw>, ModelError> {
                self.posterior().samples(draws, rng)
            }

            fn posterior(&self) -> LinearPosterior<'_> {
                LinearPosterior {
                    weights: self.fit.weights(),
                    noise: self.fit.noise(),
                    columns: &self.scaling,
                    target: &self.target,
                    intercept_variance: if self.settings.intercept { 1.0 / self.rows as f64 } else { 0.0 },
                }
            }

            /// The fit to the scaled rows, with ℒ: comparable between models of the same `y` and settings.
            #[must_use]
            pub fn scaled_fit(&self) -> &$fit {
                &self.fit
            }

            /// The settings.
            #[must_use]
            pub fn settings(&self) -> $settings {
                self.settings
            }

            /// How the fit went, and a line of advice.
            #[must_use]
            pub fn info(&self) -> &FitInfo {
                &self.info
            }
        }
    };
}
