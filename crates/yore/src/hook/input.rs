//! Reads an agent's input from standard input, with a limit and a deadline. Capture takes only ids and paths from it; everything
//! else, including the text of the session, is skipped without being stored.

use std::fmt;
use std::io::{self, IsTerminal, Read};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use crate::agents::{self, AgentProfile, Field, Holds};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Most bytes examined; agents put the fields about the session at the beginning.
const LONGEST_INPUT: usize = 1 << 20;
/// Longest time that an agent may take to write it.
const PATIENCE: Duration = Duration::from_millis(1_000);
const CHUNK: usize = 64 << 10;

/// The fields about the session.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Input {
    /// The session's native id.
    pub session: Option<String>,
    /// The file that the session is written to.
    pub transcript: Option<String>,
    /// The directory that the agent works in.
    pub directory: Option<String>,
    /// The event's name.
    pub event: Option<String>,
    /// Id of the side conversation that the event comes from, if any; it does not see the session's injected
    /// text.
    pub agent_id: Option<String>,
    /// The agent that one of the fields identifies, by its name in the store.
    pub speaker: Option<&'static str>,
    /// True if the input says that there is no transcript.
    pub has_no_transcript: bool,
}

impl Input {
    /// Reads standard input until one JSON value is complete, the input ends, or time is up. `None` if
    /// standard input is a terminal. Also returns the bytes, because the answer may depend on them.
    pub(super) fn read() -> Option<(Self, Vec<u8>)> {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            return None;
        }
        let (send, receive) = sync_channel::<Vec<u8>>(1);
        // A thread, because a blocking read cannot be cancelled; it ends with the process.
        std::thread::Builder::new()
            .spawn(move || {
                let mut stdin = stdin.lock();
                let mut chunk = vec![0; CHUNK];
                while let Ok(count @ 1..) = stdin.read(&mut chunk) {
                    if send.send(chunk[..count].to_vec()).is_err() {
                        break;
                    }
                }
            })
            .ok()?;
        let until = Instant::now() + PATIENCE;
        let mut said = Vec::new();
        while said.len() < LONGEST_INPUT {
            match receive.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(chunk) => said.extend(chunk),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
            // Some agents leave the stream open.
            if said.trim_ascii_end().ends_with(b"}") && serde_json::from_slice::<IgnoredAny>(&said).is_ok() {
                break;
            }
        }
        said.truncate(LONGEST_INPUT);
        Some((Self::parse(&said), said))
    }

    /// Extracts the known fields from JSON; from input that is cut off or damaged, the fields before the
    /// fault.
    pub(super) fn parse(said: &[u8]) -> Self {
        let mut fields = Fields::default();
        let mut json = serde_json::Deserializer::from_slice(said.strip_prefix(b"\xef\xbb\xbf").unwrap_or(said));
        // Fields before a fault are still valid.
        let _ = fields.deserialize(&mut json);
        let Fields {
            session,
            root_session,
            conversation,
            transcript,
            own_transcript,
            directory,
            roots,
            event,
            agent_id,
            parent_agent,
            speaker,
            version: _,
            has_no_transcript,
        } = fields;
        // Some agents give their main agent an id, too; and some name a side conversation by its own id
        // alone.
        let (agent_id, session) = match parent_agent {
            Some(None) => (None, session),
            Some(parent @ Some(_)) if agent_id.is_some() && session == agent_id => (agent_id, parent),
            _ => (agent_id, session),
        };
        Self {
            session: root_session.or(session).or(conversation),
            // The event that ends a side conversation names both transcripts.
            transcript: own_transcript.or(transcript),
            directory: directory.or(roots),
            event,
            agent_id,
            speaker,
            has_no_transcript,
        }
    }
}

#[derive(Default)]
struct Fields {
    session: Option<String>,
    root_session: Option<String>,
    conversation: Option<String>,
    transcript: Option<String>,
    own_transcript: Option<String>,
    directory: Option<String>,
    roots: Option<String>,
    event: Option<String>,
    agent_id: Option<String>,
    parent_agent: Option<Option<String>>,
    speaker: Option<&'static str>,
    version: Option<String>,
    has_no_transcript: bool,
}

impl<'de> DeserializeSeed<'de> for &mut Fields {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Fields {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Key(found)) = map.next_key_seed(KeySeed)? {
            let Some((agent, field)) = found else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let place = match field.holds {
                Holds::Session => &mut self.session,
                Holds::Conversation => &mut self.conversation,
                Holds::Transcript => {
                    let Text(path) = map.next_value_seed(TextSeed)?;
                    self.has_no_transcript |= path.as_deref() == Some("");
                    self.transcript = path.filter(|path| !path.is_empty()).or(self.transcript.take());
                    continue;
                }
                Holds::OwnTranscript => &mut self.own_transcript,
                Holds::Directory => &mut self.directory,
                Holds::Roots => &mut self.roots,
                Holds::Event => &mut self.event,
                Holds::AgentId => &mut self.agent_id,
                Holds::ParentAgent => {
                    let Text(parent) = map.next_value_seed(TextSeed)?;
                    self.parent_agent = Some(parent.filter(|parent| !parent.is_empty()));
                    continue;
                }
                Holds::SessionContext => {
                    let Text(root) = map.next_value_seed(MemberSeed("rootSessionId"))?;
                    self.root_session = root.filter(|root| !root.is_empty()).or(self.root_session.take());
                    continue;
                }
                Holds::Version => &mut self.version,
            };
            let Text(text) = map.next_value_seed(TextSeed)?;
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                *place = Some(text);
                if field.identifies_agent {
                    self.speaker = self.speaker.or(Some(agent.source));
                }
            }
        }
        Ok(())
    }
}

