//! The bodies of requests, made before the load starts.

use crate::{
    job::Content,
    kserve::{self, Metadata, Shape, TensorError},
    openai,
};
use load::Length;
use serde_json::{Map, Value};
use stats::Generator;
use types::Protocol;

/// Where prompts come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Prompts {
    /// Random words, so many of them: no cache of prompts knows them.
    Random(Length),
    /// Texts of the user's own.
    Given(Vec<String>),
}

/// What is sent to a server.
#[derive(Debug, Clone, PartialEq)]
pub enum Bodies {
    /// Prompts for a language model.
    Prompts {
        /// The prompts.
        prompts: Prompts,
        /// The most tokens of an answer.
        tokens: Length,
        /// More fields of every request.
        extra: Map<String, Value>,
    },
    /// Random tensors of the model's own inputs.
    Tensors {
        /// Shapes the user fixed.
        shapes: Vec<Shape>,
        /// The first dimension where the model leaves it open.
        batch: usize,
        /// Other dimensions that it leaves open.
        length: usize,
    },
    /// Bytes as they are; nothing for a request without a body.
    Bytes {
        /// The bytes.
        body: Vec<u8>,
        /// What they are: `application/json`.
        content_type: String,
    },
}

/// A body that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// A tensor.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// Prompts for a server that takes none.
    #[error("{0} does not take {1}")]
    Unlike(Protocol, &'static str),
    /// No prompt.
    #[error("there is no prompt")]
    NoPrompt,
}

impl Bodies {
    /// So many contents of a seed, at least one.
    pub(crate) fn make(
        &self,
        protocol: Protocol,
        model: Option<&str>,
        metadata: Option<&Metadata>,
        streaming: bool,
        count: usize,
        seed: u64,
    ) -> Result<Vec<Content>, BodyError> {
        let mut generator = Generator::new(seed);
        match (self, protocol) {
            (
                Bodies::Prompts { prompts, tokens, extra },
                Protocol::OpenaiChat | Protocol::OpenaiCompletions,
            ) => {
                let count = match prompts {
                    Prompts::Random(_) => count.max(1),
                    Prompts::Given(given) if given.is_empty() => return Err(BodyError::NoPrompt),
                    Prompts::Given(given) => given.len(),
                };
                let content = |place: usize| {
                    let prompt = match prompts {
                        Prompts::Random(length) => length.words(&mut generator),
                        Prompts::Given(given) => given[place].clone(),
                    };
                    let tokens = tokens.draw(&mut generator);
                    let body = openai::request(protocol, model, &prompt, tokens, streaming, extra);
                    Content::json(body.to_string().into_bytes())
                };
                Ok((0..count).map(content).collect())
            }
            (
                Bodies::Tensors { shapes, batch, length },
                Protocol::KserveJson | Protocol::KserveBinary,
            ) => {
                let metadata = metadata.ok_or(BodyError::NoPrompt)?;
                let binary = protocol == Protocol::KserveBinary;
                let content = |_| {
                    let (body, head) = kserve::request(
                        metadata,
                        shapes,
                        (*batch, *length),
                        binary,
                        &mut generator,
                    )?;
                    Ok(match head {
                        None => Content::json(body),
                        Some(head) => Content {
                            body,
                            content_type: "application/octet-stream".into(),
                            inference_header: Some(head),
                        },
                    })
                };
                (0..count.max(1)).map(content).collect()
            }
            (Bodies::Bytes { body, content_type }, Protocol::Http) => Ok(vec![Content {
                body: body.clone(),
                content_type: content_type.clone(),
                inference_header: None,
            }]),
            (Bodies::Prompts { .. }, _) => Err(BodyError::Unlike(protocol, "prompts")),
            (Bodies::Tensors { .. }, _) => Err(BodyError::Unlike(protocol, "tensors")),
            (Bodies::Bytes { .. }, _) => Err(BodyError::Unlike(protocol, "a body from a file")),
        }
    }

    /// What is sent, in words.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Bodies::Prompts { prompts: Prompts::Random(length), tokens, .. } => {
                format!("random prompts of {length} words, {tokens} tokens")
            }
            Bodies::Prompts { prompts: Prompts::Given(given), tokens, .. } => {
                let s = if given.len() == 1 { "" } else { "s" };
                format!("{} prompt{s}, {tokens} tokens", given.len())
            }
            Bodies::Tensors { shapes, batch, length } => {
                let fixed = shapes.iter().map(|shape| {
                    let dims: Vec<String> = shape.dims.iter().map(ToString::to_string).collect();
                    format!("{} {}", shape.name, dims.join("×"))
                });
                let open = format!("random tensors, batch {batch}, length {length}");
                std::iter::once(open).chain(fixed).collect::<Vec<_>>().join(", ")
            }
            Bodies::Bytes { body, .. } if body.is_empty() => "no body".into(),
            Bodies::Bytes { body, .. } => format!("a body of {} bytes", body.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_prompts_differ_and_come_again_with_their_seed() {
        let bodies = Bodies::Prompts {
            prompts: Prompts::Random("20±5".parse().unwrap()),
            tokens: Length::exactly(8),
            extra: Map::new(),
        };
        let make =
            |seed| bodies.make(Protocol::OpenaiChat, Some("m"), None, true, 10, seed).unwrap();
        let made = make(1);
        assert_eq!(made.len(), 10);
        assert_eq!(made, make(1));
        assert!(made.windows(2).all(|pair| pair[0] != pair[1]));
        assert_ne!(made, make(2));
    }

    #[test]
    fn a_body_of_another_protocol_is_refused() {
        let bytes = Bodies::Bytes { body: Vec::new(), content_type: String::new() };
        let refused = bytes.make(Protocol::OpenaiChat, None, None, true, 1, 1).unwrap_err();
        assert!(refused.to_string().contains("openai-chat does not take"), "{refused}");
        let prompts = Bodies::Prompts {
            prompts: Prompts::Given(Vec::new()),
            tokens: Length::exactly(1),
            extra: Map::new(),
        };
        let none = prompts.make(Protocol::OpenaiChat, None, None, true, 1, 1).unwrap_err();
        assert_eq!(none, BodyError::NoPrompt);
    }
}
