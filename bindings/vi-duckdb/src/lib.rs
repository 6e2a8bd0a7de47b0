//! Posteriors in the queries of DuckDB: fitted, merged, subtracted and asked where the rows already are.
//!
//! An extension to be loaded; its README has every function. The sums are those of `vi-sums`, a posterior is the record of `vi-sums`, byte for
//! byte; what is here is the engine's side: [`ffi`] turns its memory into slices and references, [`fold`] walks along rows,
//! [`linear`], [`glm`], [`pass`], [`merge`] and [`pool`] are the aggregates, [`scalar`] the functions of a posterior.

// Allowed where the engine's memory is read and written: `ffi`.
#![deny(unsafe_code)]

mod fault;
mod ffi;
mod fold;
mod glm;
mod linear;
mod merge;
mod pass;
mod pool;
mod scalar;

pub(crate) use fault::Fault;

use ffi::{Catalogue, Form};
use quack_rs::error::ExtensionError;

/// Adds every function to the catalogue.
fn register(catalogue: &Catalogue<'_>) -> Result<(), ExtensionError> {
    catalogue.aggregate("vi_linear", linear::fixed)?;
    catalogue.aggregate("vi_linear_list", linear::lists)?;
    catalogue.aggregate("vi_glm", glm::forms)?;
    catalogue.aggregate("vi_pass", pass::forms)?;
    catalogue.aggregate("vi_merge", Form::with::<merge::Merge>)?;
    catalogue.aggregate("vi_pool", |set| {
        set.with::<pool::Pooling<false, false>>()
            .with::<pool::Pooling<false, true>>()
            .with::<pool::Pooling<true, false>>()
            .with::<pool::Pooling<true, true>>()
    })?;
    catalogue.scalar("vi_components", Form::with::<scalar::Components>)?;
    catalogue.scalar("vi_effects", |set| {
        set.with::<scalar::Effects>().with::<scalar::EffectsOf<false>>().with::<scalar::EffectsOf<true>>()
    })?;
    catalogue.scalar("vi_predict_group", scalar::predict_group)?;
    catalogue.scalar("vi_robust", |set| {
        set.with::<scalar::Robust<false, false>>()
            .with::<scalar::Robust<true, false>>()
            .with::<scalar::Robust<false, true>>()
            .with::<scalar::Robust<true, true>>()
    })?;
    catalogue.scalar("vi_predict", scalar::predict)?;
    catalogue.scalar("vi_coefficients", |set| {
        set.with::<scalar::Coefficients<false>>().with::<scalar::Coefficients<true>>()
    })?;
    catalogue.scalar("vi_subtract", Form::with::<scalar::Subtract>)?;
    catalogue.scalar("vi_factors", Form::with::<scalar::Factors>)?;
    catalogue.scalar("vi_newton", |set| set.with::<scalar::Newton<false>>().with::<scalar::Newton<true>>())?;
    catalogue.scalar("vi_evidence", Form::with::<scalar::Evidence>)?;
    catalogue.scalar("vi_sample", Form::with::<scalar::Sample>)?;
    catalogue.scalar("vi_describe", Form::with::<scalar::Describe>)
}