/// A field that some agent has; `None` for all others.
struct Key(Option<(&'static AgentProfile, &'static Field)>);
struct KeySeed;

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeySeed {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Key, E> {
        Ok(Key(agents::field(name)))
    }
}

/// A string, or the first string of a list; `None` for anything else.
struct Text(Option<String>);
struct TextSeed;

impl<'de> DeserializeSeed<'de> for TextSeed {
    type Value = Text;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Text, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TextSeed {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E>(self, text: &str) -> Result<Text, E> {
        Ok(Text(Some(text.to_owned())))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_unit<E>(self) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Text, A::Error> {
        let mut first = None;
        while let Some(Text(text)) = items.next_element_seed(Self)? {
            first = first.or(text);
        }
        Ok(Text(first))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Text(None))
    }
}

/// Reads a string member of an object; `None` for anything else.
struct MemberSeed(&'static str);

impl<'de> DeserializeSeed<'de> for MemberSeed {
    type Value = Text;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Text, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Ok(Text(value[self.0].as_str().map(str::to_owned)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_fields_are_taken_and_all_others_ignored() {
        let input = Input::parse(
            br#"{"future":{"session_id":"not this"},"session_id":"s","transcript_path":"/t","cwd":"/c","tool_input":[{"cwd":"/x"}],"hook_event_name":"Stop"}"#,
        );
        assert_eq!(
            input,
            Input {
                session: Some("s".into()),
                transcript: Some("/t".into()),
                directory: Some("/c".into()),
                event: Some("Stop".into()),
                ..Input::default()
            }
        );
    }

    #[test]
    fn wrong_types_count_as_missing() {
        let input = Input::parse(
            br#"{"session_id":7,"transcript_path":null,"cwd":{"a":1},"workspace_roots":[1,"/r","/s"],"conversation_id":true}"#,
        );
        assert_eq!(input, Input { directory: Some("/r".into()), ..Input::default() });
    }

    #[test]
    fn what_stands_before_the_cut_is_taken() {
        let whole = format!(r#"{{"session_id":"s","cwd":"/c","tool_response":"{}"}}"#, "x".repeat(100_000));
        let input = Input::parse(&whole.as_bytes()[..50_000]);
        assert_eq!((input.session.as_deref(), input.directory.as_deref()), (Some("s"), Some("/c")));
    }

    #[test]
    fn side_conversation_has_a_transcript_of_its_own() {
        let input =
            Input::parse(br#"{"session_id":"s","agent_transcript_path":"/t/agent-1.jsonl","transcript_path":"/t/s.jsonl"}"#);
        assert_eq!(input.transcript.as_deref(), Some("/t/agent-1.jsonl"));
        let input = Input::parse(br#"{"session_id":"s","agent_id":"a1","agent_type":"Explore"}"#);
        assert_eq!((input.session.as_deref(), input.agent_id.as_deref()), (Some("s"), Some("a1")));
    }

    #[test]
    fn helper_is_told_from_the_agent_that_leads() {
        let of = |said: &str| {
            let input = Input::parse(said.as_bytes());
            (input.session, input.agent_id)
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            of(r#"{"taskId":"conv_1","sessionContext":{"rootSessionId":"1_a"},"agent_id":"agent_1","parent_agent_id":null}"#),
            (some("1_a"), None)
        );
        assert_eq!(
            of(
                r#"{"taskId":"conv_2","sessionContext":{"rootSessionId":"1_a"},"agent_id":"agent_2","parent_agent_id":"agent_1"}"#
            ),
            (some("1_a"), some("agent_2"))
        );
        assert_eq!(of(r#"{"sessionId":"a1","agentId":"a1","parentAgentId":"s1"}"#), (some("s1"), some("a1")));
        assert_eq!(of(r#"{"session_id":"s","sessionContext":7}"#), (some("s"), None));
    }

    #[test]
    fn deep_nesting_is_survived() {
        let deep = format!(r#"{{"session_id":"s","cwd":{}"#, "[".repeat(500_000));
        assert_eq!(Input::parse(deep.as_bytes()).session.as_deref(), Some("s"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = Input::parse(&bytes);
        }

        #[test]
        fn any_cut_is_survived(at in 0usize..160) {
            let whole = br#"{"session_id":"s\u00e9\n","transcript_path":"/t","workspace_roots":["/r",{"a":[1,2]}],"cursor_version":"3","cwd":null,"x":[[[{"y":1e9}]]]}"#;
            let _ = Input::parse(&whole[..at.min(whole.len())]);
        }
    }
}
