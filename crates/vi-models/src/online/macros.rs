//! The methods that every front-door type has, documented once.

/// Implements the common methods and `serde` for `$model`, a struct with a field `engine: Engine<$family>`.
macro_rules! front_door {
    ($model:ident $(<$generic:ident: $bound:ident>)?, $family:ty) => {
        impl $(<$generic: $bound>)? $model $(<$generic>)? {
            /// Learns from one row; the label may be a number or an [`Observation`] with offset, weight and the like.
            ///
            /// # Errors
            /// `Dimension`, `NonFinite`, `Entry` (a position) for the row; `Label`, `Setting` for what is observed. On an error
            /// the model is unchanged, to the bit.
            pub fn update<'a>(
                &mut self,
                row: impl Into<Row<'a>>,
                label: impl Into<Observation>,
            ) -> Result<(), ModelError> {
                self.engine.counted(|engine| engine.update(row.into(), label.into()))
            }

            /// Learns from many rows in their order, with the same result as one [`update`](Self::update) for each.
            ///
            /// # Errors
            /// `Empty` for no labels; those of [`update`](Self::update), naming the row. On an error the model is unchanged, to
            /// the bit.
            pub fn update_batch<'a, O: Copy + Into<Observation>>(
                &mut self,
                rows: impl Into<Rows<'a>>,
                labels: &[O],
            ) -> Result<(), ModelError> {
                let observed: Vec<Observation> = labels.iter().map(|&label| label.into()).collect();
                self.engine.counted(|engine| engine.update_batch(rows.into(), &observed))
            }

            /// Fits the first rows together, while they are still being gathered ([`OnlineInfo::warming_up`]): those since the last fit were
            /// learned one by one, so that answers depend on their order. For the end of a file, of a copy that answers: rows that come after it
            /// find another start than without it. Cost: that of one fit; afterwards nothing.
            ///
            /// # Errors
            /// [`ModelError::Unsupported`] for a model that answers from a mixture; those of a fit, which leave the model unchanged.
            pub fn catch_up(&mut self) -> Result<(), ModelError> {
                self.engine.catch_up()
            }

            /// The log evidence of all rows so far, in nats, averaged over the prior scale: the bound that the fit of the first
            /// rows attains (with [`Start::OnePass`](crate::online::Start) the one-step-ahead log densities of those rows, at the
            /// column scales that all of them gave), plus the one-step-ahead log predictive density of each later row, scored
            /// before it was learned and multiplied by its weight (a softmax model takes `log E[pʷ]` for a row of weight `w`).
            ///
            /// After [`merge`](Self::merge) it is that of all rows as far as the factors of the shards tell it, exact for linear models; after a
            /// refinement that of the refined posterior.
            #[must_use]
            pub fn evidence(&self) -> f64 {
                self.engine.evidence()
            }

            /// The number of rows learned.
            #[must_use]
            pub fn observations(&self) -> u64 {
                self.engine.observations
            }

            /// Adds what other models learned from other rows; all must have the same settings and the same fixed
            /// standardisation. Exact for linear models with full covariances, an approximation otherwise (see [`vi_core::merge`]). With a
            /// full covariance a shard costs some `p³` flops for `p` weights.
            ///
            /// Where a linear model learns the prior scale, its nodes are placed anew by the evidence of all rows, so that parts in any
            /// number give the same model. One model of all rows has its nodes where they were placed last, some rows ago: coefficients
            /// differ from the merged ones by the error of three nodes, mostly below .03 of their deviations, .1 at a narrow scale. Merged
            /// with a model of no rows, that one places its nodes anew and is equal to rounding. The scales of
            /// [`blocks`](crate::online::OnlineSettings::blocks) are sought from where those of the first part were, and may end elsewhere:
            /// coefficients differ by up to .16 of their deviations.
            ///
            /// # Errors
            /// [`ModelError::Unlike`], naming the shard and what differs; `NotPositiveDefinite`; `ThinShards` if diagonal beliefs
            /// of too few rows each would leave the weights near the prior, see [`vi_core::merge::pull()`]. On an error the model
            /// is unchanged.
            pub fn merge(&mut self, others: &[&Self]) -> Result<(), ModelError> {
                let others: Vec<_> = others.iter().map(|other| &other.engine).collect();
                self.engine.merge(&others)
            }

            /// A model that has learned nothing but the sample of at most 256 rows, in a random order: the better answer where the order of
            /// the rows has done harm ([`OnlineInfo::order`](crate::online::OnlineInfo::order)) and they cannot be read again.
            /// Labels that the sample holds too often for their share of all rows weigh less. Rows sorted by their label, five
            /// inputs: log loss 1.6 nats above that of a random order, of the sample .011; intervals of 90 % hold 1 % and 87 %.
            /// Counting each row of the sample for many would gain no accuracy, and its intervals would hold 44 %. Cost: 256 rows.
            ///
            /// # Errors
            /// [`ModelError::Unsupported`] without a sample: of models that are exact, forget or were told to keep none.
            pub fn of_sample(&self) -> Result<Self, ModelError> {
                Ok(Self { engine: self.engine.of_sample()? })
            }

            /// The number of inputs.
            #[must_use]
            pub fn inputs(&self) -> usize {
                self.engine.design.inputs
            }

            /// The scale of each input, by which the model divides it: its standard deviation over the first rows, or half the distance of two values; none while
            /// these rows are gathered, and where inputs are used as they are.
            #[must_use]
            pub fn input_scales(&self) -> Option<&[f64]> {
                self.engine.design.input_scales()
            }

            /// The settings that the model was made with.
            #[must_use]
            pub fn settings(&self) -> &OnlineSettings {
                &self.engine.settings
            }
        }

        impl $(<$generic: $bound>)? Serialize for $model $(<$generic>)? {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.engine.to_wire().map_err(serde::ser::Error::custom)?.serialize(serializer)
            }
        }

        impl<'de $(, $generic: $bound)?> Deserialize<'de> for $model $(<$generic>)? {
            /// Reads a stored model. Everything is checked: a damaged or foreign document is an error.
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let wire = EngineWire::<$family>::deserialize(deserializer)?;
                Ok(Self { engine: Engine::from_wire(wire).map_err(serde::de::Error::custom)? })
            }
        }
    };
}

