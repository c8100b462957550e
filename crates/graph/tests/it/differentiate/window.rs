//! Convolutions and pools with strides, dilations, padding and groups.

use super::{
    few,
    trial::{
        Numbers::{Apart, Around},
        Trial,
    },
};
use modelmeter_graph::Attribute;
use proptest::prelude::*;

fn ints(values: &[usize]) -> Attribute {
    Attribute::Ints(values.iter().map(|value| *value as i64).collect())
}

/// Sizes along one axis: the input, the kernel, stride, dilation, padding before and behind.
fn axis() -> impl Strategy<Value = [usize; 6]> {
    (1usize..4, 1usize..4, 1usize..3, 0usize..3, 0usize..3, 0usize..4).prop_map(
        |(kernel, stride, dilation, before, behind, more)| {
            let reach = (kernel - 1) * dilation + 1;
            let input = (reach + more).saturating_sub(before + behind).max(1);
            // Padding as wide as the kernel would leave windows that see nothing else.
            [
                input.max(reach),
                kernel,
                stride,
                dilation,
                before.min(reach - 1),
                behind.min(reach - 1),
            ]
        },
    )
}

proptest! {
    #![proptest_config(few())]

    #[test]
    fn convolutions(axes in prop::collection::vec(axis(), 1..3), group in 1usize..3, inputs in 1usize..3, outputs in 1usize..3, has_bias: bool, seed: u64) {
        let column = |at: usize| axes.iter().map(|axis| axis[at]).collect::<Vec<_>>();
        let mut trial = Trial::new(seed);
        let x = trial.weight(&[&[2, group * inputs], &column(0)[..]].concat(), Around);
        let mut arguments = vec![x, trial.weight(&[&[group * outputs, inputs], &column(1)[..]].concat(), Around)];
        if has_bias {
            arguments.push(trial.weight(&[group * outputs], Around));
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let attributes = [
            ("kernel_shape", ints(&column(1))), ("strides", ints(&column(2))), ("dilations", ints(&column(3))),
            ("pads", ints(&[column(4), column(5)].concat())), ("group", Attribute::Int(group as i64)),
        ];
        let y = trial.op("Conv", &arguments, &attributes);
        trial.check(&y);
    }

    #[test]
    fn convolutions_of_patches_and_of_pixels(patch in 1usize..4, rows in 1usize..3, columns in 1usize..4, seed: u64) {
        let mut trial = Trial::new(seed);
        let x = trial.weight(&[2, 3, rows * patch, columns * patch], Around);
        let w = trial.weight(&[4, 3, patch, patch], Around);
        let size = ints(&[patch, patch]);
        let y = trial.op("Conv", &[&x, &w], &[("kernel_shape", size.clone()), ("strides", size)]);
        trial.check(&y);
    }

    #[test]
    fn convolutions_that_keep_the_size(input in 2usize..7, kernel in 1usize..4, stride in 1usize..3, seed: u64) {
        let mut trial = Trial::new(seed);
        let (x, w) = (trial.weight(&[1, 2, input, input], Around), trial.weight(&[2, 2, kernel, kernel], Around));
        let attributes = [
            ("auto_pad", "SAME_UPPER".into()), ("strides", ints(&[stride, stride])),
            ("kernel_shape", ints(&[kernel, kernel])),
        ];
        let y = trial.op("Conv", &[&x, &w], &attributes);
        trial.check(&y);
    }

    #[test]
    fn transposed_convolutions(input in 1usize..4, kernel in 1usize..4, stride in 1usize..4, pad in 0usize..2, group in 1usize..3, seed: u64) {
        prop_assume!((input - 1) * stride + kernel > 2 * pad);
        let mut trial = Trial::new(seed);
        let x = trial.weight(&[2, 2 * group, input, input], Around);
        let w = trial.weight(&[2 * group, 3, kernel, kernel], Around);
        let bias = trial.weight(&[3 * group], Around);
        let attributes = [
            ("strides", ints(&[stride, stride])), ("pads", ints(&[pad; 4])),
            ("kernel_shape", ints(&[kernel, kernel])), ("group", Attribute::Int(group as i64)),
        ];
        let y = trial.op("ConvTranspose", &[&x, &w, &bias], &attributes);
        trial.check(&y);
    }

    #[test]
    fn pools(axes in prop::collection::vec(axis(), 1..3), counts in 0i64..2, seed: u64) {
        let column = |at: usize| axes.iter().map(|axis| axis[at]).collect::<Vec<_>>();
        // A window must hold at least one element of the input.
        let pads = |at: usize| axes.iter().map(|axis| axis[at].min(axis[1] - 1)).collect::<Vec<_>>();
        for op in ["MaxPool", "AveragePool"] {
            let mut trial = Trial::new(seed);
            let x = trial.weight(&[&[2, 2], &column(0)[..]].concat(), Apart);
            let mut attributes = vec![
                ("kernel_shape", ints(&column(1))), ("strides", ints(&column(2))),
                ("pads", ints(&[pads(4), pads(5)].concat())),
            ];
            if op == "AveragePool" {
                attributes.push(("count_include_pad", Attribute::Int(counts)));
            }
            let y = trial.op(op, &[&x], &attributes);
            trial.check(&y);
        }
    }

    #[test]
    fn pools_over_everything_and_repeated_pixels(channels in 1usize..4, height in 1usize..4, width in 1usize..4, seed: u64) {
        for op in ["GlobalAveragePool", "GlobalMaxPool"] {
            let mut trial = Trial::new(seed);
            let x = trial.weight(&[2, channels, height, width], Apart);
            let y = trial.op(op, &[&x], &[]);
            trial.check(&y);
        }
        let mut trial = Trial::new(seed);
        let x = trial.weight(&[1, channels, height, width], Around);
        let scales = trial.graph.constant_f32(&[1.0, 1.0, 2.0, 3.0]);
        let attributes = [
            ("mode", Attribute::from("nearest")), ("nearest_mode", "floor".into()),
            ("coordinate_transformation_mode", "asymmetric".into()),
        ];
        let y = trial.op("Resize", &[&x, "", &scales], &attributes);
        let factor = trial.input(&[1, channels, height * 2, width * 3], Around);
        let y = trial.op("Mul", &[&y, &factor], &[]);
        trial.check(&y);
    }
}
