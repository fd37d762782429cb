//! The program `yore`; everything of it is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    yore_memory::run()
}
