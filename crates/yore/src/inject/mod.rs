//! What agents are told unasked.
//!
//! - [`text`]: what is given, as an agent reads it
//! - [`ledger`]: what a session was given, so that nothing is given twice and it can be counted

pub mod ledger;
pub mod text;
