//! Reads what an agent's program prints about its run: the answer, the tokens that it took, or why it failed.
//!
//! - Claude Code and Qwen Code: an object, or the last one of a list, with `"type": "result"`
//! - Codex: a line for each event
//! - Gemini CLI: an object with `response` and `stats`

use serde_json::Value;

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Printed {
    /// The answer, or the reason why there is none.
    pub outcome: Result<String, String>,
    /// Tokens of the prompt, with the program's own instructions, and of the answer; `None`: it does not say.
    pub usage: Option<(u64, u64)>,
}

impl Printed {
    /// Reads the output of a program; `None`: it is none of these forms, and so the answer itself.
    pub(super) fn read(output: &str) -> Option<Self> {
        match serde_json::from_str::<Value>(output) {
            Ok(Value::Array(parts)) => parts.last().and_then(result),
            Ok(whole) => result(&whole).or_else(|| response(&whole)).or_else(|| events(output)),
            Err(_) => events(output),
        }
    }
}

/// Sums the numbers of these names.
fn sum(of: &Value, names: &[&str]) -> u64 {
    names.iter().filter_map(|name| of[*name].as_u64()).sum()
}

fn usage(input: u64, output: u64) -> Option<(u64, u64)> {
    (input + output > 0).then_some((input, output))
}

fn result(whole: &Value) -> Option<Printed> {
    if whole["type"] != "result" {
        return None;
    }
    let text = whole["result"].as_str().or_else(|| whole["error"]["message"].as_str()).or_else(|| whole["subtype"].as_str())?;
    let is_error = whole["is_error"].as_bool().unwrap_or(false);
    let taken = &whole["usage"];
    let input = sum(taken, &["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"]);
    let outcome = if is_error { Err(text.to_owned()) } else { Ok(text.to_owned()) };
    Some(Printed { outcome, usage: usage(input, sum(taken, &["output_tokens"])) })
}

fn response(whole: &Value) -> Option<Printed> {
    if let Some(reason) = whole["error"]["message"].as_str() {
        return Some(Printed { outcome: Err(reason.to_owned()), usage: None });
    }
    let (text, models) = (whole["response"].as_str()?, whole["stats"]["models"].as_object()?);
    let taken = |names: &[&str]| models.values().map(|model| sum(&model["tokens"], names)).sum();
    Some(Printed { outcome: Ok(text.to_owned()), usage: usage(taken(&["prompt"]), taken(&["candidates", "thoughts"])) })
}

fn events(output: &str) -> Option<Printed> {
    let events: Vec<Value> = output.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let of_kind = |kind: &str| events.iter().rfind(|event| event["type"] == kind);
    let failure = of_kind("turn.failed").map(|event| &event["error"]["message"]);
    let failure = failure.or_else(|| of_kind("error").map(|event| &event["message"])).and_then(Value::as_str);
    let Some(taken) = of_kind("turn.completed").map(|event| &event["usage"]) else {
        return failure.map(|reason| Printed { outcome: Err(reason.to_owned()), usage: None });
    };
    let is_message = |event: &&Value| event["type"] == "item.completed" && event["item"]["type"] == "agent_message";
    let text = events.iter().rfind(is_message).and_then(|event| event["item"]["text"].as_str()).unwrap_or_default();
    Some(Printed { outcome: Ok(text.to_owned()), usage: usage(sum(taken, &["input_tokens"]), sum(taken, &["output_tokens"])) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer or the program's error, and the tokens of prompt and answer.
    type Read = (Result<String, String>, Option<(u64, u64)>);

    fn read(output: &str) -> Option<Read> {
        Printed::read(output).map(|printed| (printed.outcome, printed.usage))
    }

    #[test]
    fn answers_and_tokens_are_read_in_each_programs_form() {
        let claude = r#"{"type":"result","subtype":"success","is_error":false,"result":"four","total_cost_usd":0.001,
            "usage":{"input_tokens":10,"cache_creation_input_tokens":200,"cache_read_input_tokens":3000,"output_tokens":5}}"#;
        assert_eq!(read(claude), Some((Ok("four".to_owned()), Some((3_210, 5)))));
        let refused = r#"{"type":"result","subtype":"success","is_error":true,"result":"Invalid API key · Please run /login"}"#;
        assert_eq!(read(refused), Some((Err("Invalid API key · Please run /login".to_owned()), None)));
        let qwen = r#"[{"type":"system"},{"type":"result","is_error":false,"result":"four","usage":{"input_tokens":9,"output_tokens":1}}]"#;
        assert_eq!(read(qwen), Some((Ok("four".to_owned()), Some((9, 1)))));
        let codex = concat!(
            r#"{"type":"thread.started","thread_id":"x"}"#,
            "\n",
            r#"{"type":"item.completed","item":{"id":"0","type":"reasoning","text":"hm"}}"#,
            "\n",
            r#"{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"four"}}"#,
            "\n",
            r#"{"type":"turn.completed","usage":{"input_tokens":900,"cached_input_tokens":800,"output_tokens":7}}"#
        );
        assert_eq!(read(codex), Some((Ok("four".to_owned()), Some((900, 7)))));
        let failed = r#"{"type":"turn.failed","error":{"message":"usage limit reached"}}"#;
        assert_eq!(read(failed), Some((Err("usage limit reached".to_owned()), None)));
        let gemini = r#"{"response":"four","stats":{"models":{"flash":{"tokens":{"prompt":70,"candidates":2,"thoughts":3,"cached":60}}}}}"#;
        assert_eq!(read(gemini), Some((Ok("four".to_owned()), Some((70, 5)))));
    }

    #[test]
    fn anything_else_is_the_answer_itself() {
        for answer in [
            "four",
            "",
            r#"{"items": [], "relations": []}"#,
            "[1, 2]",
            "{\"type\": \"decision\"}\nand more",
            "Here:\n```json\n{}\n```",
        ] {
            assert_eq!(read(answer), None, "{answer}");
        }
    }
}
