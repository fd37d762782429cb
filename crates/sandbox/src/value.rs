//! Values between the interpreter and JSON.

use monty_types::MontyObject;
use serde_json::{Map, Number, Value};

/// Deepest nesting that is carried; what lies deeper becomes its text.
const DEPTH: usize = 64;

/// Turns a value of the interpreter into JSON. Tuples and sets become arrays; keys become strings; whatever JSON
/// does not know becomes the text that Python would print.
pub(crate) fn to_json(object: MontyObject) -> Value {
    json(object, DEPTH)
}

fn json(object: MontyObject, depth: usize) -> Value {
    if depth == 0 {
        return Value::String(object.to_string());
    }
    let all = |items: Vec<MontyObject>| Value::Array(items.into_iter().map(|item| json(item, depth - 1)).collect());
    match object {
        MontyObject::None => Value::Null,
        MontyObject::Bool(is) => Value::Bool(is),
        MontyObject::Int(number) => Value::from(number),
        MontyObject::Float(number) => Number::from_f64(number).map_or_else(|| Value::String(number.to_string()), Value::Number),
        MontyObject::String(text) | MontyObject::Path(text) | MontyObject::Repr(text) => Value::String(text),
        MontyObject::List(items)
        | MontyObject::Tuple(items)
        | MontyObject::Set(items)
        | MontyObject::FrozenSet(items)
        | MontyObject::NamedTuple { values: items, .. } => all(items),
        MontyObject::Dict(pairs) => {
            Value::Object(pairs.into_iter().map(|(key, value)| (key.to_string(), json(value, depth - 1))).collect())
        }
        MontyObject::ClassInstance(instance) => {
            let mut fields = Map::new();
            for (key, value) in instance.attrs {
                fields.insert(key.to_string(), json(value, depth - 1));
            }
            Value::Object(fields)
        }
        other => Value::String(other.to_string()),
    }
}

/// Turns JSON into a value of the interpreter.
pub(crate) fn from_json(value: Value) -> MontyObject {
    match value {
        Value::Null => MontyObject::None,
        Value::Bool(is) => MontyObject::Bool(is),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => MontyObject::Int(number),
            (None, Some(number)) => MontyObject::BigInt(number.into()),
            (None, None) => MontyObject::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => MontyObject::String(text),
        Value::Array(items) => MontyObject::List(items.into_iter().map(from_json).collect()),
        Value::Object(fields) => MontyObject::dict(
            fields.into_iter().map(|(key, value)| (MontyObject::String(key), from_json(value))).collect::<Vec<_>>(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_survives_the_way_there_and_back() {
        let value = json!({"a": [1, -2, 2.5, true, null, "é"], "big": u64::MAX, "empty": {}});
        let mut back = to_json(from_json(value.clone()));
        assert_eq!(back["big"], json!(u64::MAX.to_string()), "integers beyond 64 bits are text in JSON");
        back["big"] = json!(u64::MAX);
        assert_eq!(back, value);
    }

    #[test]
    fn deep_nesting_becomes_text_instead_of_an_overflow() {
        let mut object = MontyObject::Int(1);
        for _ in 0..200 {
            object = MontyObject::List(vec![object]);
        }
        assert!(to_json(object).to_string().contains("[[[["));
    }
}
