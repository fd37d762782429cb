//! All tests of the sandbox in one binary: each file here is a module of it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails must panic")]
#![allow(clippy::print_stderr, reason = "what is measured is told")]

mod broken;
mod contain;
mod guide;
mod large;
mod state;

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use yore_sandbox::{CellError, CellOutcome, ErrorKind, Host, Limits, Refusal, SandboxError, Session};

/// Most time for anything hostile to be contained.
const SOON: Duration = Duration::from_secs(5);

/// Limits that are reached soon.
fn small() -> Limits {
    Limits { cell: Duration::from_secs(1), cpu_seconds: 3, memory_bytes: 128 << 20, calls: 20, ..Limits::default() }
}

fn worker() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_yore-sandbox-worker"))
}

fn start(limits: Limits) -> Session {
    let mut session = Session::start(worker(), &[], limits).unwrap();
    session.functions(&["echo", "fail", "stop", "slow"]).unwrap();
    session
}

/// A call that a host answered: function, arguments, named arguments.
type Call = (String, Vec<Value>, Vec<(String, Value)>);

/// A host of four functions that records its calls.
#[derive(Default)]
struct Fake {
    calls: Vec<Call>,
}

impl Host for Fake {
    fn call(&mut self, name: &str, args: Vec<Value>, kwargs: Vec<(String, Value)>) -> Result<Value, Refusal> {
        self.calls.push((name.to_owned(), args.clone(), kwargs));
        match name {
            "echo" => Ok(args.into_iter().next().unwrap_or(Value::Null)),
            "slow" => {
                std::thread::sleep(Duration::from_millis(2_500));
                Ok(json!("late"))
            }
            "stop" => Err(Refusal::Stop("the budget is used up".to_owned())),
            _ => Err(format!("{name} has no answer").into()),
        }
    }
}

fn run(session: &mut Session, cell: &str) -> CellOutcome {
    session.run(cell, &mut Fake::default()).unwrap_or_else(|error| panic!("{cell}: {error}"))
}

/// Runs a cell that must fail, and returns its error.
fn fail(session: &mut Session, cell: &str) -> CellError {
    let outcome = run(session, cell);
    outcome.error.unwrap_or_else(|| panic!("{cell} did not fail; it printed {}", outcome.output))
}

/// Runs a hostile cell: within [`SOON`] it must end by a limit, or the child must have ended. Returns which text says so.
fn contained(limits: Limits, cell: &str) -> String {
    let mut session = start(limits);
    let begun = Instant::now();
    let result = session.run(cell, &mut Fake::default());
    let took = begun.elapsed();
    assert!(took < SOON, "{cell:.80} took {took:?}");
    let text = match result {
        Ok(CellOutcome { error: Some(CellError { kind: ErrorKind::Limit, text, .. }), .. }) => {
            let after = session.run("1 + 1", &mut Fake::default());
            match after {
                Ok(after) => assert_eq!(after.output, "2\n", "{cell:.80}: the session goes on"),
                Err(error) => panic!("{cell:.80}: {error}"),
            }
            format!("limit: {text}")
        }
        Ok(outcome) => panic!("{cell:.80}: {outcome:?}"),
        Err(SandboxError::Ended { reason }) => {
            let again = session.run("1", &mut Fake::default());
            assert!(matches!(again, Err(SandboxError::Ended { reason: again }) if again == reason));
            assert!(!is_alive(session.process_id()), "{cell:.80}: a zombie stays");
            format!("ended: {reason}")
        }
        Err(error) => panic!("{cell:.80}: {error}"),
    };
    eprintln!("{cell:.60?}: {text} ({took:.1?})");
    text
}

/// Returns whether a process exists, if only as a zombie; false on systems without `/proc`.
fn is_alive(process: u32) -> bool {
    Path::new(&format!("/proc/{process}/stat")).exists()
}
