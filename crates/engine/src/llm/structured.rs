//! Typed answers of language models: asks by schema, tool, JSON or prompt, and retries with the error.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::ask::{Accounts, Form, Prompt, Tier};
use super::error::LlmError;
use super::model::Model;
use super::wire::Wanted;

/// Further tries of a tier after an answer that has not the form.
pub const RETRIES: usize = 2;
/// Stop after this many tiers gave malformed answers.
const MOST_MISFORMED: usize = 2;
/// Brackets at which the JSON of an answer may begin that are tried.
const MOST_STARTS: usize = 32;
/// How many times as long the answer may be that is asked for after one that was cut off.
const MORE_ROOM: u32 = 2;
/// How often the input is halved whose answer was cut off, before it counts as one that cannot be answered.
pub const HALVINGS: u32 = 2;
/// Most characters of an error that the model is told.
const TOLD_CHARS: usize = 500;

/// An answer in a form.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered<T> {
    /// The answer.
    pub value: T,
    /// The tier that gave it.
    pub tier: Tier,
    /// True if it was cut off, and only its complete part was read.
    pub is_partial: bool,
    /// Answers before it that had not the form.
    pub retries: u32,
}

/// Returns the schema of an object with these properties and no others. Every one is required, as strict servers want it.
pub fn object(properties: Value) -> Value {
    let required: Vec<&String> = properties.as_object().into_iter().flat_map(|map| map.keys()).collect();
    json!({"type": "object", "additionalProperties": false, "required": required, "properties": properties})
}

/// Asks a model for an answer in a form.
///
/// # Errors
/// Those of [`Model::complete`]; [`LlmError::Form`]: no tier gave an answer of the form; [`LlmError::CutOff`]: the
/// answer was too long, also with more room.
pub fn ask<T: DeserializeOwned>(
    model: &Model,
    prompt: &Prompt,
    form: &Form,
    accounts: &dyn Accounts,
) -> Result<Answered<T>, LlmError> {
    ask_with_room(model, prompt, form, accounts, true)
}

/// Asks for a part of what [`ask`] had no whole answer to: without more room, which did not help before.
///
/// # Errors
/// As [`ask`].
pub fn ask_for_part<T: DeserializeOwned>(
    model: &Model,
    prompt: &Prompt,
    form: &Form,
    accounts: &dyn Accounts,
) -> Result<Answered<T>, LlmError> {
    ask_with_room(model, prompt, form, accounts, false)
}

