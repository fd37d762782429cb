//! A model's folder: identifies the model and verifies the hashes of its files.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::{EmbedError, KNOWN, Manifest, ManifestFile, Pooling, Role};

/// File name of the network.
pub(super) const MODEL: &str = "model.onnx";
/// File name of the vocabulary and its cutting rules. It is compared, not used: yore's own code cuts the
/// text.
const TOKENIZER: &str = "tokenizer.json";
/// File name of the description of a user's own model.
const DESCRIPTION: &str = "model.json";
/// SHA-256 of the 30,522 pieces of bert-base-uncased, each with a line feed, in the order of their
/// ids: the hash of the `vocab.txt` that is published with such models.
const VOCABULARY_SHA256: &str = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3";
/// Number of positions in a network of this kind.
const MAX_TOKENS: usize = 512;

/// A folder with `model.onnx` and `tokenizer.json`: a known model, or one that a `model.json` in
/// the folder describes.
///
/// ```json
/// {"id": "my-model", "role": "embedder", "dimensions": 384, "pooling": "mean", "max_tokens": 256,
///  "prefix": "", "sha256": "…"}
/// ```
///
/// `id`, `sha256`, which is that of `model.onnx`, and for an embedder `dimensions` are required. Every
/// network that is run has an expected hash: the runtime trusts the lengths in the file, and a damaged file
/// can make it request all memory.
#[derive(Clone, Debug)]
pub struct ModelFolder {
    path: PathBuf,
    facts: Facts,
}

/// Properties of a model, from the manifest or from a description.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub id: String,
    pub role: Role,
    pub dimensions: usize,
    pub max_tokens: usize,
    pub pooling: Pooling,
    pub prefix: String,
    /// The expected hash of `model.onnx`.
    pub sha256: String,
    pub manifest: Option<&'static Manifest>,
}

/// The content of `model.json`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    id: String,
    role: Option<String>,
    dimensions: Option<usize>,
    pooling: Option<String>,
    max_tokens: Option<usize>,
    #[serde(default)]
    prefix: String,
    #[serde(default)]
    sha256: String,
}

impl ModelFolder {
    /// Identifies the model in a folder: by `model.json`; else by the name of the folder, if it is that of a
    /// known model; else by the size of `model.onnx`. Does not read the model.
    pub fn recognise(path: &Path) -> Result<Self, EmbedError> {
        let description = path.join(DESCRIPTION);
        if description.is_file() {
            return Ok(Self { path: path.to_path_buf(), facts: described(&description)? });
        }
        let named = path.file_name().and_then(|name| name.to_str()).and_then(Manifest::find);
        let sized = || {
            let bytes = fs::metadata(path.join(MODEL)).ok()?.len();
            KNOWN.iter().find(|manifest| manifest.file(MODEL).is_some_and(|file| file.bytes == bytes))
        };
        let manifest = named.or_else(sized).ok_or_else(|| EmbedError::Unknown(path.to_path_buf()))?;
        Ok(Self::known(path, manifest))
    }

    /// Returns the folder of a known model, without a look at its files.
    pub fn known(path: &Path, manifest: &'static Manifest) -> Self {
        let facts = Facts {
            id: manifest.id.to_owned(),
            role: manifest.role,
            dimensions: manifest.dimensions,
            max_tokens: manifest.max_tokens,
            pooling: manifest.pooling,
            prefix: manifest.prefix.to_owned(),
            sha256: manifest.file(MODEL).map_or_else(String::new, |file| file.sha256.to_owned()),
            manifest: Some(manifest),
        };
        Self { path: path.to_path_buf(), facts }
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the id of the model.
    pub fn id(&self) -> &str {
        &self.facts.id
    }

    /// Returns the role of the model.
    pub fn role(&self) -> Role {
        self.facts.role
    }

    /// Returns the manifest of a known model; `None` for a user's own.
    pub fn manifest(&self) -> Option<&'static Manifest> {
        self.facts.manifest
    }

    /// Reads and checks every byte of every file, in some tens of milliseconds. A caller that opens a folder
    /// often may remember the result, with size, time and inode of the files, and then open it as trusted.
    pub fn verify(&self) -> Result<(), EmbedError> {
        let model = self.path.join(MODEL);
        match self.facts.manifest {
            Some(manifest) => manifest.files.iter().try_for_each(|file| verify_file(&self.path, file)),
            None => {
                expect_hash(&model, &self.facts.sha256, &file_sha256(&model)?)?;
                self.verify_tokenizer()
            }
        }
    }

    /// Checks that the vocabulary equals the built-in one.
    pub(super) fn verify_tokenizer(&self) -> Result<(), EmbedError> {
        match self.facts.manifest.and_then(|manifest| manifest.file(TOKENIZER)) {
            Some(file) => verify_file(&self.path, file),
            None => verify_vocabulary(&self.path.join(TOKENIZER)),
        }
    }

    pub(super) fn facts(&self, wanted: Role) -> Result<&Facts, EmbedError> {
        if self.facts.role == wanted {
            return Ok(&self.facts);
        }
        Err(EmbedError::WrongRole { folder: self.path.clone(), id: self.facts.id.clone(), is: self.facts.role, wanted })
    }