/// Implements the further methods of models with one linear predictor.
macro_rules! one_predictor {
    ($model:ident $(<$generic:ident: $bound:ident>)?) => {
        impl $(<$generic: $bound>)? $model $(<$generic>)? {
            /// The posterior mean of the weights and the intercept, in the units of the inputs; the intercept is the predictor at
            /// all inputs 0.
            #[must_use]
            pub fn weights(&self) -> Draw {
                self.engine.mean_weights()
            }

            /// The same for each member of the average over prior scales and memories; none where one cannot be computed.
            #[must_use]
            pub fn member_weights(&self) -> Vec<Draw> {
                self.engine.means()
            }

            /// The posterior of the weight of input `j`, in the units of the inputs: mean, standard deviation, interval,
            /// quantiles.
            ///
            /// # Errors
            /// `Index` if there is no such input.
            pub fn weight(&self, j: usize) -> Result<Marginal, ModelError> {
                self.engine.weight(j)
            }

            /// The posterior of each weight, in the units of the inputs and under their names (`names` in
            /// [`OnlineSettings`](crate::online::OnlineSettings)); the intercept comes first, or the cut points of classes that have an order
            /// (`0|1`, `1|2` and so on), or the log hazards of times (`0–30`, `30–`). Each costs as much as a prediction.
            ///
            /// # Errors
            /// `Overflow`.
            pub fn coefficients(&self) -> Result<Vec<Coefficient>, ModelError> {
                self.engine.coefficients()
            }

            /// The posterior of `Σ c_j·w_j`, a combination of the weights in the units of the inputs: a contrast, or the change
            /// of the linear predictor when the inputs change by `c`. It costs as much as a prediction.
            ///
            /// # Errors
            /// `Dimension`, `NonFinite`, `Entry` (a position) for `c`; `Overflow`.
            pub fn combination<'a>(&self, c: impl Into<Row<'a>>) -> Result<Marginal, ModelError> {
                self.engine.combination(c.into())
            }

            /// The posterior covariance of the weights of inputs `j` and `k`, in the units of the inputs; the variance if `j =
            /// k`. It costs as much as two predictions.
            ///
            /// # Errors
            /// `Index` if there is no such input; `Overflow` if the variances are infinite.
            pub fn covariance(&self, j: usize, k: usize) -> Result<f64, ModelError> {
                self.engine.covariance(j, k)
            }

            pub(super) fn gains(&self, row: Row<'_>) -> Result<super::engine::Gains, ModelError> {
                self.engine.gains(row)
            }

            /// A draw of the weights from the posterior, and of the noise where it is learned, for Thompson sampling: act as if it were the
            /// truth. With a full covariance a draw costs `p³/3` flops for `p` weights, with another kind what a row costs.
            ///
            /// # Errors
            /// `NotPositiveDefinite` for a covariance that rounding has destroyed; `Overflow` for a weight or a noise beyond the floats.
            pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<Draw, ModelError> {
                self.engine.sample(rng)
            }

            /// One joint draw of the linear predictors of many rows, without offsets: Thompson sampling among candidates. It has
            /// the distribution of a [`sample`](Self::sample) whose scores are taken at each row, but draws no number for each
            /// weight: with a low-rank or a diagonal belief it costs a prediction for each row, and as much for each pair of
            /// rows.
            ///
            /// # Errors
            /// `Empty` for no rows; `Dimension`, `NonFinite`, `Entry` (a position), naming the row; `Overflow`.
            ///
            /// ```
            /// use rand::SeedableRng;
            /// use vi_models::online::{OnlineLogistic, Rows};
            /// let mut model = OnlineLogistic::new(2)?;
            /// for (x, y) in [([0.2, 3.1], 1.0), ([1.3, -0.2], 0.0), ([0.4, 2.2], 1.0), ([1.1, 0.3], 0.0)] {
            ///     model.update(&x, y)?;
            /// }
            /// let candidates = Rows::Sparse { starts: &[0, 1, 2, 3], positions: &[0, 1, 1], values: &[1.0, 2.0, 2.0] };
            /// let drawn = model.sample_scores(candidates, &mut rand_chacha::ChaCha8Rng::seed_from_u64(1))?;
            /// assert!(drawn.len() == 3 && (drawn[1] - drawn[2]).abs() < 1e-9);
            /// # Ok::<(), vi_models::ModelError>(())
            /// ```
            pub fn sample_scores<'a, R: Rng + ?Sized>(
                &self,
                candidates: impl Into<Rows<'a>>,
                rng: &mut R,
            ) -> Result<Vec<f64>, ModelError> {
                self.engine.score_samples(candidates.into(), 1, rng)
            }

            /// Many joint draws of the linear predictors of many rows, without offsets: `draws × candidates`, draw after draw. Each has the
            /// distribution of [`sample_scores`](Self::sample_scores); the candidates' covariance is factored once for each prior scale
            /// that is averaged over, and a draw of `k` candidates then costs `k²` flops.
            ///
            /// # Errors
            /// `Empty` for no draws; as [`sample_scores`](Self::sample_scores); `Overflow` too for more numbers than fit into memory.
            ///
            /// ```
            /// use rand::SeedableRng;
            /// use vi_models::online::OnlineLogistic;
            /// let mut model = OnlineLogistic::new(1)?;
            /// for (x, y) in [(0.2, 0.0), (1.3, 1.0), (0.4, 0.0), (1.1, 1.0)] {
            ///     model.update(&[x], y)?;
            /// }
            /// let drawn = model.score_samples(&[0.0, 2.0], 100, &mut rand_chacha::ChaCha8Rng::seed_from_u64(1))?;
            /// assert!(drawn.len() == 200 && drawn.chunks(2).filter(|both| both[1] > both[0]).count() > 70);
            /// # Ok::<(), vi_models::ModelError>(())
            /// ```
            pub fn score_samples<'a, R: Rng + ?Sized>(
                &self,
                candidates: impl Into<Rows<'a>>,
                draws: usize,
                rng: &mut R,
            ) -> Result<Vec<f64>, ModelError> {
                self.engine.score_samples(candidates.into(), draws, rng)
            }

            /// The posterior of the linear predictor `offset + intercept + xᵀw` at `row`, before the label's distribution enters.
            /// It is finite even where the mean of a count is not, as can happen before the first rows. It costs as much as a
            /// prediction.
            ///
            /// # Errors
            /// `Dimension`, `NonFinite`, `Entry` (a position) for the row; `Setting` for an offset that is not finite; `Overflow`.
            ///
            /// ```
            /// use vi_models::online::{Observation, OnlineGlm, family::Counts};
            /// let mut visits = OnlineGlm::new(1, Counts)?;
            /// visits.update(&[0.5], Observation::new(3.0))?;
            /// visits.update(&[0.6], Observation::new(2.0))?;
            /// let (near, far) = (visits.predictor(&[0.5], 0.0)?, visits.predictor(&[1e4], 0.0)?);
            /// assert!(near.standard_deviation() < far.standard_deviation() && far.interval(0.9)?.upper.is_finite());
            /// // The mean of the count, e to that power, is beyond the range of floats.
            /// assert!(visits.predict(&[1e4], Observation::new(0.0)).is_err());
            /// # Ok::<(), vi_models::ModelError>(())
            /// ```
            pub fn predictor<'a>(&self, row: impl Into<Row<'a>>, offset: f64) -> Result<Marginal, ModelError> {
                self.engine.predictor(row.into(), offset)
            }

            /// The posterior of the intercept: the linear predictor at all inputs 0.
            ///
            /// # Errors
            /// `Overflow`.
            pub fn intercept(&self) -> Result<Marginal, ModelError> {
                self.engine.intercept()
            }
        }
    };
}

