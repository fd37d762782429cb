//! Local models: which are loaded, which are refused, and their results. Most tests run models with random
//! weights. Tests that need real models use the folder in `YORE_TEST_MODELS` and report if there is none.
//! `YORE_REQUIRE_MODELS=1` makes that an error.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use yore_engine::embed::{
    EmbedError, Embedder, KNOWN, LoadOptions, Manifest, ModelFolder, Reranker, Role, StaticTable, TextEmbedder, file_sha256,
    verify_file,
};
use yore_testing::{TINY_DIMENSIONS, describe_model, fixture, tiny_embedder_bytes, write_tiny_embedder, write_tiny_reranker};

const OPTIONS: LoadOptions = LoadOptions { threads: 1, is_trusted: false };

fn open(folder: &Path) -> Result<TextEmbedder, EmbedError> {
    TextEmbedder::open(&ModelFolder::recognise(folder)?, &OPTIONS)
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// Returns the folder of a real model; if there is none, prints that the test is skipped.
fn real(id: &str) -> Option<ModelFolder> {
    let Some(models) = std::env::var_os("YORE_TEST_MODELS").filter(|models| !models.is_empty()) else {
        let is_required = std::env::var_os("YORE_REQUIRE_MODELS").is_some_and(|value| value == "1");
        assert!(!is_required, "YORE_REQUIRE_MODELS is set, but YORE_TEST_MODELS names no folder with {id}");
        // Written past the test runner, which captures the output of a passing test.
        let words = format!("SKIPPED: no YORE_TEST_MODELS, so nothing is known of {id}\n");
        std::io::stderr().write_all(words.as_bytes()).unwrap();
        return None;
    };
    Some(ModelFolder::known(&PathBuf::from(models).join(id), Manifest::find(id).unwrap()))
}

fn reference() -> Value {
    serde_json::from_slice(&fs::read(fixture("models/reference.json")).unwrap()).unwrap()
}

/// Makes an empty folder named after a known model.
fn known_folder() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join(KNOWN[0].id);
    fs::create_dir(&folder).unwrap();
    (directory, folder)
}

#[test]
fn embedder_gives_vectors_of_length_one_that_depend_on_the_words() {
    let directory = tempfile::tempdir().unwrap();
    let embedder = open(&write_tiny_embedder(directory.path(), "tiny", 1)).unwrap();
    assert_eq!((embedder.id(), embedder.dimensions()), ("tiny", TINY_DIMENSIONS));
    let harbour = embedder.embed("boats in the harbour").unwrap();
    assert_eq!(harbour.len(), TINY_DIMENSIONS);
    assert!((cosine(&harbour, &harbour) - 1.0).abs() < 1e-6);
    assert!((harbour.iter().map(|part| part * part).sum::<f32>() - 1.0).abs() < 1e-5);
    assert_eq!(harbour, embedder.embed("Boats in the HARBOUR").unwrap());
    assert_ne!(harbour, embedder.embed("boats in the office").unwrap());
    let close = cosine(&harbour, &embedder.embed("the boats in a harbour").unwrap());
    let far = cosine(&harbour, &embedder.embed("quarterly tax declaration").unwrap());
    assert!(close > far, "{close} {far}");
    assert_eq!(embedder.embed("").unwrap().len(), TINY_DIMENSIONS);
}

#[test]
fn text_beyond_the_limit_is_cut_off_and_does_not_matter() {
    let directory = tempfile::tempdir().unwrap();
    let embedder = open(&write_tiny_embedder(directory.path(), "tiny", 1)).unwrap();
    // 64 tokens with the two around them.
    let full = "word ".repeat(62);
    assert_eq!(embedder.embed(&full).unwrap(), embedder.embed(&format!("{full} and then some")).unwrap());
    assert_ne!(embedder.embed(&full).unwrap(), embedder.embed(&format!("other {full}")).unwrap());
}

