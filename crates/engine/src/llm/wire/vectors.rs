//! Requests and answers of embedding servers: OpenAI (the form of most servers), Gemini, Cohere, Ollama. References:
//! <https://platform.openai.com/docs/api-reference/embeddings>, <https://ai.google.dev/api/embeddings>,
//! <https://docs.cohere.com/reference/embed>, <https://github.com/ollama/ollama/blob/main/docs/api.md#generate-embeddings>.

use serde_json::{Map, Value, json};

use super::parts::{Encoded, number};

/// A protocol for vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorProtocol {
    /// OpenAI's, with what others added to it.
    OpenAi(Additions),
    /// Google's Gemini.
    Gemini,
    /// Cohere's, version 2.
    Cohere,
    /// Ollama's own.
    Ollama,
}

/// Fields that servers added to OpenAI's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Additions {
    /// The field that sets the number of dimensions, if the server has one.
    pub dimensions: Option<&'static str>,
    /// The field that tells texts to be found from questions, and its words for them, if the server has one.
    pub purpose: Option<(&'static str, [&'static str; 2])>,
}

/// Texts whose vectors are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Texts<'t> {
    /// The model.
    pub model: &'t str,
    /// The texts.
    pub texts: &'t [&'t str],
    /// True if they are questions.
    pub are_questions: bool,
    /// Number of dimensions, if not the model's own.
    pub dimensions: Option<usize>,
}

impl VectorProtocol {
    /// Encodes a request.
    pub fn encode(self, asked: Texts<'_>) -> Encoded {
        let Texts { model, texts, are_questions, dimensions } = asked;
        let place = usize::from(are_questions);
        let with = |path: &str, name: Option<&str>, mut body: Value| {
            if let (Some(name), Some(dimensions)) = (name, dimensions) {
                body[name] = json!(dimensions);
            }
            Encoded { path: path.to_owned(), headers: Vec::new(), body }
        };
        match self {
            Self::OpenAi(additions) => {
                let mut body = json!({"model": model, "input": texts});
                if let Some((name, words)) = additions.purpose {
                    body[name] = json!(words[place]);
                }
                with("/embeddings", additions.dimensions, body)
            }
            Self::Cohere => {
                let purpose = ["search_document", "search_query"][place];
                let body = json!({"model": model, "texts": texts, "input_type": purpose, "embedding_types": ["float"]});
                with("/v2/embed", Some("output_dimension"), body)
            }
            Self::Ollama => with("/api/embed", Some("dimensions"), json!({"model": model, "input": texts})),
            Self::Gemini => {
                let purpose = ["RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY"][place];
                let request = |text: &&str| {
                    let mut request = Map::new();
                    request.insert("model".to_owned(), json!(format!("models/{model}")));
                    request.insert("content".to_owned(), json!({"parts": [{"text": text}]}));
                    request.insert("taskType".to_owned(), json!(purpose));
                    if let Some(dimensions) = dimensions {
                        request.insert("outputDimensionality".to_owned(), json!(dimensions));
                    }
                    Value::Object(request)
                };
                let body = json!({"requests": texts.iter().map(request).collect::<Vec<_>>()});
                with(&format!("/v1beta/models/{model}:batchEmbedContents"), None, body)
            }
        }
    }

    /// Decodes the vectors of so many texts, in their order, and the tokens that they took, if the server tells them.
    ///
    /// # Errors
    /// A sentence that says what is missing.
    pub fn decode(self, body: &Value, count: usize) -> Result<(Vec<Vec<f32>>, Option<u64>), &'static str> {
        let list = |place: &str| body.pointer(place).and_then(Value::as_array).ok_or("the list of vectors is missing");
        let mut vectors: Vec<Vec<f32>> = vec![Vec::new(); count];
        let listed = match self {
            Self::OpenAi(_) => list("/data")?,
            Self::Gemini | Self::Ollama => list("/embeddings")?,
            Self::Cohere => list("/embeddings/float")?,
        };
        if listed.len() != count {
            return Err("there are not as many vectors as texts");
        }
        for (at, value) in listed.iter().enumerate() {
            let (at, numbers) = match self {
                Self::OpenAi(_) => (value["index"].as_u64().map_or(at, |index| index as usize), &value["embedding"]),
                Self::Gemini => (at, &value["values"]),
                Self::Cohere | Self::Ollama => (at, value),
            };
            let numbers = numbers.as_array().ok_or("a vector is missing")?;
            let numbers: Option<Vec<f32>> = numbers.iter().map(|number| number.as_f64().map(|number| number as f32)).collect();
            *vectors.get_mut(at).ok_or("a vector has a number that no text has")? = numbers.ok_or("a vector holds no numbers")?;
        }
        let tokens = match self {
            Self::OpenAi(_) => number(body, "/usage/prompt_tokens").or_else(|| number(body, "/usage/total_tokens")),
            Self::Cohere => number(body, "/meta/billed_units/input_tokens"),
            Self::Ollama => number(body, "/prompt_eval_count"),
            Self::Gemini => None,
        };
        Ok((vectors, tokens))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: VectorProtocol = VectorProtocol::OpenAi(Additions { dimensions: Some("dimensions"), purpose: None });
    const VOYAGE: VectorProtocol = VectorProtocol::OpenAi(Additions {
        dimensions: Some("output_dimension"),
        purpose: Some(("input_type", ["document", "query"])),
    });