/// Implements what models of one predictor have whose posterior may be one Gaussian.
macro_rules! one_gaussian {
    ($model:ident $(<$generic:ident: $bound:path>)?) => {
        impl $(<$generic: $bound>)? $model $(<$generic>)? {
            /// What it has learned, as one Gaussian. With a square root it costs `p³` flops for `p` weights.
            ///
            /// # Errors
            /// [`ModelError::Unsupported`] for a model whose posterior is not one Gaussian in the units of the inputs: whose prior scale is not
            /// given, which standardises, forgets, or has no full covariance.
            pub fn gaussian(&self) -> Result<OneGaussian, ModelError> {
                self.engine.gaussian()
            }
        }
    };
}

/// Implements the further methods of models whose posterior is not exact.
macro_rules! approximate {
    ($model:ident $(<$generic:ident: $bound:ident>)?) => {
        impl $(<$generic: $bound>)? $model $(<$generic>)? {
            /// Sweeps over all kept rows until the posterior along each row agrees with its tilted density, by [expectation
            /// propagation](vi_core::refine::expectation_propagation). The rows are all those since the model was made; learning
            /// can go on afterwards. Parameters beside the weights, such as a learned size or noise, are learned anew in turns with
            /// sweeps. The info's `bounds` is the log evidence at the prior scale with the largest share. Cost
            /// `3np²` flops a sweep, for each prior scale. Scales that are still being taken from the first rows are fixed as
            /// they are.
            ///
            /// # Errors
            /// [`ModelError::NotKept`] unless the settings keep rows and a full covariance; those of
            /// [`vi_core::refine::expectation_propagation`]. On an error the model is unchanged.
            pub fn refine(&mut self, settings: &RefineSettings) -> Result<RefineInfo, ModelError> {
                self.engine.refine(settings)
            }

            /// Passes over all rows, wherever they are kept, until the posterior is the best Gaussian in `KL(q‖p)`; see
            /// [`vi_core::batch`]. With at least a few rows for each weight [`refine`](Self::refine) gives nearly the same; with
            /// fewer rows, of classes that hardly overlap, the result is narrower than the posterior. `pass` is called once for
            /// each pass; it hands every row that the model has learned, in any order and with its observation, to the function
            /// that it is given. Memory does not grow with the rows: a pass is summed up, at `2np²` flops. Scales that are still
            /// being taken from the first rows are fixed as they are. Where the learned scales are near each other, one of them is
            /// taken to its optimum and the others follow by a change of its prior, otherwise each takes its own passes; where the
            /// scale's posterior then lies elsewhere, a scale there takes passes too. The info is that of the most probable scale.
            ///
            /// # Errors
            /// What `pass` returns; [`ModelError::NotKept`] unless the settings have a full covariance that forgets nothing;
            /// `Dimension` if the number of rows is not that which the model has learned; those of [`update`](Self::update) for a
            /// row; those of [`vi_core::batch::optimum_of`]. On an error the model is unchanged.
            ///
            /// ```
            /// use vi_core::batch::BatchSettings;
            /// use vi_models::ModelError;
            /// use vi_models::online::{Observation, OnlineLogistic, Row};
            /// let rows = [([0.2, 3.1], 1.0), ([1.3, -0.2], 0.0), ([0.4, 2.2], 0.0), ([1.1, 0.3], 1.0)];
            /// let mut model = OnlineLogistic::new(2)?;
            /// for (x, y) in rows {
            ///     model.update(&x, y)?;
            /// }
            /// let info = model.refine_over(&BatchSettings::default(), |take| {
            ///     rows.iter().try_for_each(|(x, y)| take(Row::Dense(x), Observation::new(*y)))
            /// })?;
            /// assert!(info.bounds.last() >= info.bounds.first());
            /// # Ok::<(), ModelError>(())
            /// ```
            pub fn refine_over<E: From<ModelError>>(
                &mut self,
                settings: &vi_core::batch::BatchSettings,
                pass: impl FnMut(&mut (dyn FnMut(Row<'_>, Observation) -> Result<(), ModelError> + '_)) -> Result<(), E>,
            ) -> Result<vi_core::batch::BatchInfo, E> {
                self.engine.refine_over(settings, pass)
            }

            /// The state of the model, for people to read.
            #[must_use]
            pub fn info(&self) -> OnlineInfo {
                OnlineInfo::of(&self.engine)
            }

            /// [`info`](Self::info) with `k̂` from `draws` draws of the posterior and the advice that follows from it; `info`
            /// repeats both until the posterior changes. The prior scale is compared with others by factors of 3, at each of which the kept
            /// rows are fitted anew. Cost `draws·n·p` for `n` kept rows, and some ten fits of them; 10⁴ draws give `k̂` to about 0.1.
            ///
            /// # Errors
            /// [`ModelError::NotKept`] unless the settings keep rows and a full covariance; `Setting` for fewer than 25 draws.
            pub fn diagnose<R: Rng + ?Sized>(
                &mut self,
                draws: usize,
                rng: &mut R,
            ) -> Result<OnlineInfo, ModelError> {
                self.engine.diagnosed(draws, rng)?;
                Ok(self.info())
            }
        }
    };
}

/// Implements predictions for models of numbers, whose family has `number`.
macro_rules! predicts_numbers {
    ($model:ty) => {
        impl $model {
            /// The predictive distribution of the label at `row`.
            ///
            /// # Errors
            /// `Dimension`, `NonFinite`, `Entry` (a position); `Overflow` if the prediction is not finite.
            pub fn predict<'a>(&self, row: impl Into<Row<'a>>) -> Result<NumberPredicted, ModelError> {
                self.predict_at(row, 0.0)
            }

            /// As [`predict`](Self::predict), with a known part of the label, or of the transform of it that is learned, added.
            ///
            /// # Errors
            /// As [`predict`](Self::predict).
            pub fn predict_at<'a>(&self, row: impl Into<Row<'a>>, offset: f64) -> Result<NumberPredicted, ModelError> {
                check_offset(offset)?;
                self.engine.family.number(&self.engine.parts(row.into(), 0.0)?, self.engine.design.target, offset)
            }

            /// The prediction at `row`, as [`predict_at`](Self::predict_at) gives it, and then [`update`](Self::update): the same bits, and one
            /// product with the covariance serves both. The prediction is an error of its own where it cannot be computed though the row was
            /// learned.
            ///
            /// # Errors
            /// As [`update`](Self::update).
            pub fn predict_and_update<'a>(
                &mut self,
                row: impl Into<Row<'a>>,
                label: impl Into<Observation>,
            ) -> Result<Result<NumberPredicted, ModelError>, ModelError> {
                let (row, observed, target) = (row.into(), label.into(), self.engine.design.target);
                let parts = self.engine.counted(|engine| engine.parts_and_update(row, 0.0, observed))?;
                Ok(parts.and_then(|parts| self.engine.family.number(&parts, target, observed.offset)))
            }
        }
    };
}

