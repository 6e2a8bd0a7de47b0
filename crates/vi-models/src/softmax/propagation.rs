//! Sweeps to the Gaussian with which the logits of every row have the moments of the row's tilted density.

use vi_core::batch::InformationGaussian;
use vi_core::refine::{Progress, RefineInfo};
use vi_core::{DenseGaussian, Error, Stop};
use vi_linalg::faer::Par;

use super::refine::SoftmaxFit;
use super::step::logits;
use super::tilted::{exponent, tilted, without};
use super::{Softmax, SoftmaxRefineSettings, SoftmaxRows, SoftmaxScratch};
use crate::{ModelError, check};

/// The most classes whose tilted densities are accurate enough.
const MOST_CLASSES: usize = 3;

impl Softmax {
    /// Whether [expectation propagation](Self::expectation_propagation) is available for these rows: it is for two and three
    /// classes, if each row has one class and weight 1.
    #[must_use]
    pub fn propagates(&self, rows: &SoftmaxRows<'_>) -> bool {
        self.classes <= MOST_CLASSES && rows.are_plain()
    }

    /// Expectation propagation (Minka 2001): sweeps until the rows' normalisers no longer change.
    ///
    /// As [`vi_core::refine::expectation_propagation`], with logits in place of a predictor: a row's site becomes the one that gives the
    /// logits the mean and covariance of `π_y(η)·N(η|a_c, N_c)/Ẑ`, and the log evidence is
    ///
    /// ```text
    /// log Z = Σ_t [log Ẑ_t + ½log|I + K_tN_c| − ½r_tᵀ(a + a_c) + ½aᵀK_ta_c] + log ∫ p₀(θ)·Π exp(r_tᵀη_t − ½η_tᵀK_tη_t) dθ
    /// ```
    ///
    /// `fit` is what [`first_pass`](Self::first_pass) gave from the same `prior` and `rows`. A sweep costs `2D² + D²m` for each
    /// row. The only entry of [`RefineInfo::bounds`] is the log evidence at the end.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` for rows for which it is not [available](Self::propagates), with `Empty`, `Dimension`,
    /// `Row`, `NotPositiveDefinite`; `fit` is then as it was. Not converging is a [`Stop`].
    ///
    /// ```
    /// use vi_linalg::faer::{Par, mat};
    /// use vi_models::softmax::{Softmax, SoftmaxRefineSettings, SoftmaxRows};
    ///
    /// let x = mat![[1.0, -2.0], [1.0, -1.5], [1.0, 0.1], [1.0, -0.2], [1.0, 1.8], [1.0, 2.2]];
    /// let y = [0.0, 0.0, 1.0, 1.0, 2.0, 2.0];
    /// let rows = SoftmaxRows::new(x.as_ref(), &y);
    /// let model = Softmax::new(3)?;
    /// let prior = model.prior(2, 5.0)?;
    /// let mut fit = model.first_pass(&prior, rows, Par::Seq)?;
    /// let info = model.expectation_propagation(&prior, &mut fit, rows, &SoftmaxRefineSettings::default(), Par::Seq)?;
    /// assert_eq!(info.stop, vi_core::Stop::Converged);
    /// # Ok::<(), vi_models::ModelError>(())
    /// ```
    pub fn expectation_propagation(
        &self,
        prior: &DenseGaussian,
        fit: &mut SoftmaxFit,
        rows: SoftmaxRows<'_>,
        settings: &SoftmaxRefineSettings,
        par: Par,
    ) -> Result<RefineInfo, ModelError> {
        settings.check()?;
        self.check_fit(prior, fit, &rows)?;
        if !self.propagates(&rows) {
            let requirement = "at most 3, each row of one class and of weight 1, for expectation propagation";
            return Err(Error::Setting { name: "classes", value: self.classes as f64, requirement }.into());
        }
        let natural_prior = InformationGaussian::of(prior)?;
        let mut next = fit.clone();
        let mut info = RefineInfo::new(Vec::new());
        let mut progress = Progress::new(rows.len());
        let mut log_integral = 0.0;
        while info.sweeps < settings.max_sweeps {
            info.skipped += self.sweep(&mut next, &rows, par, |t, site, logits, counts| {
                let (Some((cavity, _)), Some(class)) = (without(site, logits), counts.class()) else { return Ok(None) };
                let (log_normaliser, matched) = tilted(&cavity, class)?;
                progress.see(t, log_normaliser);
                Ok(Some(site.mixed(&matched, progress.damping())))
            })?;
            (next.belief, log_integral) = self.assemble(&natural_prior, &next.sites, &rows, par)?;
            info.sweeps += 1;
            if progress.ends(settings.tolerance) {
                info.stop = Stop::Converged;
                break;
            }
        }
        let log_evidence = log_integral + self.log_scales(&next, &rows)?;
        check::result("log evidence", log_evidence)?;
        info.bounds.push(log_evidence);
        *fit = next;
        Ok(info)
    }

    /// `Σ_t [log Ẑ_t + ½log|I + K_tN_c| − ½r_tᵀ(a + a_c) + ½aᵀK_ta_c]`. A row without a proper cavity contributes nothing.
    fn log_scales(&self, fit: &SoftmaxFit, rows: &SoftmaxRows<'_>) -> Result<f64, Error> {
        let mut scratch = SoftmaxScratch::new(self, rows.inputs().ncols());
        let mut sum = 0.0;
        for (t, site) in fit.sites.iter().enumerate() {
            scratch.load(rows, t);
            let logits = logits(&fit.belief, &mut scratch, |i| rows.offset(t, i)).map_err(|error| error.at_row(t))?;
            let class = rows.counts(self.classes, t).class();
            let (Some((cavity, share)), Some(class)) = (without(site, &logits), class) else { continue };
            let (log_normaliser, _) = tilted(&cavity, class).map_err(|error| error.at_row(t))?;
            // |I + KN_c| = 1/|I − KN|.
            sum += log_normaliser - 0.5 * (share.ln() + exponent(site, &logits, &cavity));
        }
        Ok(sum)
    }
}
