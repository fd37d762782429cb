//! The table of model servers by name: address, protocol, key variable, tiers of structured output. Each is a row: what tells it
//! from another is data.

use super::ask::Tier;
use super::wire::{Additions, Protocol, RelevanceProtocol, VectorProtocol};

/// A kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    /// Name in the configuration.
    pub name: &'static str,
    /// Its protocol.
    pub protocol: Protocol,
    /// Its address, without the path of a call. Empty: the configuration must give it.
    pub address: &'static str,
    /// Environment variable of its key; none: it needs no key.
    pub key_variable: Option<&'static str>,
    /// The tiers that it has, in the order in which they are tried.
    pub tiers: &'static [Tier],
}

const ALL: &[Tier] = &[Tier::Schema, Tier::Tool, Tier::Json, Tier::Prompt];
const SCHEMA_OR_TOOL: &[Tier] = &[Tier::Schema, Tier::Tool, Tier::Prompt];
const JSON: &[Tier] = &[Tier::Json, Tier::Tool, Tier::Prompt];

const fn chat(name: &'static str, address: &'static str, key_variable: &'static str, tiers: &'static [Tier]) -> Server {
    Server { name, protocol: Protocol::OpenAiChat, address, key_variable: Some(key_variable), tiers }
}

const fn local(name: &'static str, protocol: Protocol, address: &'static str) -> Server {
    Server { name, protocol, address, key_variable: None, tiers: ALL }
}

/// The servers that are known.
pub const SERVERS: &[Server] = &[
    Server {
        name: "anthropic",
        protocol: Protocol::Anthropic,
        address: "https://api.anthropic.com",
        key_variable: Some("ANTHROPIC_API_KEY"),
        tiers: SCHEMA_OR_TOOL,
    },
    Server {
        name: "openai",
        protocol: Protocol::OpenAiResponses,
        address: "https://api.openai.com/v1",
        key_variable: Some("OPENAI_API_KEY"),
        tiers: ALL,
    },
    Server {
        name: "gemini",
        protocol: Protocol::Gemini,
        address: "https://generativelanguage.googleapis.com",
        key_variable: Some("GEMINI_API_KEY"),
        tiers: &[Tier::Schema, Tier::Json, Tier::Tool, Tier::Prompt],
    },
    local("ollama", Protocol::Ollama, "http://127.0.0.1:11434"),
    local("lm-studio", Protocol::OpenAiChat, "http://127.0.0.1:1234/v1"),
    local("llama-cpp", Protocol::OpenAiChat, "http://127.0.0.1:8080/v1"),
    local("vllm", Protocol::OpenAiChat, "http://127.0.0.1:8000/v1"),
    chat("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", ALL),
    chat("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", ALL),
    chat("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", ALL),
    chat("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", JSON),
    chat("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY", ALL),
    chat("xai", "https://api.x.ai/v1", "XAI_API_KEY", ALL),
    // Any other server that speaks this protocol.
    Server {
        name: "openai-compatible",
        protocol: Protocol::OpenAiChat,
        address: "",
        key_variable: Some("OPENAI_COMPATIBLE_API_KEY"),
        tiers: ALL,
    },
];

/// A server that converts texts to vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorServer {
    /// Name in the configuration.
    pub name: &'static str,
    /// Its protocol.
    pub protocol: VectorProtocol,
    /// Its address. Empty: the configuration must give it.
    pub address: &'static str,
    /// Environment variable of its key; none: it needs no key.
    pub key_variable: Option<&'static str>,
    /// Most texts of a call.
    pub most_texts: usize,
}

const fn like_openai(
    name: &'static str,
    address: &'static str,
    key_variable: Option<&'static str>,
    dimensions: Option<&'static str>,
) -> VectorServer {
    let protocol = VectorProtocol::OpenAi(Additions { dimensions, purpose: None });
    VectorServer { name, protocol, address, key_variable, most_texts: 100 }
}

