//! Chat completions and completions as OpenAI has them, and as llama.cpp, vLLM, SGLang and others have them too.

use load::TokenCounts;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use types::Protocol;

/// What one event of a stream holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Piece {
    /// Characters of content; 0 for the role, the end, the usage.
    pub(crate) size: u32,
    /// Whether some of it is text that people see.
    pub(crate) visible: bool,
    /// Whether it says that the answer is over.
    pub(crate) finished: bool,
    /// What the server counts.
    pub(crate) tokens: Option<TokenCounts>,
    /// An error that the server reports in the stream.
    pub(crate) error: Option<String>,
}

/// An answer that came as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Whole {
    pub(crate) size: u32,
    pub(crate) tokens: TokenCounts,
    pub(crate) error: Option<String>,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    message: Option<Delta<'a>>,
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(default)]
    token_ids: Option<Vec<i64>>,
    #[serde(borrow, default)]
    finish_reason: Option<Cow<'a, str>>,
}

#[derive(Deserialize, Default)]
struct Delta<'a> {
    #[serde(borrow, default)]
    content: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    reasoning_content: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    reasoning: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<ToolCall<'a>>>,
}

#[derive(Deserialize)]
struct ToolCall<'a> {
    #[serde(borrow, default)]
    function: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    arguments: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    #[serde(default)]
    cached_tokens: Option<u64>,
}

impl Usage {
    fn counts(&self) -> TokenCounts {
        TokenCounts {
            prompt: self.prompt_tokens,
            cached: self.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens),
            completion: self.completion_tokens,
        }
    }
}

/// Characters of a text that may be missing.
fn size(text: Option<&Cow<'_, str>>) -> usize {
    text.map_or(0, |text| text.chars().count())
}

impl Delta<'_> {
    /// Visible and hidden characters.
    fn sizes(&self) -> (usize, usize) {
        let calls = self.tool_calls.iter().flatten().filter_map(|call| call.function.as_ref());
        let called: usize =
            calls.map(|call| size(call.name.as_ref()) + size(call.arguments.as_ref())).sum();
        let hidden = size(self.reasoning_content.as_ref()) + size(self.reasoning.as_ref());
        (size(self.content.as_ref()) + called, hidden)
    }
}

/// What one event holds.
pub(crate) fn piece(data: &[u8]) -> Result<Piece, String> {
    let chunk: Chunk<'_> = serde_json::from_slice(data).map_err(|error| error.to_string())?;
    let mut piece = Piece {
        tokens: chunk.usage.as_ref().map(Usage::counts),
        error: chunk.error.as_ref().map(message),
        ..Piece::default()
    };
    for choice in chunk.choices.iter().flatten() {
        let (visible, hidden) =
            choice.delta.as_ref().or(choice.message.as_ref()).map_or((0, 0), Delta::sizes);
        let visible = visible + size(choice.text.as_ref());
        // Token ids without text: half of a character.
        let ids = choice.token_ids.as_ref().map_or(0, Vec::len);
        piece.visible |= visible > 0;
        piece.size = piece.size.saturating_add((visible + hidden).max(ids) as u32);
        piece.finished |= choice.finish_reason.is_some();
    }
    Ok(piece)
}

/// An answer that came as a whole.
pub(crate) fn whole(body: &[u8]) -> Result<Whole, String> {
    let piece = piece(body)?;
    let is_answer = piece.finished || piece.size > 0 || piece.error.is_some();
    if !is_answer {
        return Err("it has no `choices`".into());
    }
    let tokens = piece.tokens.unwrap_or_default();
    Ok(Whole { size: piece.size, tokens, error: piece.error })
}

/// The message of an error, as servers write it in different ways.
pub(crate) fn error_of(body: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let error =
        value.get("error").or_else(|| value.get("message")).or_else(|| value.get("detail"))?;
    Some(message(error))
}

fn message(error: &Value) -> String {
    let text = match error {
        Value::String(text) => text.clone(),
        other => match other.get("message").and_then(Value::as_str) {
            Some(text) => text.to_owned(),
            None => other.to_string(),
        },
    };
    crate::answer::shown(text.as_bytes())
}