/// Implements predictions of many rows for models whose `predict` takes only a row and returns `$predicted`.
macro_rules! predicts_batches {
    ($model:ident, $predicted:ty) => {
        impl $model {
            /// [`predict`](Self::predict) at each of many rows; an empty list for no rows.
            ///
            /// # Errors
            /// Those of `predict`, naming the row.
            pub fn predict_batch<'a>(&self, rows: impl Into<Rows<'a>>) -> Result<Vec<$predicted>, ModelError> {
                let mut memory = Vec::new();
                self.engine.rows(rows.into(), &mut memory)?.into_iter().map(|row| self.predict(row)).collect()
            }
        }
    };
}

/// Implements the handing of the posterior to another method, and the use of what that finds.
macro_rules! posterior {
    ($model:ident $(<$generic:ident: $bound:ident>)?) => {
        impl $(<$generic: $bound>)? $model $(<$generic>)? {
            /// The posterior of the rows so far as a log-density with its gradient, for methods that need not assume a Gaussian:
            /// `vi_boost::fit` takes it as it is. Worth it where [`diagnose`](Self::diagnose) after [`refine`](Self::refine)
            /// advises [`Advice::Boost`](crate::online::Advice). Copies the rows.
            ///
            /// # Errors
            /// [`ModelError::NotKept`] unless the settings keep rows and a full covariance.
            pub fn posterior(&self) -> Result<Posterior, ModelError> {
                Posterior::of(&self.engine)
            }

            /// A model that answers from a mixture of Gaussians found for this model's [`posterior`](Self::posterior), given as
            /// weights and parts in the coordinates of that density: `predict`, `sample` and `weight` average over the parts.
            /// Answers that need only one-dimensional averages are exact for the mixture. The new model cannot learn, be refined,
            /// merged or stored; this one still can, and can be boosted again after more rows.
            ///
            /// # Errors
            /// [`ModelError::OtherPosterior`] if `posterior` is of another model or of fewer rows; `Empty`, `Dimension`, `Entry`
            /// (a weight that is not positive), `Setting` for weights that do not sum to 1.
            pub fn mixture(
                &self,
                posterior: &Posterior,
                parts: &[(f64, vi_core::DenseGaussian)],
            ) -> Result<Self, ModelError> {
                Ok(Self { engine: self.engine.answering(posterior, parts)? })
            }
        }
    };
}
