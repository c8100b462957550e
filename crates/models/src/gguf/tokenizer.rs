//! The tokenizer in a file, as the `tokenizer.json` that everybody else reads.

use super::file::Gguf;
use serde_json::{Map, Value, json};

/// What llama.cpp numbers the kinds of tokens with: control tokens and those that users added are never split.
const CONTROL: i64 = 3;
const ADDED: i64 = 4;

/// Words, numbers and signs as Llama 3 splits them; `{}` is how many digits stay together.
const SPLIT: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{DIGITS}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// The tokenizer of byte pairs in the file; `None` where it has another or none.
pub(crate) fn tokenizer(gguf: &Gguf) -> Option<Value> {
    if gguf.text("tokenizer.ggml.model") != Some("gpt2") {
        return None;
    }
    let tokens = gguf.texts("tokenizer.ggml.tokens")?;
    let merges = gguf.texts("tokenizer.ggml.merges")?;
    let kinds = gguf.numbers("tokenizer.ggml.token_type").unwrap_or(&[]);
    let vocabulary: Map<String, Value> =
        tokens.iter().enumerate().map(|(id, token)| ((*token).to_owned(), json!(id))).collect();
    let is_added = |id: usize| matches!(kinds.get(id), Some(&(CONTROL | ADDED)));
    let added: Vec<Value> = tokens
        .iter()
        .enumerate()
        .filter(|(id, _)| is_added(*id))
        .map(|(id, token)| {
            json!({
                "id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": kinds.get(id) == Some(&CONTROL)
            })
        })
        .collect();
    Some(json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added,
        "normalizer": null,
        "pre_tokenizer": pre_tokenizer(gguf.text("tokenizer.ggml.pre").unwrap_or("default"))?,
        "post_processor": first_token(gguf, &tokens),
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
            // A vocabulary may have words that no merge makes; llama.cpp takes them whole.
            "ignore_merges": true, "vocab": vocabulary, "merges": merges
        }
    }))
}

/// How text is split before pairs are merged; `None` for a way that is not known.
fn pre_tokenizer(name: &str) -> Option<Value> {
    let bytes = |use_regex: bool| json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": use_regex});
    let split = |digits: &str| {
        let pattern = SPLIT.replace("{DIGITS}", digits);
        let split = json!({
            "type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false
        });
        json!({"type": "Sequence", "pretokenizers": [split, bytes(false)]})
    };
    match name {
        "gpt-2" | "default" => Some(bytes(true)),
        "smollm" => {
            let digits = json!({"type": "Digits", "individual_digits": true});
            Some(json!({"type": "Sequence", "pretokenizers": [digits, bytes(true)]}))
        }
        "llama-bpe" | "llama3" | "llama-v3" => Some(split("{1,3}")),
        "qwen2" => Some(split("")),
        _ => None,
    }
}

/// The token that every text begins with, where the file asks for one.
fn first_token(gguf: &Gguf, tokens: &[&str]) -> Value {
    if gguf.flag("tokenizer.ggml.add_bos_token") != Some(true) {
        return Value::Null;
    }
    let id = gguf.count("tokenizer.ggml.bos_token_id").and_then(|id| usize::try_from(id).ok());
    let Some((id, token)) = id.and_then(|id| Some((id, tokens.get(id)?))) else {
        return Value::Null;
    };
    let begin = json!({"SpecialToken": {"id": token, "type_id": 0}});
    let text = json!({"Sequence": {"id": "A", "type_id": 0}});
    let second = json!({"Sequence": {"id": "B", "type_id": 1}});
    json!({
        "type": "TemplateProcessing",
        "single": [begin, text],
        "pair": [begin, text, second],
        "special_tokens": {(*token): {"id": token, "ids": [id], "tokens": [token]}}
    })
}
