//! Configuration values that name models, purposes and prices.

use yore_engine::llm::{Program, RelevanceServer, Server, VectorServer};

/// Provider whose model is the program of `llm.command`.
pub const COMMAND: &str = "command";
/// Provider whose model is somebody who answers in a folder.
pub const FOLDER: &str = "folder";
/// Provider that is nobody.
pub const NONE: &str = "none";
/// The purposes for which a model is called.
pub const PURPOSES: [&str; 4] = ["extract", "summarise", "judge", "ask"];
/// Stands for every purpose, and for every model whose name goes on.
const ANY: &str = "*";

/// The names that a text, or each item of a list, must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Names {
    /// Who answers, or nothing.
    Provider,
    /// A folder, or a server that converts texts to vectors, with its model.
    Embedder,
    /// A folder, or a server that tells how relevant passages are, with its model.
    Reranker,
    /// Who answers for a purpose: see [`ModelUse`].
    Use,
    /// The price of a model: see [`ModelPrice`].
    Price,
    /// The rate at which a tag or kind fades: see [`FadeRate`].
    FadeRate,
}

impl Names {
    /// Checks a text; the error says what is wrong with it.
    pub(super) fn check(self, text: &str) -> Result<(), String> {
        match self {
            Self::Provider => provider(text),
            Self::Embedder => folder_or(text, &|server| VectorServer::named(server).is_some()),
            Self::Reranker => folder_or(text, &|server| RelevanceServer::named(server).is_some()),
            Self::Use => ModelUse::parse(text).map(drop),
            Self::Price => ModelPrice::parse(text).map(drop),
            Self::FadeRate => FadeRate::parse(text).map(drop),
        }
    }

    /// Describes the expected texts.
    pub(super) fn expected(self) -> &'static str {
        match self {
            Self::Provider => "a provider that `yore models providers` lists",
            Self::Embedder | Self::Reranker => "the name of a folder, or PROVIDER/MODEL",
            Self::Use => "PURPOSE=PROVIDER/MODEL or PURPOSE@PROJECT=PROVIDER/MODEL",
            Self::Price => "PROVIDER/MODEL=INPUT/OUTPUT",
            Self::FadeRate => "NAME=RATE",
        }
    }

    /// Returns a text that fits.
    #[cfg(test)]
    pub(super) fn example(self) -> &'static str {
        match self {
            Self::Provider => "ollama",
            Self::Embedder => "ollama/m-1",
            Self::Reranker => "cohere/m-1",
            Self::Use => "extract@quay=none",
            Self::Price => "openai/*=1/2.5",
            Self::FadeRate => "preference=0.1",
        }
    }
}

/// The rate at which memories of a tag or kind fade, written `NAME=RATE`.
#[derive(Clone, Debug, PartialEq)]
pub struct FadeRate {
    /// Name of the tag or kind.
    pub name: String,
    /// The rate: 1 for facts, 0 for what never fades.
    pub rate: f64,
}

impl FadeRate {
    /// Reads one; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, rate) = text.split_once('=').ok_or_else(|| format!("{text:?} has no \"=\""))?;
        let rate = rate.trim().parse::<f64>().ok().filter(|rate| (0.0..=1_000.0).contains(rate));
        let rate = rate.ok_or_else(|| format!("the rate of {text:?} is no number from 0 to 1000"))?;
        match name.trim() {
            "" => Err(format!("{text:?} names no tag or kind")),
            name => Ok(Self { name: name.to_owned(), rate }),
        }
    }
}

fn provider(name: &str) -> Result<(), String> {
    let is_known = Server::named(name).is_some() || Program::named(name).is_some();
    match is_known || [COMMAND, FOLDER, ""].contains(&name) {
        true => Ok(()),
        false => Err(format!("there is no provider {name:?}; `yore models providers` lists them")),
    }
}

fn folder_or(text: &str, is_server: &dyn Fn(&str) -> bool) -> Result<(), String> {
    match text.split_once('/') {
        None => Ok(()),
        Some((server, model)) if is_server(server) && !model.is_empty() => Ok(()),
        Some((server, _)) => {
            Err(format!("{server:?} is no server for this, or it lacks a model; `yore models providers` lists them"))
        }
    }
}

/// Who answers for a purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelUse {
    /// The purpose; none: every purpose.
    pub purpose: Option<String>,
    /// The project; none: every project.
    pub project: Option<String>,
    /// The provider, or [`NONE`].
    pub provider: String,
    /// The model; may be empty where the provider has a default.
    pub model: String,
}

