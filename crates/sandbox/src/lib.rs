//! Runs Python cells that a language model wrote, in a child process that reaches nothing but its parent.
//!
//! - [`session`]: the parent's side: start the child, define variables, run cells, answer their calls
//! - [`worker`]: the child's side: confine the process, keep the interpreter's state, run cells
//! - [`guide`]: the parts of Python that work, for the prompt
//!
//! Parent and child exchange frames over the child's standard input and output (`wire`). The output of a cell travels
//! inside of a frame, so that it cannot pass for one. The parent enforces the limits: it counts calls, measures time
//! and ends the child. The child also limits itself, so that in the common cases its state survives a limit.

mod child;
mod confine;
mod fault;
pub mod guide;
mod limits;
mod natives;
mod outcome;
mod output;
pub mod session;
mod text;
mod value;
mod wire;
pub mod worker;

pub use child::Stopper;
pub use limits::Limits;
pub use outcome::{CellError, CellOutcome, ErrorKind};
pub use session::{Host, Refusal, SandboxError, Session};