const VOYAGE: &str = "https://api.voyageai.com/v1";
const JINA: &str = "https://api.jina.ai/v1";
const COHERE: &str = "https://api.cohere.com";

/// The servers that convert texts to vectors.
pub const VECTOR_SERVERS: &[VectorServer] = &[
    like_openai("openai", "https://api.openai.com/v1", Some("OPENAI_API_KEY"), Some("dimensions")),
    VectorServer {
        name: "gemini",
        protocol: VectorProtocol::Gemini,
        address: "https://generativelanguage.googleapis.com",
        key_variable: Some("GEMINI_API_KEY"),
        most_texts: 100,
    },
    VectorServer {
        name: "cohere",
        protocol: VectorProtocol::Cohere,
        address: COHERE,
        key_variable: Some("COHERE_API_KEY"),
        most_texts: 96,
    },
    VectorServer {
        name: "voyage",
        protocol: VectorProtocol::OpenAi(Additions {
            dimensions: Some("output_dimension"),
            purpose: Some(("input_type", ["document", "query"])),
        }),
        address: VOYAGE,
        key_variable: Some("VOYAGE_API_KEY"),
        most_texts: 100,
    },
    VectorServer {
        name: "jina",
        protocol: VectorProtocol::OpenAi(Additions {
            dimensions: Some("dimensions"),
            purpose: Some(("task", ["retrieval.passage", "retrieval.query"])),
        }),
        address: JINA,
        key_variable: Some("JINA_API_KEY"),
        most_texts: 100,
    },
    like_openai("mistral", "https://api.mistral.ai/v1", Some("MISTRAL_API_KEY"), Some("output_dimension")),
    VectorServer {
        name: "ollama",
        protocol: VectorProtocol::Ollama,
        address: "http://127.0.0.1:11434",
        key_variable: None,
        most_texts: 100,
    },
    like_openai("lm-studio", "http://127.0.0.1:1234/v1", None, None),
    like_openai("llama-cpp", "http://127.0.0.1:8080/v1", None, None),
    like_openai("vllm", "http://127.0.0.1:8000/v1", None, Some("dimensions")),
    like_openai("openai-compatible", "", Some("OPENAI_COMPATIBLE_API_KEY"), Some("dimensions")),
];

/// A server that tells how relevant passages are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelevanceServer {
    /// Name in the configuration.
    pub name: &'static str,
    /// Its protocol.
    pub protocol: RelevanceProtocol,
    /// Its address. Empty: the configuration must give it.
    pub address: &'static str,
    /// Environment variable of its key; none: it needs no key.
    pub key_variable: Option<&'static str>,
}

const fn relevance(
    name: &'static str,
    protocol: RelevanceProtocol,
    address: &'static str,
    key_variable: Option<&'static str>,
) -> RelevanceServer {
    RelevanceServer { name, protocol, address, key_variable }
}

/// The servers that tell how relevant passages are.
pub const RELEVANCE_SERVERS: &[RelevanceServer] = &[
    relevance("cohere", RelevanceProtocol::Cohere, COHERE, Some("COHERE_API_KEY")),
    relevance("voyage", RelevanceProtocol::Voyage, VOYAGE, Some("VOYAGE_API_KEY")),
    relevance("jina", RelevanceProtocol::Jina, JINA, Some("JINA_API_KEY")),
    relevance("llama-cpp", RelevanceProtocol::Jina, "http://127.0.0.1:8080/v1", None),
    relevance("vllm", RelevanceProtocol::Jina, "http://127.0.0.1:8000/v1", None),
    relevance("jina-compatible", RelevanceProtocol::Jina, "", Some("JINA_COMPATIBLE_API_KEY")),
];

impl Server {
    /// Returns the server of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        SERVERS.iter().find(|server| server.name == name)
    }
}

impl VectorServer {
    /// Returns the server of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        VECTOR_SERVERS.iter().find(|server| server.name == name)
    }
}

impl RelevanceServer {
    /// Returns the server of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        RELEVANCE_SERVERS.iter().find(|server| server.name == name)
    }
}
