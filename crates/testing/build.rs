//! Builds the library that makes file operations fail (see `faults/library.rs`), for the tests that load it.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=faults/library.rs");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let mut library = String::new();
    if variable("CARGO_CFG_TARGET_OS") == "linux"
        && variable("CARGO_CFG_TARGET_ENV") == "gnu"
        && variable("HOST") == variable("TARGET")
    {
        let path = Path::new(&variable("OUT_DIR")).join("libfaults.so");
        let built = Command::new(variable("RUSTC"))
            .args(["--edition", "2024", "--crate-type", "cdylib", "-C", "opt-level=2", "-C", "panic=abort", "-o"])
            .arg(&path)
            .arg("faults/library.rs")
            .status();
        assert!(built.is_ok_and(|status| status.success()), "rustc could not build faults/library.rs");
        library = path.display().to_string();
    }
    // Empty on platforms without the library.
    println!("cargo::rustc-env=FAULTS_LIBRARY={library}");
}
