//! The scores of small models, against what transformers makes of the same files.

use crate::{alone, load, small, small_shape};
use engine::read_tensors;
use types::Elements;

/// The largest difference as a share of the largest score.
fn difference(name: &str) -> f32 {
    let file = small(name);
    let tensors = read_tensors(&file.with_extension("safetensors")).unwrap();
    let tensor = |part: &str| tensors.iter().find(|tensor| tensor.name.ends_with(part)).unwrap();
    let (Elements::I64(ids), Elements::F32(expected)) =
        (&tensor("input_ids").elements, &tensor("logits").elements)
    else {
        panic!("the answers have other types")
    };
    let length = tensor("input_ids").dims[1];
    let mut generator = load(file, &small_shape(), 2, 64);
    let (mut worst, mut largest) = (0_f32, 0_f32);
    for place in 0..length {
        generator.feed(&[ids[place], ids[length + place]]).unwrap();
        for (row, scores) in generator.scores().unwrap().chunks_exact(96).enumerate() {
            let from = (row * length + place) * 96;
            for (score, expected) in scores.iter().zip(&expected[from..]) {
                worst = worst.max((score - expected).abs());
                largest = largest.max(expected.abs());
            }
        }
    }
    worst / largest
}

#[test]
fn exact_weights_answer_as_transformers_does() {
    let _alone = alone();
    // The cache has sixteen bits.
    for name in ["llama-F32", "gpt2-F16"] {
        let difference = difference(name);
        assert!(difference <= 2e-3, "{name}: {difference:e}");
    }
}

#[test]
fn quantised_weights_answer_as_transformers_does_up_to_quantised_products() {
    let _alone = alone();
    for name in ["llama-Q4_K", "qwen2-Q8_0", "gemma3-Q8_0"] {
        let difference = difference(name);
        assert!(difference <= 5e-2, "{name}: {difference:e}");
    }
}
