//! Servers by name. Each is a row: what tells it from another is data.

use super::ask::Tier;
use super::wire::Protocol;

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
    /// The tiers that it has, in the order in which they are tried (S5-067, C-111).
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

impl Server {
    /// Returns the server of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        SERVERS.iter().find(|server| server.name == name)
    }
}