/// A request for an answer of at most so many tokens.
pub(crate) fn request(
    protocol: Protocol,
    model: Option<&str>,
    prompt: &str,
    tokens: usize,
    streaming: bool,
    extra: &Map<String, Value>,
) -> Value {
    let mut body = Map::new();
    if let Some(model) = model {
        body.insert("model".into(), model.into());
    }
    match protocol {
        Protocol::OpenaiCompletions => body.insert("prompt".into(), prompt.into()),
        _ => body.insert("messages".into(), json!([{ "role": "user", "content": prompt }])),
    };
    body.insert("max_tokens".into(), tokens.into());
    body.insert("stream".into(), streaming.into());
    if streaming {
        body.insert("stream_options".into(), json!({ "include_usage": true }));
    }
    body.extend(extra.clone());
    Value::Object(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Piece {
        piece(text.as_bytes()).unwrap()
    }

    #[test]
    fn only_content_counts_as_content() {
        for (text, size, visible) in [
            (r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#, 0, false),
            (r#"{"choices":[{"delta":{"role":"assistant","content":null}}]}"#, 0, false),
            (r#"{"choices":[{"delta":{"content":"hä"}}]}"#, 2, true),
            (r#"{"choices":[{"delta":{"reasoning_content":"hm"}}]}"#, 2, false),
            (r#"{"choices":[{"delta":{"reasoning":"hm"}}]}"#, 2, false),
            (
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}"#,
                2,
                true,
            ),
            (r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#, 0, false),
            (r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":8}}"#, 0, false),
            (r#"{"choices":[{"text":"\u00e4\n","index":0}]}"#, 2, true),
            (r#"{"choices":[{"text":"","token_ids":[5]}]}"#, 1, false),
            (r#"{"object":"ping"}"#, 0, false),
        ] {
            let found = of(text);
            assert_eq!((found.size, found.visible), (size, visible), "{text}");
        }
    }

    #[test]
    fn tokens_are_the_servers_own() {
        let text = r#"{"choices":[],"usage":{"prompt_tokens":31,"completion_tokens":8,"total_tokens":39,
            "prompt_tokens_details":{"cached_tokens":30}}}"#;
        let expected = TokenCounts { prompt: Some(31), cached: Some(30), completion: Some(8) };
        assert_eq!(of(text).tokens, Some(expected));
        assert_eq!(of(r#"{"choices":[],"usage":null}"#).tokens, None);
    }

    #[test]
    fn errors_of_servers_are_understood_however_they_are_written() {
        for text in [
            r#"{"error":{"message":"too long","code":400}}"#,
            r#"{"error":"too long"}"#,
            r#"{"message":"too long"}"#,
            r#"{"detail":"too long"}"#,
        ] {
            assert_eq!(error_of(text.as_bytes()).as_deref(), Some("too long"), "{text}");
        }
        assert_eq!(of(r#"{"error":{"message":"gone"}}"#).error.as_deref(), Some("gone"));
        assert_eq!(error_of(b"<html>"), None);
    }

    #[test]
    fn whole_answers_need_an_answer() {
        let text = r#"{"choices":[{"message":{"role":"assistant","content":"four"},"finish_reason":"stop"}],
            "usage":{"completion_tokens":1}}"#;
        let found = whole(text.as_bytes()).unwrap();
        assert_eq!((found.size, found.tokens.completion), (4, Some(1)));
        assert!(whole(b"{}").is_err());
        assert!(whole(b"<html></html>").is_err());
    }

    #[test]
    fn requests_are_as_servers_expect_them() {
        let extra: Map<String, Value> =
            serde_json::from_str(r#"{"temperature":0,"max_tokens":5}"#).unwrap();
        let chat = request(Protocol::OpenaiChat, Some("m"), "hi", 8, true, &extra);
        assert_eq!(
            chat,
            json!({"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 5,
                "stream": true, "stream_options": {"include_usage": true}, "temperature": 0})
        );
        let plain = request(Protocol::OpenaiCompletions, None, "hi", 8, false, &Map::new());
        assert_eq!(plain, json!({"prompt": "hi", "max_tokens": 8, "stream": false}));
    }
}