#[test]
fn several_threads_embed_with_one_model() {
    let directory = tempfile::tempdir().unwrap();
    let folder = ModelFolder::recognise(&write_tiny_embedder(directory.path(), "tiny", 1)).unwrap();
    let embedder = TextEmbedder::open(&folder, &LoadOptions { threads: 2, is_trusted: false }).unwrap();
    let alone: Vec<_> = (0..8).map(|number| embedder.embed(&format!("text {number}")).unwrap()).collect();
    std::thread::scope(|scope| {
        let embedder = &embedder;
        let running: Vec<_> =
            (0..8).map(|number| scope.spawn(move || embedder.embed(&format!("text {number}")).unwrap())).collect();
        for (running, alone) in running.into_iter().zip(&alone) {
            assert_eq!(&running.join().unwrap(), alone);
        }
    });
}

#[test]
fn identity_changes_with_whatever_changes_vectors() {
    let directory = tempfile::tempdir().unwrap();
    let folder = write_tiny_embedder(directory.path(), "tiny", 1);
    let mut identities = vec![open(&folder).unwrap().identity()];
    assert!(identities[0].starts_with("tiny sha256:") && identities[0].contains(" rten 0.27 "), "{}", identities[0]);
    assert_eq!(open(&folder).unwrap().identity(), identities[0]);
    for change in [json!({"pooling": "mean"}), json!({"max_tokens": 32}), json!({"prefix": "q: "}), json!({"id": "other"})] {
        describe_model(&folder, &change);
        identities.push(open(&folder).unwrap().identity());
    }
    identities.push(open(&write_tiny_embedder(directory.path(), "tiny", 2)).unwrap().identity());
    let all = identities.len();
    identities.sort();
    identities.dedup();
    assert_eq!(identities.len(), all, "{identities:#?}");
}

#[test]
fn kinds_of_embedders_are_never_taken_for_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let tiny = open(&write_tiny_embedder(directory.path(), "tiny", 1)).unwrap();
    let (table, local) = (Embedder::Static(StaticTable::builtin().unwrap()), Embedder::Local(Arc::new(tiny)));
    assert_ne!(table.identity(), local.identity());
    for embedder in [table.clone(), local] {
        let vector = embedder.embed("boats in the harbour").unwrap().unwrap();
        assert_eq!(vector.len(), embedder.dimensions());
        assert_eq!(embedder.embed_question("boats in the harbour").unwrap().unwrap(), vector);
    }
    assert_eq!(table.embed("").unwrap(), None);
}

#[test]
fn runtime_in_the_identity_is_the_one_that_is_linked() {
    let directory = tempfile::tempdir().unwrap();
    let identity = open(&write_tiny_embedder(directory.path(), "tiny", 1)).unwrap().identity();
    let lock = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock")).unwrap();
    let version = lock.split("name = \"rten\"\nversion = \"").nth(1).unwrap().split('"').next().unwrap();
    let minor = version.rsplit_once('.').unwrap().0;
    assert!(identity.contains(&format!(" rten {minor} ")), "{identity}: rten is {version}; change RUNTIME in embed/network.rs");
}

#[test]
fn pooling_and_prefix_of_a_description_are_heeded() {
    let directory = tempfile::tempdir().unwrap();
    let folder = write_tiny_embedder(directory.path(), "tiny", 1);
    let by_first = open(&folder).unwrap().embed("boats").unwrap();
    describe_model(&folder, &json!({"pooling": "mean", "prefix": "query: "}));
    let embedder = open(&folder).unwrap();
    assert!(cosine(&by_first, &embedder.embed("boats").unwrap()) < 0.999);
    assert_eq!(embedder.embed_question("boats").unwrap(), embedder.embed("query: boats").unwrap());
    assert_ne!(embedder.embed_question("boats").unwrap(), embedder.embed("boats").unwrap());
}

#[test]
fn mean_pooling_takes_every_token() {
    let directory = tempfile::tempdir().unwrap();
    let folder = write_tiny_embedder(directory.path(), "tiny", 1);
    describe_model(&folder, &json!({"pooling": "mean"}));
    let embedder = open(&folder).unwrap();
    // The tiny network ignores order, and so does the mean of its states.
    let one = embedder.embed("boats leave harbours").unwrap();
    assert!(cosine(&one, &embedder.embed("harbours leave boats").unwrap()) > 0.9999);
}