    /// Reads the network. Refuses a file that is not the expected one; compares only its size if
    /// `is_trusted`.
    pub(super) fn read(&self, is_trusted: bool) -> Result<Vec<u8>, EmbedError> {
        let path = self.path.join(MODEL);
        if let Some(file) = self.facts.manifest.and_then(|manifest| manifest.file(MODEL)) {
            expect_size(&path, file.bytes)?;
        }
        let bytes = fs::read(&path).map_err(|error| EmbedError::io(&path, error))?;
        if !is_trusted {
            expect_hash(&path, &self.facts.sha256, &hex(&Sha256::digest(&bytes)))?;
        }
        Ok(bytes)
    }
}

/// Checks size and hash of a known model's file in `folder`.
pub fn verify_file(folder: &Path, file: &ManifestFile) -> Result<(), EmbedError> {
    let path = folder.join(file.name);
    expect_size(&path, file.bytes)?;
    expect_hash(&path, file.sha256, &file_sha256(&path)?)
}

fn expect_size(path: &Path, expected: u64) -> Result<(), EmbedError> {
    let found = fs::metadata(path).map_err(|error| EmbedError::io(path, error))?.len();
    if found == expected {
        return Ok(());
    }
    let detail = format!("it has {found} bytes, expected {expected}");
    Err(EmbedError::Damaged { file: path.to_path_buf(), detail })
}

fn expect_hash(path: &Path, expected: &str, found: &str) -> Result<(), EmbedError> {
    if found == expected {
        return Ok(());
    }
    let detail = format!("its SHA-256 is {found}, expected {expected}");
    Err(EmbedError::Damaged { file: path.to_path_buf(), detail })
}

/// Returns the SHA-256 of a file, in lower-case hexadecimal.
pub fn file_sha256(path: &Path) -> Result<String, EmbedError> {
    let failed = |error| EmbedError::io(path, error);
    let mut file = File::open(path).map_err(failed)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 256 * 1024];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hex(&hasher.finalize())),
            Ok(length) => hasher.update(&buffer[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn described(file: &Path) -> Result<Facts, EmbedError> {
    let wrong = |detail: String| EmbedError::Description { file: file.to_path_buf(), detail };
    let text = fs::read(file).map_err(|error| EmbedError::io(file, error))?;
    let description: Description = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
    let Description { id, role, dimensions, pooling, max_tokens, prefix, sha256 } = description;
    let is_plain = |id: &str| id.chars().all(|letter| letter.is_ascii_alphanumeric() || "._-".contains(letter));
    if id.is_empty() || id.len() > 64 || !is_plain(&id) {
        return Err(wrong("id must be 1 to 64 letters, digits, dots, hyphens and underscores".to_owned()));
    }
    if Manifest::find(&id).is_some() {
        return Err(wrong(format!("id {id} belongs to a known model; choose another")));
    }
    let role = match role.as_deref() {
        None | Some("embedder") => Role::Embedder,
        Some("reranker") => Role::Reranker,
        Some(other) => return Err(wrong(format!("role {other:?} is neither \"embedder\" nor \"reranker\""))),
    };
    let pooling = match pooling.as_deref() {
        None | Some("cls") => Pooling::Cls,
        Some("mean") => Pooling::Mean,
        Some(other) => return Err(wrong(format!("pooling {other:?} is neither \"cls\" nor \"mean\""))),
    };
    let dimensions = match (role, dimensions) {
        (Role::Reranker, _) => 1,
        (Role::Embedder, Some(dimensions @ 1..=4096)) => dimensions,
        (Role::Embedder, _) => return Err(wrong("dimensions must be given, from 1 to 4096".to_owned())),
    };
    let max_tokens = max_tokens.unwrap_or(256);
    if !(8..=MAX_TOKENS).contains(&max_tokens) {
        return Err(wrong(format!("max_tokens must be from 8 to {MAX_TOKENS}")));
    }
    let sha256 = sha256.to_ascii_lowercase();
    if sha256.len() != 64 || !sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(wrong("sha256 must be given, the 64 hexadecimal digits of the SHA-256 of model.onnx".to_owned()));
    }
    Ok(Facts { id, role, dimensions, max_tokens, pooling, prefix, sha256, manifest: None })
}

/// The part of a `tokenizer.json` that decides how a text is cut.
#[derive(Deserialize)]
struct Tokenizer {
    model: WordPieceModel,
    normalizer: Option<Normalizer>,
}

#[derive(Deserialize)]
struct WordPieceModel {
    vocab: HashMap<String, usize>,
}

#[derive(Deserialize)]
struct Normalizer {
    lowercase: Option<bool>,
}

fn verify_vocabulary(file: &Path) -> Result<(), EmbedError> {
    let wrong = |detail: String| EmbedError::Vocabulary { file: file.to_path_buf(), detail };
    let text = fs::read(file).map_err(|error| EmbedError::io(file, error))?;
    let tokenizer: Tokenizer = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
    if tokenizer.normalizer.is_some_and(|normalizer| normalizer.lowercase == Some(false)) {
        return Err(wrong("it is case-sensitive".to_owned()));
    }
    let mut pieces: Vec<(usize, String)> = tokenizer.model.vocab.into_iter().map(|(piece, id)| (id, piece)).collect();
    pieces.sort_unstable();
    let mut hasher = Sha256::new();
    for (at, (id, piece)) in pieces.iter().enumerate() {
        if at != *id {
            return Err(wrong(format!("no piece has the id {at}")));
        }
        hasher.update(piece);
        hasher.update(b"\n");
    }
    if hex(&hasher.finalize()) == VOCABULARY_SHA256 {
        return Ok(());
    }
    Err(wrong(format!("its {} pieces are not the expected 30522", pieces.len())))
}
