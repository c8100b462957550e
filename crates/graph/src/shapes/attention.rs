//! Attention in one operator: the standard one and the fused ones of `com.microsoft`.

use super::value::{Call, Value};
use crate::DataType;

/// The sizes of one attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Heads {
    pub(crate) batch: usize,
    /// Query heads.
    pub(crate) heads: usize,
    /// Heads of keys and values.
    pub(crate) key_heads: usize,
    /// Query positions.
    pub(crate) queries: usize,
    /// Key positions, the past included; `None` if only a run can tell.
    pub(crate) keys: Option<usize>,
    /// Size of a head of queries and keys.
    pub(crate) size: usize,
    /// Size of a head of values.
    pub(crate) value_size: usize,
}

/// Outputs of an attention operator; `None` if it is not one or its dims are unknown.
pub(crate) fn infer(call: &Call<'_>) -> Option<Vec<Value>> {
    let dtype = call.dtype(0);
    let op = call.node.op_type.as_str();
    if op == "EmbedLayerNormalization" {
        return embedding(call);
    }
    let heads = Heads::of(call)?;
    let Heads { batch, key_heads, queries, keys, size, value_size, .. } = heads;
    let present = |size: usize| match keys {
        Some(keys) => Value::new(dtype, vec![batch, key_heads, keys, size]),
        None => Value::unknown(dtype),
    };
    let flat = Value::new(dtype, vec![batch, queries, heads.heads.checked_mul(value_size)?]);
    match op {
        "Attention" if call.node.is_standard() => {
            let output = match call.dims(0)?.len() {
                4 => Value::new(dtype, vec![batch, heads.heads, queries, value_size]),
                _ => flat,
            };
            let scores = match keys {
                Some(keys) => Value::new(dtype, vec![batch, heads.heads, queries, keys]),
                None => Value::unknown(dtype),
            };
            Some(vec![output, present(size), present(value_size), scores])
        }
        "Attention" | "QAttention" => {
            let both = match keys {
                Some(keys) => Value::new(dtype, vec![2, batch, heads.heads, keys, size]),
                None => Value::unknown(dtype),
            };
            let output =
                if op == "QAttention" { Value { dtype: call.dtype(3), ..flat } } else { flat };
            Some(vec![output, both])
        }
        "MultiHeadAttention" | "GroupQueryAttention" => {
            Some(vec![flat, present(size), present(value_size)])
        }
        _ => None,
    }
}

impl Heads {
    /// The sizes of the attention a node is; `None` if it is none or they are unknown.
    pub(crate) fn of(call: &Call<'_>) -> Option<Heads> {
        match call.node.op_type.as_str() {
            "Attention" if call.node.is_standard() => standard(call),
            "Attention" | "QAttention" => packed(call),
            "MultiHeadAttention" => multi_head(call),
            "GroupQueryAttention" => group_query(call),
            _ => None,
        }
    }
}

fn count(call: &Call<'_>, name: &str) -> Option<usize> {
    usize::try_from(call.node.int(name)?).ok().filter(|count| *count > 0)
}

/// Positions of the past, which is `[batch, heads, past, size]`; 0 where there is none.
fn past(call: &Call<'_>, index: usize) -> Option<usize> {
    if call.has(index) { call.dims(index)?.get(2).copied() } else { Some(0) }
}

fn standard(call: &Call<'_>) -> Option<Heads> {
    let (query, key, value) = (call.dims(0)?, call.dims(1)?, call.dims(2)?);
    let past = past(call, 4);
    match (query, key, value) {
        (&[batch, heads, queries, size], &[_, key_heads, keys, _], &[_, _, _, value_size]) => {
            let keys = past.and_then(|past| keys.checked_add(past));
            Some(Heads { batch, heads, key_heads, queries, keys, size, value_size })
        }
        (&[batch, queries, width], &[_, keys, _], &[_, _, value_width]) => {
            let heads = count(call, "q_num_heads")?;
            let key_heads = count(call, "kv_num_heads")?;
            let (size, value_size) = (width / heads, value_width / key_heads);
            let keys = past.and_then(|past| keys.checked_add(past));
            Some(Heads { batch, heads, key_heads, queries, keys, size, value_size })
        }
        _ => None,
    }
}

/// Queries, keys and values come from one product with one weight.
fn packed(call: &Call<'_>) -> Option<Heads> {
    let (&[batch, queries, _], weight) = (call.dims(0)?, call.dims(1)?) else { return None };
    let heads = count(call, "num_heads")?;
    let (width, value_width) = match call.node.ints("qkv_hidden_sizes") {
        Some(&[width, _, value]) => (usize::try_from(width).ok()?, usize::try_from(value).ok()?),
        _ => (weight.last()? / 3, weight.last()? / 3),
    };
    // The past is [2, batch, heads, past, size]; the quantised operator has it as input 8.
    let place = if call.node.op_type == "QAttention" { 8 } else { 4 };
    let past = if call.has(place) {
        call.dims(place).and_then(|dims| dims.get(3).copied())
    } else {
        Some(0)
    };
    Some(Heads {
        batch,
        heads,
        key_heads: heads,
        queries,
        keys: past.and_then(|past| queries.checked_add(past)),
        size: width / heads,
        value_size: value_width / heads,
    })
}

fn multi_head(call: &Call<'_>) -> Option<Heads> {
    let heads = count(call, "num_heads")?;
    let past = past(call, 6);
    let (batch, queries, size) = match *call.dims(0)? {
        [batch, queries, width] => (batch, queries, width / heads),
        // Queries, keys and values packed: [batch, queries, heads, 3, size].
        [batch, queries, _, 3, size] => (batch, queries, size),
        _ => return None,
    };
    let (keys, value_size) = match (call.dims(1), call.dims(2)) {
        (Some(&[_, keys, _]), Some(&[_, _, width])) => (keys, width / heads),
        (Some(&[_, _, keys, _]), Some(&[_, _, _, size])) => (keys, size),
        // Keys and values packed: [batch, keys, heads, 2, size].
        (Some(&[_, keys, _, 2, size]), _) => (keys, size),
        _ if !call.has(1) => (queries, size),
        _ => return None,
    };
    let keys = past.and_then(|past| keys.checked_add(past));
    Some(Heads { batch, heads, key_heads: heads, queries, keys, size, value_size })
}

fn group_query(call: &Call<'_>) -> Option<Heads> {
    let &[batch, queries, width] = call.dims(0)? else { return None };
    let heads = count(call, "num_heads")?;
    let key_heads = count(call, "kv_num_heads")?;
    let size = if call.has(1) {
        width / heads
    } else {
        width / key_heads.saturating_mul(2).saturating_add(heads)
    };
    let keys = past(call, 3).and_then(|past| queries.checked_add(past));
    Some(Heads { batch, heads, key_heads, queries, keys, size, value_size: size })
}

fn embedding(call: &Call<'_>) -> Option<Vec<Value>> {
    let (&[batch, length], table) = (call.dims(0)?, call.dims(2)?) else { return None };
    let dtype = call.dtype(2);
    let output = Value::new(dtype, vec![batch, length, *table.last()?]);
    Some(vec![output.clone(), Value::new(DataType::Int32, vec![batch]), output])
}