#[test]
fn reranker_scores_pairs_and_tells_their_sides_apart() {
    let directory = tempfile::tempdir().unwrap();
    let folder = ModelFolder::recognise(&write_tiny_reranker(directory.path(), "judge", 1)).unwrap();
    let reranker = Reranker::open(&folder, &OPTIONS).unwrap();
    assert!(reranker.identity().starts_with("judge sha256:"), "{}", reranker.identity());
    let score = reranker.score("where is the harbour", "behind the old town", 64).unwrap();
    assert_eq!(score, reranker.score("where is the harbour", "behind the old town", 500).unwrap());
    assert_ne!(score, reranker.score("where is the harbour", "quarterly tax declaration", 64).unwrap());
    assert_ne!(score, reranker.score("behind the old town where", "is the harbour", 64).unwrap(), "sides matter");
    let long = "harbour ".repeat(100);
    let full = reranker.score("where", &long, 20).unwrap();
    assert_eq!(full, reranker.score("where", &format!("{long} town"), 20).unwrap());
}

#[test]
fn model_for_something_else_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let judge = ModelFolder::recognise(&write_tiny_reranker(directory.path(), "judge", 1)).unwrap();
    let error = TextEmbedder::open(&judge, &OPTIONS).unwrap_err();
    assert!(matches!(error, EmbedError::WrongRole { is: Role::Reranker, wanted: Role::Embedder, .. }), "{error}");
    let tiny = ModelFolder::recognise(&write_tiny_embedder(directory.path(), "tiny", 1)).unwrap();
    assert_eq!(Reranker::open(&tiny, &OPTIONS).unwrap_err().code(), "model/wrong-role");
}

#[test]
fn folder_without_a_model_is_refused_with_what_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    assert!(matches!(ModelFolder::recognise(directory.path()), Err(EmbedError::Unknown(folder)) if folder == directory.path()));
    let (_directory, folder) = known_folder();
    let error = open(&folder).unwrap_err();
    assert!(matches!(&error, EmbedError::Missing(file) if *file == folder.join("tokenizer.json")), "{error}");
    assert!(error.is_mended_by_fetching());
    assert_eq!(ModelFolder::recognise(&folder).unwrap().verify().unwrap_err().code(), "model/missing");
}

#[test]
fn known_model_with_any_other_byte_is_refused_by_name() {
    let (_directory, folder) = known_folder();
    let [model, tokenizer] = KNOWN[0].files else { panic!("{:?}", KNOWN[0].files) };
    for (size, detail) in [(0, "0 bytes"), (1000, "1000 bytes"), (model.bytes, "SHA-256")] {
        fs::write(folder.join(model.name), vec![8; size as usize]).unwrap();
        let error = verify_file(&folder, model).unwrap_err();
        assert!(error.to_string().contains(detail), "{error}");
        assert!(matches!(&error, EmbedError::Damaged { file, .. } if *file == folder.join("model.onnx")), "{error}");
        assert!(error.is_mended_by_fetching());
    }
    fs::write(folder.join(tokenizer.name), vec![b' '; tokenizer.bytes as usize]).unwrap();
    assert_eq!(open(&folder).unwrap_err().code(), "model/damaged");
    // Even a trusted folder must not lead to loading a file of another size.
    fs::write(folder.join(model.name), "exchanged").unwrap();
    let trusted = LoadOptions { threads: 1, is_trusted: true };
    let error = TextEmbedder::open(&ModelFolder::recognise(&folder).unwrap(), &trusted).unwrap_err();
    assert!(error.to_string().contains("9 bytes, expected 34015106"), "{error}");
}

#[test]
fn folder_of_a_known_model_is_recognised_by_name_or_by_size() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("downloaded");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("model.onnx"), vec![0; KNOWN[1].files[0].bytes as usize]).unwrap();
    let found = ModelFolder::recognise(&folder).unwrap();
    assert_eq!((found.id(), found.role()), (KNOWN[1].id, Role::Reranker));
}

