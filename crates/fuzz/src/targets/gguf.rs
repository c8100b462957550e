//! Files of llama.cpp.

use super::{folder::resolve, put};
use crate::{
    Outcome, Target, mutate,
    target::{ROOM, Reader},
};
use types::{DecoderDialect, Precision};

/// A file that is opened, made ready to run and asked for its tokenizer.
pub(crate) const GGUF: Target = Target {
    name: "gguf",
    what: "GGUF files of llama.cpp, made ready to run",
    // Whole ones are written again to the cache.
    one_of: 2,
    room: ROOM,
    seeds: || vec![file("llama", 8), file("qwen2", 2), file("gpt2", 0), file("gemma3", 8)],
    mutate: mutate::gguf,
    open: || -> Reader {
        let folder = super::folder();
        Box::new(move |bytes| {
            let path = put(&folder, "model.gguf", bytes);
            let cache = super::folder();
            let resolved = resolve(&path, cache.path());
            if let Ok(resolved) = &resolved {
                let weights = std::fs::metadata(&resolved.onnx).map_or(0, |file| file.len());
                assert!(weights > 0 && resolved.info.parameters > 0);
                // The same weights in blocks, in the graph that generates: made, or refused.
                let request = models::Request {
                    offline: true,
                    generates: true,
                    dialect: DecoderDialect::Fused,
                    precision: Some(Precision::Stored),
                    ..models::Request::new(path.to_string_lossy(), cache.path().join("cache"))
                };
                if let Ok(stored) = models::resolve(&request, &mut |_| {}) {
                    assert_eq!(stored.info.parameters, resolved.info.parameters);
                }
            }
            Outcome::from(&resolved)
        })
    },
    expected: &[],
};

const HIDDEN: u64 = 32;
const TOKENS: u64 = 12;
/// The divisors of the rotary positions, half as many as a head is wide.
const ROTARY: &str = "rope_freqs.weight";

/// A whole model of one layer, with matrices in the format of this number.
fn file(family: &str, format: u32) -> Vec<u8> {
    let tensors = tensors(family);
    let mut keys: Vec<Vec<u8>> = vec![
        text_key("general.architecture", family),
        text_key("tokenizer.ggml.model", "gpt2"),
        text_key("tokenizer.ggml.pre", "smollm"),
        key("tokenizer.ggml.add_bos_token", 7, &[1]),
        number_key("tokenizer.ggml.bos_token_id", 1),
        list_key("tokenizer.ggml.tokens", 8, TOKENS, |index| text(&format!("t{index}"))),
        list_key("tokenizer.ggml.merges", 8, 1, |_| text("t 1")),
        list_key("tokenizer.ggml.token_type", 5, TOKENS, |index| {
            (if index < 2 { 3i32 } else { 1 }).to_le_bytes().to_vec()
        }),
    ];
    for (name, value) in [
        ("block_count", 1),
        ("context_length", 16),
        ("embedding_length", HIDDEN as u32),
        ("feed_forward_length", HIDDEN as u32),
        ("attention.head_count", 2),
    ] {
        keys.push(number_key(&format!("{family}.{name}"), value));
    }
    let epsilon = format!("{family}.attention.layer_norm_rms_epsilon");
    keys.push(key(&epsilon, 6, &1e-5f32.to_le_bytes()));
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.extend((tensors.len() as u64).to_le_bytes());
    bytes.extend((keys.len() as u64).to_le_bytes());
    bytes.extend(keys.concat());
    let mut data = Vec::new();
    for (name, dims) in &tensors {
        let is_matrix = dims.len() == 2;
        let format = if is_matrix { format } else { 0 };
        bytes.extend(text(name));
        bytes.extend((dims.len() as u32).to_le_bytes());
        bytes.extend(dims.iter().flat_map(|size| size.to_le_bytes()));
        bytes.extend(format.to_le_bytes());
        bytes.extend((data.len() as u64).to_le_bytes());
        let size = match format {
            8 => 34,
            2 => 18,
            _ => 32 * 4,
        };
        let blocks = dims.iter().product::<u64>().div_ceil(32) as usize;
        if name == ROTARY {
            // Nothing is stretched by a divisor of 1.
            data.extend(dims.iter().flat_map(|&count| 1f32.to_le_bytes().repeat(count as usize)));
            continue;
        }
        data.resize((data.len() + blocks * size).next_multiple_of(32), 0x2f);
    }
    bytes.resize(bytes.len().next_multiple_of(32), 0);
    bytes.extend(data);
    bytes
}

/// Names and dimensions, the innermost first.
fn tensors(family: &str) -> Vec<(String, Vec<u64>)> {
    let square = || vec![HIDDEN, HIDDEN];
    let mut tensors =
        vec![("token_embd.weight".to_owned(), vec![HIDDEN, TOKENS]), norm("output_norm.weight")];
    if family == "gpt2" {
        tensors.push(("position_embd.weight".into(), vec![HIDDEN, 16]));
        tensors.push(norm("output_norm.bias"));
        for name in ["attn_norm", "ffn_norm"] {
            tensors.extend([norm(&layer(name, "weight")), norm(&layer(name, "bias"))]);
        }
        for name in ["attn_output", "ffn_up", "ffn_down"] {
            tensors.extend([(layer(name, "weight"), square()), norm(&layer(name, "bias"))]);
        }
        tensors.push((layer("attn_qkv", "weight"), vec![HIDDEN, 3 * HIDDEN]));
        tensors.push((layer("attn_qkv", "bias"), vec![3 * HIDDEN]));
        return tensors;
    }
    tensors.extend([norm(&layer("attn_norm", "weight")), norm(&layer("ffn_norm", "weight"))]);
    for name in ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"] {
        tensors.push((layer(name, "weight"), square()));
        if family == "qwen2" && ["attn_q", "attn_k", "attn_v"].contains(&name) {
            tensors.push(norm(&layer(name, "bias")));
        }
    }
    if family == "llama" {
        tensors.push((ROTARY.to_owned(), vec![HIDDEN / 4]));
    }
    if family == "gemma3" {
        for name in ["post_attention_norm", "post_ffw_norm"] {
            tensors.push(norm(&layer(name, "weight")));
        }
        for name in ["attn_q_norm", "attn_k_norm"] {
            tensors.push((layer(name, "weight"), vec![HIDDEN / 2]));
        }
    }
    tensors
}

fn norm(name: &str) -> (String, Vec<u64>) {
    (name.to_owned(), vec![HIDDEN])
}

fn layer(part: &str, parameter: &str) -> String {
    format!("blk.0.{part}.{parameter}")
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
}

fn key(name: &str, kind: u32, value: &[u8]) -> Vec<u8> {
    [&text(name)[..], &kind.to_le_bytes(), value].concat()
}

fn text_key(name: &str, value: &str) -> Vec<u8> {
    key(name, 8, &text(value))
}

fn number_key(name: &str, value: u32) -> Vec<u8> {
    key(name, 4, &value.to_le_bytes())
}

fn list_key(name: &str, kind: u32, count: u64, element: impl Fn(u64) -> Vec<u8>) -> Vec<u8> {
    let elements: Vec<u8> = (0..count).flat_map(element).collect();
    key(name, 9, &[&kind.to_le_bytes()[..], &count.to_le_bytes(), &elements].concat())
}
