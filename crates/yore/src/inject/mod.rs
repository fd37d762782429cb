//! Text that agents get unasked: budget, wording, and the record of what each session got.
//!
//! - [`budget`]: its tokens, and what fits into a budget of them
//! - [`text`]: the injected text, as an agent reads it
//! - [`given`]: tokens given by day
//! - [`ledger`]: what a session was given, so that nothing is given twice and the cost can be counted
//! - [`learning`]: what a brief tells of sessions that wait for a model
//! - [`plan`]: how much of it on which occasion; [`question`]: what the engine is asked then

pub mod budget;
pub mod given;
pub mod learning;
pub mod ledger;
pub mod plan;
pub mod question;
pub mod text;