#[test]
fn network_of_ones_own_with_any_other_byte_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let folder = write_tiny_embedder(directory.path(), "tiny", 1);
    let file = folder.join("model.onnx");
    let whole = fs::read(&file).unwrap();
    let refused = |bytes: &[u8]| {
        fs::write(&file, bytes).unwrap();
        let error = open(&folder).unwrap_err();
        assert!(matches!(&error, EmbedError::Damaged { file: named, .. } if *named == file), "{error}");
        assert_eq!(ModelFolder::recognise(&folder).unwrap().verify().unwrap_err().code(), "model/damaged");
    };
    for length in [0, 1, 100, whole.len() / 2, whole.len() - 1] {
        refused(&whole[..length]);
    }
    for at in [0, 10, whole.len() / 2, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        refused(&damaged);
    }
    refused(&tiny_embedder_bytes(2));
    fs::write(&file, &whole).unwrap();
    open(&folder).unwrap();
}

#[test]
fn wrong_descriptions_are_refused_by_file_and_field() {
    let directory = tempfile::tempdir().unwrap();
    let folder = write_tiny_embedder(directory.path(), "tiny", 1);
    for (text, words) in [
        ("", "EOF"),
        ("[1]", "invalid"),
        (r#"{"id": "../up", "dimensions": 16}"#, "id must be"),
        (r#"{"id": "", "dimensions": 16}"#, "id must be"),
        (r#"{"id": "bge-small-en-v1.5", "dimensions": 384}"#, "known model"),
        (r#"{"id": "tiny"}"#, "dimensions"),
        (r#"{"id": "tiny", "dimensions": 0}"#, "dimensions"),
        (r#"{"id": "tiny", "dimensions": 16, "max_tokens": 513}"#, "max_tokens"),
        (r#"{"id": "tiny", "dimensions": 16, "pooling": "max"}"#, "pooling"),
        (r#"{"id": "tiny", "dimensions": 16, "role": "judge"}"#, "role"),
        (r#"{"id": "tiny", "dimensions": 16, "sha256": "abc"}"#, "sha256"),
        (r#"{"id": "tiny", "dimensions": 16}"#, "sha256 must be given"),
        (r#"{"id": "tiny", "dimensions": 16, "colour": "red"}"#, "colour"),
    ] {
        fs::write(folder.join("model.json"), text).unwrap();
        let error = ModelFolder::recognise(&folder).unwrap_err();
        assert_eq!(error.code(), "model/description", "{text}");
        assert!(error.to_string().contains("model.json") && error.to_string().contains(words), "{text}: {error}");
    }
}

#[test]
fn network_that_is_none_or_of_another_shape_is_refused_when_it_is_opened() {
    let directory = tempfile::tempdir().unwrap();
    let folder = write_tiny_embedder(directory.path(), "tiny", 1);
    let file = folder.join("model.onnx");
    let refused = |folder: &Path| {
        let error = open(folder).unwrap_err();
        assert!(matches!(&error, EmbedError::Unsuitable { file, .. } if *file == folder.join("model.onnx")), "{error}");
        error.to_string()
    };
    describe_model(&folder, &json!({"dimensions": 17}));
    assert!(refused(&folder).contains("17]"));
    describe_model(&folder, &json!({"dimensions": TINY_DIMENSIONS}));
    let whole = fs::read(&file).unwrap();
    for bytes in [b"".as_slice(), b"this is no network", &whole[..1000], &whole[..whole.len() - 10]] {
        fs::write(&file, bytes).unwrap();
        describe_model(&folder, &json!({"sha256": file_sha256(&file).unwrap()}));
        refused(&folder);
    }
    let judge = write_tiny_reranker(directory.path(), "judge", 1);
    describe_model(&judge, &json!({"role": "embedder", "dimensions": 16}));
    refused(&judge);
}

#[test]
fn vocabulary_of_another_model_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let folder = write_tiny_embedder(directory.path(), "tiny", 1);
    let file = folder.join("tokenizer.json");
    let ours: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let refused = |tokenizer: &Value| {
        fs::write(&file, tokenizer.to_string()).unwrap();
        let error = open(&folder).unwrap_err();
        assert!(matches!(&error, EmbedError::Vocabulary { file: named, .. } if *named == file), "{error}");
    };
    let mut swapped = ours.clone();
    swapped["model"]["vocab"]["harbour"] = ours["model"]["vocab"]["port"].clone();
    swapped["model"]["vocab"]["port"] = ours["model"]["vocab"]["harbour"].clone();
    refused(&swapped);
    let mut shorter = ours.clone();
    shorter["model"]["vocab"].as_object_mut().unwrap().remove("harbour");
    refused(&shorter);
    let mut cased = ours.clone();
    cased["normalizer"]["lowercase"] = json!(false);
    refused(&cased);
    refused(&json!({}));
    fs::write(&file, ours.to_string()).unwrap();
    open(&folder).unwrap();
    fs::remove_file(&file).unwrap();
    assert!(matches!(open(&folder).unwrap_err(), EmbedError::Missing(missing) if missing == file));
}

#[test]
fn real_embedder_gives_the_vectors_of_the_reference_runtime() {
    let Some(folder) = real("bge-small-en-v1.5") else { return };
    folder.verify().unwrap();
    let embedder = TextEmbedder::open(&folder, &OPTIONS).unwrap();
    let reference = reference();
    let texts = reference["texts"].as_array().unwrap();
    assert_eq!(texts.len(), 20);
    for expected in texts {
        let text = expected["text"].as_str().unwrap();
        let hex = expected["vector"].as_str().unwrap();
        let vector: Vec<f32> = (0..hex.len())
            .step_by(2)
            .map(|at| f32::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap().cast_signed()))
            .collect();
        let likeness = cosine(&embedder.embed(text).unwrap(), &vector);
        // 0.9974 at least where this was written; other processors round differently.
        assert!(likeness >= 0.99, "{text}: {likeness}");
    }
    let capital = |text: &str| embedder.embed(text).unwrap();
    let (question, answer) = (capital("What is the capital of France?"), capital("Paris is the capital of France."));
    let other = capital("Bread needs flour, water, salt and patience.");
    assert!(cosine(&question, &answer) > cosine(&question, &other) + 0.2);
}

#[test]
fn real_embedder_gives_the_same_vector_whatever_was_embedded_before() {
    let Some(folder) = real("bge-small-en-v1.5") else { return };
    let embedder = TextEmbedder::open(&folder, &OPTIONS).unwrap();
    let first = embedder.embed("Where did we put the retry logic?").unwrap();
    embedder.embed(&"a long text about something else ".repeat(100)).unwrap();
    assert_eq!(embedder.embed("Where did we put the retry logic?").unwrap(), first);
    let trusted = LoadOptions { threads: 2, is_trusted: true };
    let again = TextEmbedder::open(&folder, &trusted).unwrap();
    assert_eq!(again.identity(), embedder.identity());
    assert!(cosine(&again.embed("Where did we put the retry logic?").unwrap(), &first) > 0.9999);
}

#[test]
fn real_reranker_gives_the_scores_of_its_model_card() {
    let Some(folder) = real("ms-marco-MiniLM-L-12-v2") else { return };
    let reranker = Reranker::open(&folder, &OPTIONS).unwrap();
    let reference = reference();
    let question = reference["question"].as_str().unwrap();
    for expected in reference["passages"].as_array().unwrap() {
        let (passage, wanted) = (expected["text"].as_str().unwrap(), expected["score"].as_f64().unwrap());
        let score = f64::from(reranker.score(question, passage, 512).unwrap());
        // Runtimes quantise activations differently.
        assert!((score - wanted).abs() < 0.6, "{passage}: {score}, expected is {wanted}");
    }
    let score = |passage: &str| reranker.score(question, passage, 512).unwrap();
    assert!(score("Berlin had a population of 3,520,031 registered inhabitants.") > 5.0);
    assert!(score("Berlin is well known for its museums.") < 0.0);
}