    #[test]
    fn requests_are_those_of_each_providers_reference() {
        let mut told = String::new();
        for (name, protocol) in [
            ("openai", PLAIN),
            ("voyage", VOYAGE),
            ("gemini", VectorProtocol::Gemini),
            ("cohere", VectorProtocol::Cohere),
            ("ollama", VectorProtocol::Ollama),
        ] {
            for (are_questions, dimensions) in [(false, None), (true, Some(256))] {
                let texts = Texts { model: "m-1", texts: &["the quay", "the tide"], are_questions, dimensions };
                let Encoded { path, body, .. } = protocol.encode(texts);
                told.push_str(&format!("{name}: {path}\n  {body}\n"));
            }
        }
        insta::assert_snapshot!(told, @r#"
        openai: /embeddings
          {"model":"m-1","input":["the quay","the tide"]}
        openai: /embeddings
          {"model":"m-1","input":["the quay","the tide"],"dimensions":256}
        voyage: /embeddings
          {"model":"m-1","input":["the quay","the tide"],"input_type":"document"}
        voyage: /embeddings
          {"model":"m-1","input":["the quay","the tide"],"input_type":"query","output_dimension":256}
        gemini: /v1beta/models/m-1:batchEmbedContents
          {"requests":[{"model":"models/m-1","content":{"parts":[{"text":"the quay"}]},"taskType":"RETRIEVAL_DOCUMENT"},{"model":"models/m-1","content":{"parts":[{"text":"the tide"}]},"taskType":"RETRIEVAL_DOCUMENT"}]}
        gemini: /v1beta/models/m-1:batchEmbedContents
          {"requests":[{"model":"models/m-1","content":{"parts":[{"text":"the quay"}]},"taskType":"RETRIEVAL_QUERY","outputDimensionality":256},{"model":"models/m-1","content":{"parts":[{"text":"the tide"}]},"taskType":"RETRIEVAL_QUERY","outputDimensionality":256}]}
        cohere: /v2/embed
          {"model":"m-1","texts":["the quay","the tide"],"input_type":"search_document","embedding_types":["float"]}
        cohere: /v2/embed
          {"model":"m-1","texts":["the quay","the tide"],"input_type":"search_query","embedding_types":["float"],"output_dimension":256}
        ollama: /api/embed
          {"model":"m-1","input":["the quay","the tide"]}
        ollama: /api/embed
          {"model":"m-1","input":["the quay","the tide"],"dimensions":256}
        "#);
    }

    #[test]
    fn vectors_come_in_the_order_of_their_texts_whatever_the_protocol() {
        let (first, second) = (json!([1.0, 0.5]), json!([0, 2]));
        let vectors = vec![vec![1.0, 0.5], vec![0.0, 2.0]];
        for (protocol, body, tokens) in [
            (
                PLAIN,
                json!({"data": [{"index": 1, "embedding": second}, {"index": 0, "embedding": first}], "usage": {"prompt_tokens": 7}}),
                Some(7),
            ),
            (VOYAGE, json!({"data": [{"embedding": first}, {"embedding": second}], "usage": {"total_tokens": 7}}), Some(7)),
            (VectorProtocol::Gemini, json!({"embeddings": [{"values": first}, {"values": second}]}), None),
            (
                VectorProtocol::Cohere,
                json!({"embeddings": {"float": [first, second]}, "meta": {"billed_units": {"input_tokens": 7}}}),
                Some(7),
            ),
            (VectorProtocol::Ollama, json!({"embeddings": [first, second], "prompt_eval_count": 7}), Some(7)),
        ] {
            assert_eq!(protocol.decode(&body, 2), Ok((vectors.clone(), tokens)), "{protocol:?}");
            assert!(protocol.decode(&body, 3).is_err() && protocol.decode(&json!({}), 2).is_err(), "{protocol:?}");
        }
        for wrong in
            [json!({"data": [{"index": 9, "embedding": [1]}]}), json!({"data": [{"embedding": ["x"]}]}), json!({"data": [{}]})]
        {
            assert!(PLAIN.decode(&wrong, 1).is_err(), "{wrong}");
        }
    }
}
