//! The worker of the tests: serves one session, or misbehaves in the way that its argument names.

use std::io::{self, Write};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

fn main() -> ExitCode {
    let how = std::env::args().nth(1);
    let served = match how.as_deref() {
        None => yore_sandbox::worker::serve(io::stdin(), io::stdout()),
        Some(how) => misbehave(how),
    };
    if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Breaks the agreement with the parent.
fn misbehave(how: &str) -> io::Result<()> {
    let mut out = io::stdout();
    let mut frame = |head: &str| {
        let length = u32::try_from(head.len()).unwrap_or(0).to_le_bytes();
        out.write_all(&length)?;
        out.write_all(&[0; 4])?;
        out.write_all(head.as_bytes())?;
        out.flush()
    };
    match how {
        "silent" => thread::sleep(Duration::from_secs(600)),
        "garbage" => io::stdout().write_all(&b"Traceback: this is no frame\n".repeat(1_000))?,
        "huge" => io::stdout().write_all(&[255; 64])?,
        "half" => io::stdout().write_all(&[20, 0, 0, 0, 0, 0, 0, 0, b'{'])?,
        "exit" => writeln!(io::stderr(), "no such model")?,
        // Accepts the start, then answers whatever comes with calls.
        "flood" => {
            frame("\"done\"")?;
            loop {
                frame(r#"{"call":{"name":"f","args":[],"kwargs":[]}}"#)?;
            }
        }
        // Accepts the start, then ends the first cell with more output than allowed.
        "chatty" => {
            frame("\"done\"")?;
            let output = "x".repeat(100_000);
            frame(&format!(r#"{{"finished":{{"output":"{output}","is_cut":false,"dropped":0,"calls":0,"error":null}}}}"#))?;
            thread::sleep(Duration::from_secs(600));
        }
        _ => {}
    }
    Err(io::Error::other(how.to_owned()))
}
