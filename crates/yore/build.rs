//! Links the program for one place in memory on Linux: a hook is a fresh process, and half of its time went
//! into moving the addresses in the program's tables. Libraries, stack and heap lie anywhere as before.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, wanted: &str| std::env::var(name).is_ok_and(|value| value == wanted);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
