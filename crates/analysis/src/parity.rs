//! Whether two computations give the same answer, within what their number formats allow.

use types::{Elements, HostTensor, Precision};

/// How far outputs may differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// Largest difference of an element, as a share of the largest magnitude of the output (or of 1 where that is
    /// smaller).
    pub difference: f64,
    /// Smallest cosine between the two outputs.
    pub cosine: f64,
}

impl Tolerance {
    /// What the coarser of two formats allows.
    ///
    /// fp32: rounding of sums in another order, measured up to 1.4e-5 over our families, with room for deep models.
    /// The 16-bit formats have 11 and 8 bits of mantissa and some dozen layers to add up their rounding. Int8 rounds
    /// every activation to one of 256 steps, so only the direction of an output is held to a bound.
    #[must_use]
    pub fn of(a: Precision, b: Precision) -> Tolerance {
        match a.max(b) {
            Precision::Fp32 => Tolerance { difference: 1e-3, cosine: 0.999_99 },
            Precision::Fp16 => Tolerance { difference: 5e-2, cosine: 0.999 },
            Precision::Bf16 => Tolerance { difference: 2e-1, cosine: 0.99 },
            Precision::Int8 => Tolerance { difference: f64::INFINITY, cosine: 0.95 },
        }
    }
}

/// How far one output of two computations is apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The output.
    pub output: String,
    /// Largest difference of an element.
    pub max_abs: f64,
    /// Largest magnitude of an element of the reference.
    pub magnitude: f64,
    /// Cosine between the two, in [-1, 1]; 1 where both are zero.
    pub cosine: f64,
    /// Why they cannot be compared at all.
    pub unlike: Option<String>,
}

impl Difference {
    /// Whether the difference is one that the tolerance allows.
    #[must_use]
    pub fn is_within(&self, tolerance: &Tolerance) -> bool {
        self.unlike.is_none()
            && self.max_abs <= tolerance.difference * self.magnitude.max(1.0)
            && self.cosine >= tolerance.cosine
    }
}

/// Compares the outputs that both have, in the reference's order.
#[must_use]
pub fn differences(reference: &[HostTensor], other: &[HostTensor]) -> Vec<Difference> {
    reference
        .iter()
        .filter_map(|a| Some((a, other.iter().find(|b| b.name == a.name)?)))
        .map(|(a, b)| difference(a, b))
        .collect()
}

/// How far two tensors are apart.
#[must_use]
pub fn difference(reference: &HostTensor, other: &HostTensor) -> Difference {
    let mut found = Difference {
        output: reference.name.clone(),
        max_abs: 0.0,
        magnitude: 0.0,
        cosine: 1.0,
        unlike: None,
    };
    if reference.dims != other.dims {
        let text = format!("shapes {:?} and {:?}", reference.dims, other.dims);
        found.unlike = Some(text);
        return found;
    }
    let (mut dot, mut left, mut right) = (0.0, 0.0, 0.0);
    let mut is_number = true;
    for_each(&reference.elements, &other.elements, &mut |x, y| {
        // Infinity on both sides (a masked score) is the same answer.
        if x == y && !x.is_finite() {
            return;
        }
        is_number &= x.is_finite() && y.is_finite();
        found.max_abs = found.max_abs.max((x - y).abs());
        found.magnitude = found.magnitude.max(x.abs());
        dot += x * y;
        left += x * x;
        right += y * y;
    });
    if !is_number {
        found.unlike = Some("numbers that are not finite on one side".into());
    }
    found.cosine = match (left > 0.0, right > 0.0) {
        (true, true) => (dot / (left.sqrt() * right.sqrt())).clamp(-1.0, 1.0),
        (false, false) => 1.0,
        _ => 0.0,
    };
    found
}

fn for_each(a: &Elements, b: &Elements, visit: &mut dyn FnMut(f64, f64)) {
    match (a, b) {
        // The usual case, without a call for each element's type.
        (Elements::F32(a), Elements::F32(b)) => {
            a.iter().zip(b).for_each(|(&x, &y)| visit(f64::from(x), f64::from(y)));
        }
        _ => (0..a.len().min(b.len())).for_each(|i| visit(number(a, i), number(b, i))),
    }
}

fn number(elements: &Elements, i: usize) -> f64 {
    match elements {
        Elements::F32(v) => f64::from(v[i]),
        Elements::F64(v) => v[i],
        Elements::F16(v) => half::f16::from_bits(v[i]).to_f64(),
        Elements::Bf16(v) => half::bf16::from_bits(v[i]).to_f64(),
        Elements::I64(v) => v[i] as f64,
        Elements::I32(v) => f64::from(v[i]),
        Elements::I16(v) => f64::from(v[i]),
        Elements::I8(v) => f64::from(v[i]),
        Elements::U8(v) | Elements::Bool(v) => f64::from(v[i]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(values: &[f32]) -> HostTensor {
        let elements = Elements::F32(values.to_vec());
        HostTensor { name: "y".into(), dims: vec![values.len()], elements }
    }

    #[test]
    fn rounding_passes_and_another_weight_does_not() {
        let tolerance = Tolerance::of(Precision::Fp32, Precision::Fp32);
        let a = tensor(&[1.0, -2.0, 3.0]);
        let near = difference(&a, &tensor(&[1.000_01, -2.0, 3.0]));
        assert!(near.is_within(&tolerance), "{near:?}");
        let far = difference(&a, &tensor(&[1.0, -2.0, 3.1]));
        assert!(!far.is_within(&tolerance));
        assert!((far.max_abs - 0.1).abs() < 1e-6);
        assert!(far.is_within(&Tolerance::of(Precision::Fp32, Precision::Fp16)));
    }

    #[test]
    fn unlike_shapes_and_lost_numbers_are_said() {
        let tolerance = Tolerance::of(Precision::Fp32, Precision::Int8);
        let a = tensor(&[1.0, 2.0]);
        assert!(!difference(&a, &tensor(&[1.0])).is_within(&tolerance));
        assert!(difference(&a, &tensor(&[1.0])).unlike.unwrap().contains("shapes"));
        assert!(!difference(&a, &tensor(&[1.0, f32::NAN])).is_within(&tolerance));
        let masked = tensor(&[f32::NEG_INFINITY, 1.0]);
        assert!(difference(&masked, &masked).is_within(&tolerance));
    }

    #[test]
    fn formats_are_compared_by_value() {
        let half = HostTensor {
            name: "y".into(),
            dims: vec![2],
            elements: Elements::F16(vec![0x3c00, 0x4000]),
        };
        let found = difference(&tensor(&[1.0, 2.0]), &half);
        assert_eq!((found.max_abs, found.magnitude), (0.0, 2.0));
        assert!(found.cosine > 0.999_999);
    }

    #[test]
    fn only_outputs_that_both_have_are_compared() {
        let mut other = tensor(&[1.0]);
        other.name = "z".into();
        assert!(differences(&[tensor(&[1.0])], &[other]).is_empty());
    }
}
