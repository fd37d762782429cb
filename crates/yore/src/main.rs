//! The program `yore`; all of its code is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    yore_memory::run()
}
