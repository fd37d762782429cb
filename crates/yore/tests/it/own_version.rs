//! `yore self check`: the newest version, as the package client tells it that installed the program.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::environment::{Outcome, PROGRAM, TestEnvironment};

/// Runs the check by a program that npm seems to have installed, with this script as npm.
fn check(environment: &TestEnvironment, npm: Option<&str>, arguments: &[&str]) -> Outcome {
    let folder = environment.path("work/node_modules/yore-memory/bin");
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join("yore");
    // A link would lead to where the program really lies.
    if fs::hard_link(PROGRAM, &program).is_err() && !program.exists() {
        fs::copy(PROGRAM, &program).unwrap();
    }
    let clients = environment.path("work/clients");
    fs::create_dir_all(&clients).unwrap();
    if let Some(script) = npm {
        let file = clients.join("npm");
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    environment.program(program).args(["self", "check"]).args(arguments).env("PATH", clients).run()
}

#[test]
fn newest_version_is_what_the_client_says_that_installed_the_program() {
    let environment = TestEnvironment::new();
    let own = env!("CARGO_PKG_VERSION");
    let missing = check(&environment, None, &[]).ends_with(1);
    assert!(missing.stderr.contains("npm cannot be started"), "{}", missing.stderr);
    let newer = check(&environment, Some("echo 99.1.0"), &[]).success();
    assert_eq!(newer.stdout, format!("yore 99.1.0 is out, this is {own}: `npm install --global yore-memory@latest`\n"));
    let asked = check(&environment, Some("test \"$*\" = \"view yore-memory version\" && echo 0.0.1"), &[]).success();
    assert_eq!(asked.stdout, format!("yore {own} is the newest that npm knows\n"));
    let data = check(&environment, Some("echo 99.1.0"), &["--json"]).success().json();
    assert_eq!((&data["version"], &data["newest"], &data["client"]), (&own.into(), &"99.1.0".into(), &"npm".into()));
    let refused = check(&environment, Some("echo 'WARNING: slow' >&2; echo 'npm error code E404' >&2; exit 1"), &[]).ends_with(1);
    assert!(refused.stderr.contains("could not tell the newest version: npm error code E404"), "{}", refused.stderr);
    assert!(!environment.data().exists(), "nothing is stored");
}

#[test]
fn program_that_no_client_installed_says_so() {
    let told = TestEnvironment::new().yore(["self", "check"]).run().ends_with(1);
    assert!(told.stderr.contains("no package client installed"), "{}", told.stderr);
}
