//! Functions that the child answers itself over its texts, so that no text travels to the parent.

use std::collections::BTreeMap;
use std::time::Instant;

use monty_types::{ExcType, MontyException, MontyObject};

use crate::text::Text;

/// Names of the functions.
pub(crate) const NAMES: [&str; 4] = ["search", "lines", "chunk", "peek"];

/// The texts that the parent defined, in order.
#[derive(Default)]
pub(crate) struct Texts(Vec<(String, Text)>);

impl Texts {
    /// Adds a text in place of the one of the same name.
    pub(crate) fn insert(&mut self, name: &str, text: Text) {
        self.remove(name);
        self.0.push((name.to_owned(), text));
    }

    /// Removes a text, if there is one of this name.
    pub(crate) fn remove(&mut self, name: &str) {
        self.0.retain(|(other, _)| other != name);
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Text> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, text)| text)
    }

    /// Returns the text that a call without `text` means: `context`, or else the first.
    fn default(&self) -> Option<&Text> {
        self.get("context").or_else(|| self.0.first().map(|(_, text)| text))
    }
}

/// Answers a call; a search ends at `until`.
///
/// # Errors
/// The exception that the cell gets.
pub(crate) fn call(
    texts: &Texts,
    name: &str,
    args: Vec<MontyObject>,
    kwargs: Vec<(MontyObject, MontyObject)>,
    until: Instant,
) -> Result<MontyObject, MontyException> {
    let parameters: &[&str] = match name {
        "search" => &["pattern", "text", "most"],
        "lines" | "peek" => &["a", "b", "text"],
        _ => &["size", "overlap", "text"],
    };
    let mut given = Arguments::bind(name, parameters, args, kwargs)?;
    let own;
    let text = match given.take("text") {
        None | Some(MontyObject::None) => {
            texts.default().ok_or_else(|| wrong(name, "there is no text named `context`: pass one as `text`"))?
        }
        Some(MontyObject::String(text)) => match texts.get(&text) {
            Some(named) => named,
            None => {
                own = Text::new(text);
                &own
            }
        },
        Some(MontyObject::List(items) | MontyObject::Tuple(items)) => {
            own = Text::new(joined(name, &items)?);
            &own
        }
        Some(_) => return Err(wrong(name, "text must be a str, a list of str, or the name of a text")),
    };
    let string = |text: &str| Ok(MontyObject::String(text.to_owned()));
    match name {
        "search" => {
            let Some(MontyObject::String(pattern)) = given.take("pattern") else {
                return Err(wrong(name, "pattern must be a str"));
            };
            let most = usize::try_from(given.number("most", Some(50))?).unwrap_or(0);
            let found = text.search(&pattern, most, until).map_err(|error| exception(ExcType::ValueError, error))?;
            let pair = |(number, line): (usize, String)| {
                MontyObject::Tuple(vec![MontyObject::Int(i64::try_from(number).unwrap_or(i64::MAX)), MontyObject::String(line)])
            };
            Ok(MontyObject::List(found.into_iter().map(pair).collect()))
        }
        "lines" => string(text.lines(given.number("a", None)?, given.number("b", None)?)),
        "peek" => string(text.peek(given.number("a", None)?, given.number("b", None)?)),
        _ => {
            let chunks = text.chunk(given.number("size", None)?, given.number("overlap", Some(0))?);
            let chunks = chunks.map_err(|error| exception(ExcType::ValueError, error))?;
            Ok(MontyObject::List(chunks.into_iter().map(MontyObject::String).collect()))
        }
    }
}

/// Arguments by name.
struct Arguments<'a> {
    function: &'a str,
    values: BTreeMap<&'a str, MontyObject>,
}

impl<'a> Arguments<'a> {
    fn bind(
        function: &'a str,
        parameters: &[&'a str],
        args: Vec<MontyObject>,
        kwargs: Vec<(MontyObject, MontyObject)>,
    ) -> Result<Self, MontyException> {
        if args.len() > parameters.len() {
            return Err(wrong(function, &format!("takes at most {} arguments", parameters.len())));
        }
        let mut values: BTreeMap<&str, MontyObject> = parameters.iter().copied().zip(args).collect();
        for (key, value) in kwargs {
            let key = key.to_string();
            let Some(parameter) = parameters.iter().find(|parameter| **parameter == key) else {
                return Err(wrong(function, &format!("has no argument `{key}`; it has {}", parameters.join(", "))));
            };
            if values.insert(parameter, value).is_some() {
                return Err(wrong(function, &format!("got `{key}` twice")));
            }
        }
        Ok(Self { function, values })
    }

    fn take(&mut self, name: &str) -> Option<MontyObject> {
        self.values.remove(name)
    }

    fn number(&mut self, name: &str, default: Option<i64>) -> Result<i64, MontyException> {
        match (self.take(name), default) {
            (Some(MontyObject::Int(number)), _) | (None, Some(number)) => Ok(number),
            (None, None) => Err(wrong(self.function, &format!("needs `{name}`"))),
            (Some(_), _) => Err(wrong(self.function, &format!("`{name}` must be an int"))),
        }
    }
}

/// Joins the items of a list by line breaks.
fn joined(name: &str, items: &[MontyObject]) -> Result<String, MontyException> {
    let mut text = String::new();
    for item in items {
        let MontyObject::String(item) = item else {
            return Err(wrong(name, "text must be a list of str"));
        };
        text.push_str(item);
        text.push('\n');
    }
    Ok(text)
}

fn wrong(function: &str, what: &str) -> MontyException {
    exception(ExcType::TypeError, format!("{function}(): {what}"))
}

fn exception(kind: ExcType, text: String) -> MontyException {
    MontyException::new(kind, Some(text))
}