impl ModelUse {
    /// Reads `PURPOSE[@PROJECT]=PROVIDER[/MODEL]`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (what, who) = text.split_once('=').ok_or_else(|| format!("{text:?} has no `=`"))?;
        let (purpose, project) = what.split_once('@').map_or((what, None), |(purpose, project)| (purpose, Some(project.trim())));
        let (purpose, (name, model)) = (purpose.trim(), who.split_once('/').unwrap_or((who, "")));
        if purpose != ANY && !PURPOSES.contains(&purpose) {
            return Err(format!("there is no purpose {purpose:?}, only {} and {ANY}", PURPOSES.join(", ")));
        }
        if project.is_some_and(str::is_empty) {
            return Err(format!("{text:?} names no project after `@`"));
        }
        let name = name.trim();
        if name.is_empty() {
            return Err(format!("{text:?} names nobody; `none` is nobody"));
        }
        if name != NONE {
            provider(name)?;
        }
        Ok(Self {
            purpose: (purpose != ANY).then(|| purpose.to_owned()),
            project: project.map(str::to_owned),
            provider: name.to_owned(),
            model: model.trim().to_owned(),
        })
    }

    /// Returns the number of conditions that it has, if they hold.
    pub fn fits(&self, purpose: &str, project: Option<&str>) -> Option<u8> {
        let holds = |condition: Option<&str>, value: Option<&str>| match condition {
            None => Some(0),
            Some(condition) => (Some(condition) == value).then_some(1),
        };
        // A project is more special than a purpose.
        Some(holds(self.purpose.as_deref(), Some(purpose))? + 2 * holds(self.project.as_deref(), project)?)
    }
}

/// The price of models.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelPrice {
    /// Name of the model, with its provider; or the beginning of names, with `*` at its end.
    pub name: String,
    /// Dollars for a million tokens of a prompt.
    pub input: f64,
    /// Dollars for a million tokens of an answer.
    pub output: f64,
}

impl ModelPrice {
    /// Reads `PROVIDER/MODEL=INPUT[/OUTPUT]`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, prices) = text.rsplit_once('=').ok_or_else(|| format!("{text:?} has no `=`"))?;
        // One price is that of both.
        let (input, output) = prices.split_once('/').unwrap_or((prices, prices));
        let dollars = |text: &str| {
            let number = text.trim().parse::<f64>().ok().filter(|number| (0.0..=100_000.0).contains(number));
            number.ok_or_else(|| format!("{text:?} is no number of dollars"))
        };
        if !name.contains('/') {
            return Err(format!("{name:?} is no PROVIDER/MODEL"));
        }
        Ok(Self { name: name.trim().to_owned(), input: dollars(input)?, output: dollars(output)? })
    }

    /// Returns how exactly it names a model, if it does: the most exact name tells the price.
    pub fn fits(&self, model: &str) -> Option<usize> {
        match self.name.strip_suffix(ANY) {
            Some(beginning) => model.starts_with(beginning).then_some(beginning.len()),
            None => (model == self.name).then_some(usize::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_names_purpose_project_provider_and_model() {
        let text = "extract@quay=openrouter/anthropic/claude";
        let read = ModelUse::parse(text).unwrap();
        assert_eq!((read.purpose.as_deref(), read.project.as_deref()), (Some("extract"), Some("quay")));
        assert_eq!((read.provider.as_str(), read.model.as_str()), ("openrouter", "anthropic/claude"));
        assert_eq!((read.fits("extract", Some("quay")), read.fits("extract", None)), (Some(3), None));
        let nobody = ModelUse::parse("*@secret=none").unwrap();
        assert_eq!((nobody.purpose, nobody.provider.as_str()), (None, NONE));
        for wrong in ["extract", "tide=ollama", "extract@=ollama", "extract=", "extract=tide/m", "=ollama"] {
            assert!(ModelUse::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_purpose_for_which_no_model_is_called_is_refused() {
        let problem = ModelUse::parse("recurse=ollama/m-1").unwrap_err();
        assert!(problem.contains("there is no purpose \"recurse\""), "{problem}");
    }

    #[test]
    fn a_price_is_that_of_the_most_exact_name() {
        let prices = ["openai/*=1/2", "openai/gpt-5-mini=.25/2", "openai/gpt-5-mini*=9/9", "openai/text-embedding-3-small=.02"];
        let prices = prices.map(|text| ModelPrice::parse(text).unwrap());
        let of = |model: &str| {
            let fitting = prices.iter().filter_map(|price| Some((price.fits(model)?, price)));
            fitting.max_by_key(|(length, _)| *length).map(|(_, price)| (price.input, price.output))
        };
        assert_eq!(of("openai/gpt-5-mini"), Some((0.25, 2.0)));
        assert_eq!((of("openai/other"), of("anthropic/x")), (Some((1.0, 2.0)), None));
        assert_eq!(of("openai/text-embedding-3-small"), Some((0.02, 0.02)));
        assert_eq!(of("openai/gpt-5-mini-2"), Some((9.0, 9.0)));
        for wrong in ["openai/m", "openai=1/2", "openai/m=x", "openai/m=1/-2", "openai/m=NaN"] {
            assert!(ModelPrice::parse(wrong).is_err(), "{wrong}");
        }
    }
}
