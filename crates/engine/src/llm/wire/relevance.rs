//! Requests and answers of rerankers: Cohere, Jina (also llama.cpp and vLLM) and Voyage. References:
//! <https://docs.cohere.com/reference/rerank>, <https://jina.ai/reranker/>, <https://docs.voyageai.com/reference/reranker-api>.

use serde_json::{Value, json};

use super::parts::{Encoded, number};

/// A protocol for relevance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelevanceProtocol {
    /// Cohere's, version 2.
    Cohere,
    /// Jina's.
    Jina,
    /// Voyage's.
    Voyage,
}

impl RelevanceProtocol {
    /// Encodes a request.
    pub fn encode(self, model: &str, question: &str, passages: &[String]) -> Encoded {
        let mut body = json!({"model": model, "query": question, "documents": passages});
        let path = match self {
            Self::Cohere => "/v2/rerank",
            Self::Jina | Self::Voyage => "/rerank",
        };
        let most = if self == Self::Voyage { "top_k" } else { "top_n" };
        body[most] = json!(passages.len());
        if self == Self::Jina {
            body["return_documents"] = json!(false);
        }
        Encoded { path: path.to_owned(), headers: Vec::new(), body }
    }

    /// Decodes the relevance of so many passages, from 0 to 1, in their order, and the tokens that they took, if the server
    /// tells them.
    ///
    /// # Errors
    /// A sentence that says what is missing.
    pub fn decode(self, body: &Value, count: usize) -> Result<(Vec<f32>, Option<u64>), &'static str> {
        let place = if self == Self::Voyage { "data" } else { "results" };
        let listed = body[place].as_array().ok_or("the list of results is missing")?;
        let mut scores = vec![None; count];
        for value in listed {
            let at = value["index"].as_u64().ok_or("a result has no number")? as usize;
            let score = value["relevance_score"].as_f64().filter(|score| score.is_finite()).ok_or("a result has no score")?;
            *scores.get_mut(at).ok_or("a result has a number that no passage has")? = Some(score as f32);
        }
        let scores = scores.into_iter().collect::<Option<_>>().ok_or("there are not as many results as passages")?;
        Ok((scores, number(body, "/usage/total_tokens")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_those_of_each_providers_reference() {
        let passages = ["the quay".to_owned(), "the tide".to_owned()];
        let told = [RelevanceProtocol::Cohere, RelevanceProtocol::Jina, RelevanceProtocol::Voyage].map(|protocol| {
            let Encoded { path, body, .. } = protocol.encode("m-1", "where?", &passages);
            format!("{path} {body}")
        });
        insta::assert_snapshot!(told.join("\n"), @r#"
        /v2/rerank {"model":"m-1","query":"where?","documents":["the quay","the tide"],"top_n":2}
        /rerank {"model":"m-1","query":"where?","documents":["the quay","the tide"],"top_n":2,"return_documents":false}
        /rerank {"model":"m-1","query":"where?","documents":["the quay","the tide"],"top_k":2}
        "#);
    }

    #[test]
    fn scores_come_in_the_order_of_the_passages() {
        let listed = json!([{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.1}]);
        let jina = json!({"results": listed, "usage": {"total_tokens": 12}});
        assert_eq!(RelevanceProtocol::Jina.decode(&jina, 2), Ok((vec![0.1, 0.9], Some(12))));
        assert_eq!(RelevanceProtocol::Cohere.decode(&json!({"results": listed}), 2), Ok((vec![0.1, 0.9], None)));
        assert_eq!(RelevanceProtocol::Voyage.decode(&json!({"data": listed}), 2), Ok((vec![0.1, 0.9], None)));
        for (body, count) in [(&jina, 3), (&jina, 1), (&json!({}), 0), (&json!({"results": [{"index": 0}]}), 1)] {
            assert!(RelevanceProtocol::Jina.decode(body, count).is_err(), "{body}");
        }
    }
}
