//! Attention as one operator.

use super::{
    few,
    trial::{Numbers::Around, Trial},
};
use modelmeter_graph::Attribute;
use proptest::prelude::*;

proptest! {
    #![proptest_config(few())]

    #[test]
    fn attention_with_heads_apart(batch in 1usize..3, shared in 1usize..3, groups in 1usize..3, queries in 1usize..4, keys in 1usize..4, masked: bool, causal in 0i64..2, seed: u64) {
        let mut trial = Trial::new(seed);
        trial.graph.set_opset("", 23);
        let mut inputs = vec![
            trial.weight(&[batch, shared * groups, queries, 3], Around),
            trial.weight(&[batch, shared, keys, 3], Around),
            trial.weight(&[batch, shared, keys, 2], Around),
        ];
        if masked {
            inputs.push(trial.weight(&[queries, keys], Around));
        }
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let y = trial.op("Attention", &inputs, &[("is_causal", Attribute::Int(causal))]);
        trial.check(&y);
    }

    #[test]
    fn attention_with_heads_joined(batch in 1usize..3, heads in 1usize..3, queries in 1usize..4, keys in 1usize..4, seed: u64) {
        let mut trial = Trial::new(seed);
        trial.graph.set_opset("", 23);
        let dims = [[batch, queries, heads * 3], [batch, keys, heads * 3], [batch, keys, heads * 2]];
        let inputs = dims.map(|dims| trial.weight(&dims, Around));
        let inputs = inputs.each_ref().map(String::as_str);
        let heads = Attribute::Int(heads as i64);
        let attributes = [("q_num_heads", heads.clone()), ("kv_num_heads", heads), ("scale", 0.4f32.into())];
        let y = trial.op("Attention", &inputs, &attributes);
        trial.check(&y);
    }

    #[test]
    fn attention_of_onnx_runtime(batch in 1usize..3, heads in 1usize..3, queries in 1usize..4, keys in 1usize..4, seed: u64) {
        let mut trial = Trial::new(seed);
        let dims = [[batch, queries, heads * 2], [batch, keys, heads * 2], [batch, keys, heads * 2]];
        let inputs = dims.map(|dims| trial.weight(&dims, Around));
        let inputs = inputs.each_ref().map(String::as_str);
        let attributes = [("num_heads", Attribute::Int(heads as i64))];
        let y = trial.graph.add("com.microsoft", "MultiHeadAttention", &inputs, &attributes, 1).swap_remove(0);
        trial.check(&y);
    }
}
