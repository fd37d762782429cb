//! Reads requests and answers of each protocol, and adds text to a request without touching its other bytes.

use crate::{Addition, Answer, Conversation, Protocol};

/// Returns the protocol of a request by its method and the path below the upstream's address; `None` for anything else that
/// servers offer.
pub fn protocol_of(method: &str, path: &str) -> Option<Protocol> {
    let _ = (method, path);
    None
}

/// Reads the request of a conversation; `None` if the body is not one. `path` is the path below the upstream's address.
pub fn read_request(protocol: Protocol, path: &str, body: &[u8]) -> Option<Conversation> {
    let _ = (protocol, path, body);
    None
}

/// Returns the body with these texts added, and every other byte as it was; `None` if one of them has no place.
pub fn add(protocol: Protocol, body: &[u8], additions: &[Addition]) -> Option<Vec<u8>> {
    let _ = (protocol, body, additions);
    None
}

/// Reads an answer, whole or streamed, from its decoded body; `None` if it holds none, as an error does.
pub fn read_answer(protocol: Protocol, content_type: &str, body: &[u8]) -> Option<Answer> {
    let _ = (protocol, content_type, body);
    None
}