/// Asks for an answer; `may_grow`: once more with room for a longer one, if it was cut off.
fn ask_with_room<T: DeserializeOwned>(
    model: &Model,
    prompt: &Prompt,
    form: &Form,
    accounts: &dyn Accounts,
    may_grow: bool,
) -> Result<Answered<T>, LlmError> {
    let mut last = LlmError::Form("no way to ask for it".to_owned());
    // Only where another tier answers was it the tier that the server refused.
    let mut refused: Vec<Tier> = Vec::new();
    let (mut misformed, mut retries) = (0, 0);
    // The same question with room for a longer answer, once an answer was cut off.
    let mut prompt = prompt.clone();
    let mut has_more_room = false;
    for tier in model.tiers(accounts) {
        let mut told: Option<String> = None;
        for _ in 0..=RETRIES {
            let asked = asked(&prompt, form, tier, told.as_deref());
            match model.complete(&asked, Some(Wanted { form, tier }), accounts) {
                Ok(reply) => match read(&reply.text) {
                    Ok((value, is_cut)) => {
                        refused.iter().for_each(|tier| accounts.learned(model.name(), *tier, false));
                        accounts.learned(model.name(), tier, true);
                        return Ok(Answered { value, tier, is_partial: is_cut || reply.is_cut, retries });
                    }
                    Err(reason) => {
                        if let Some(kept) = model.reject(&asked) {
                            return Err(LlmError::Rejected { reason, kept: kept.display().to_string() });
                        }
                        let is_empty = reply.text.trim().is_empty();
                        let reason = if reply.is_cut { cut_off(is_empty, prompt.max_tokens) } else { reason };
                        told = Some(reason.chars().take(TOLD_CHARS).collect());
                        last = if reply.is_cut { LlmError::CutOff(reason) } else { LlmError::Form(reason) };
                        if reply.is_cut && (has_more_room || !may_grow) {
                            return Err(last);
                        }
                        retries += 1;
                        if reply.is_cut {
                            // The same way would be cut off again.
                            (has_more_room, told) = (true, None);
                            prompt.max_tokens = prompt.max_tokens.saturating_mul(MORE_ROOM);
                        } else if is_empty {
                            // Whoever says nothing in this way may say something in another.
                            break;
                        }
                    }
                },
                // The server does not allow so long an answer.
                Err(LlmError::Status { status: 400 | 422, .. }) if has_more_room => return Err(last),
                // A server that does not know the tier says so with such a status, and so may one that dislikes the prompt.
                Err(error @ LlmError::Status { status: 400 | 422 | 501, .. }) if tier != Tier::Prompt => {
                    refused.push(tier);
                    last = error;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        misformed += usize::from(told.is_some());
        if misformed == MOST_MISFORMED {
            break;
        }
    }
    Err(last)
}

/// Says why an answer that was cut off cannot be used.
fn cut_off(is_empty: bool, most: u32) -> String {
    if is_empty {
        format!("it said nothing within {most} tokens: its reasoning took them")
    } else {
        format!("it was cut off after {most} tokens")
    }
}

/// Returns the prompt of a try.
fn asked(prompt: &Prompt, form: &Form, tier: Tier, told: Option<&str>) -> Prompt {
    let mut user = prompt.user.clone();
    match tier {
        Tier::Json | Tier::Prompt => {
            user.push_str(&format!(
                "\n\nAnswer with one JSON object and nothing else. It must satisfy this JSON Schema:\n{}",
                form.schema
            ));
        }
        Tier::Schema | Tier::Tool => {}
    }
    if let Some(told) = told {
        user.push_str(&format!(
            "\n\nYour last answer could not be used: {told}\nAnswer again, complete and in the form that is asked for."
        ));
    }
    Prompt { user, ..prompt.clone() }
}

/// Reads an answer as a type; also returns whether only a part of it was complete.
fn read<T: DeserializeOwned>(text: &str) -> Result<(T, bool), String> {
    let (value, is_partial) = json_in(text)?;
    let read = serde_json::from_value(value).map_err(|error| error.to_string())?;
    Ok((read, is_partial))
}

/// Returns the JSON that an answer holds: all of it; a fenced block; the first object or list; or, of one that was cut off,
/// what was complete, and then true.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn json_in(text: &str) -> Result<(Value, bool), String> {
    let text = text.trim().trim_start_matches('\u{feff}');
    let whole = match serde_json::from_str::<Value>(text) {
        Ok(value) if value.is_object() || value.is_array() => return Ok((value, false)),
        Ok(_) => "it is no object".to_owned(),
        Err(error) => error.to_string(),
    };
    if let Some(value) = fenced(text).and_then(|block| serde_json::from_str(block.trim()).ok()) {
        return Ok((value, false));
    }
    // The longest counts: thoughts before an answer may have small ones.
    let mut best: Option<(usize, Value)> = None;
    let mut from = 0;
    for _ in 0..MOST_STARTS {
        let Some(start) = text[from..].find(['{', '[']).map(|at| from + at) else { break };
        match end_of(&text[start..]) {
            Ends::At(length) => {
                if let Ok(value) = serde_json::from_str::<Value>(&text[start..start + length])
                    && (value.is_object() || value.as_array().is_some_and(|list| !list.is_empty()))
                {
                    if best.as_ref().is_none_or(|(known, _)| length > *known) {
                        best = Some((length, value));
                    }
                    from = start + length;
                    continue;
                }
            }
            Ends::CutOff(whole_until) => {
                let kept = whole_until.and_then(|kept| Some((kept.len(), serde_json::from_str(&kept).ok()?)));
                if let Some((length, value)) = kept
                    && best.as_ref().is_none_or(|(known, _)| length > *known)
                {
                    return Ok((value, true));
                }
            }
        }
        from = start + 1;
    }
    if let Some((_, value)) = best {
        return Ok((value, false));
    }
    Err(if text.is_empty() { "it is empty".to_owned() } else { format!("it is no JSON: {whole}") })
}

/// Returns what stands in the first fenced block.
fn fenced(text: &str) -> Option<&str> {
    let (_, after) = text.split_once("```")?;
    let after = after.split_once('\n').map_or(after, |(language, rest)| if language.trim().len() < 12 { rest } else { after });
    after.split_once("```").map(|(block, _)| block)
}

/// The end of a value.
enum Ends {
    /// After so many bytes.
    At(usize),
    /// It is cut off: its complete part, closed.
    CutOff(Option<String>),
}

/// Finds the end of the object or list with which a text begins.
fn end_of(text: &str) -> Ends {
    let (mut open, mut is_string, mut is_escaped): (Vec<char>, bool, bool) = (Vec::new(), false, false);
    // The last place at which a value within had ended, and what was open there.
    let mut kept: Option<(usize, Vec<char>)> = None;
    for (at, letter) in text.char_indices() {
        if is_string {
            match letter {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '"' => is_string = false,
                _ => {}
            }
            continue;
        }
        match letter {
            '"' => is_string = true,
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' => {
                if open.pop() != Some(letter) {
                    return Ends::CutOff(None);
                }
                if open.is_empty() {
                    return Ends::At(at + 1);
                }
                kept = Some((at + 1, open.clone()));
            }
            _ => {}
        }
    }
    Ends::CutOff(kept.map(|(end, open)| text[..end].chars().chain(open.into_iter().rev()).collect()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_found_in_whatever_stands_around_it() {
        let value = json!({"items": [{"a": 1}, {"b": "}]"}]});
        let written = value.to_string();
        for text in [
            written.clone(),
            format!("```json\n{written}\n```"),
            format!("Here it is:\n```\n{written}\n```\nThat is all."),
            format!("I found two [sic] things. {written} Anything else?"),
            format!("\u{feff}  {written}"),
            format!("<think>maybe {{\"line\": 3}}</think> {written}"),
        ] {
            assert_eq!(json_in(&text), Ok((value.clone(), false)), "{text}");
        }
    }

    #[test]
    fn what_was_complete_is_kept_of_an_answer_that_was_cut_off() {
        assert_eq!(json_in(r#"{"items": [{"a": 1}, {"a": 2}, {"a": "cut o"#), Ok((json!({"items": [{"a": 1}, {"a": 2}]}), true)));
        assert_eq!(json_in(r#"{"items": [{"a": [1, 2]"#), Ok((json!({"items": [{"a": [1, 2]}]}), true)));
        assert!(json_in(r#"{"items": ["#).is_err());
    }

    #[test]
    fn what_is_no_json_is_told() {
        for (text, told) in
            [("", "it is empty"), ("I cannot do that.", "it is no JSON"), ("42", "it is no object"), ("{]", "it is no JSON")]
        {
            let error = json_in(text).unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
    }

    #[test]
    fn no_text_makes_it_panic_or_slow() {
        for text in ["[".repeat(20_000), "{\"a\":".repeat(5_000), "\"\\".repeat(9_999), "é{".repeat(3_000)] {
            assert!(json_in(&text).is_err());
        }
    }
}
