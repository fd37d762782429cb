//! Tests of reading and of adding over requests and answers in the shape that clients and servers send.

mod additions;
mod answers;
mod growth;
mod hostile;
mod requests;

use crate::{Addition, Conversation, Part, Place, Protocol};

/// A protocol, the path of its requests, a request of a client and the stream of an answer.
pub(super) struct Fixture {
    protocol: Protocol,
    path: &'static str,
    request: &'static str,
    answer: &'static str,
}

macro_rules! fixture {
    ($protocol:ident, $path:literal, $request:literal, $answer:literal) => {
        Fixture {
            protocol: Protocol::$protocol,
            path: $path,
            request: include_str!(concat!("../../../tests/fixtures/", $request)),
            answer: include_str!(concat!("../../../tests/fixtures/", $answer)),
        }
    };
}

const ANTHROPIC: Fixture = fixture!(Anthropic, "/v1/messages?beta=true", "anthropic.request.json", "anthropic.answer.sse");
const CHAT: Fixture = fixture!(OpenAiChat, "/v1/chat/completions", "chat.request.json", "chat.answer.sse");
const RESPONSES: Fixture = fixture!(OpenAiResponses, "/v1/responses", "responses.request.json", "responses.answer.sse");
const GEMINI: Fixture =
    fixture!(Gemini, "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", "gemini.request.json", "gemini.answer.sse");
const OLLAMA: Fixture = fixture!(Ollama, "/api/chat", "ollama.request.json", "ollama.answer.ndjson");

const ALL: [Fixture; 5] = [ANTHROPIC, CHAT, RESPONSES, GEMINI, OLLAMA];

impl Fixture {
    fn read(&self) -> Conversation {
        self.read_of(self.request.as_bytes())
    }

    fn read_of(&self, body: &[u8]) -> Conversation {
        super::read_request(self.protocol, self.path, body).expect("a request")
    }
}

fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

fn reasoning(text: &str) -> Part {
    Part::Reasoning(text.to_owned())
}

fn other(kind: &str) -> Part {
    Part::Other(kind.to_owned())
}

fn call(id: Option<&str>, name: &str, input: serde_json::Value) -> Part {
    Part::Call { id: id.map(str::to_owned), name: name.to_owned(), input }
}

fn outcome(id: Option<&str>, name: Option<&str>, text: &str, is_error: bool) -> Part {
    Part::Outcome { id: id.map(str::to_owned), name: name.map(str::to_owned), text: text.to_owned(), is_error }
}

fn to_system(text: &str) -> Addition {
    Addition { place: Place::System, text: text.to_owned() }
}

fn to_message(index: usize, text: &str) -> Addition {
    Addition { place: Place::Message(index), text: text.to_owned() }
}

/// Returns the bytes that an addition put into a body, before and after one piece of it at most; `None` if any other byte changed.
fn inserted(body: &[u8], result: &[u8]) -> Option<Vec<u8>> {
    let front = body.iter().zip(result).take_while(|(old, new)| old == new).count();
    let (body, result) = (&body[front..], &result[front..]);
    let back = body.iter().rev().zip(result.iter().rev()).take_while(|(old, new)| old == new).count();
    let (kept, result) = (&body[..body.len() - back], &result[..result.len() - back]);
    if kept.is_empty() {
        return Some(result.to_vec());
    }
    let at = result.windows(kept.len()).position(|window| window == kept)?;
    Some([&result[..at], &result[at + kept.len()..]].concat())
}
