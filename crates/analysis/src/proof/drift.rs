//! How far outputs moved: their direction, their length, and the largest entry of each row.

use types::{Elements, HostTensor, OutputDrift};

/// How far the outputs that both have moved, in the order of those before.
#[must_use]
pub fn drifts(before: &[HostTensor], after: &[HostTensor]) -> Vec<OutputDrift> {
    let pairs = before.iter().filter_map(|a| Some((a, after.iter().find(|b| b.name == a.name)?)));
    pairs.map(|(a, b)| drift(a, b)).collect()
}

/// How much one output changed.
#[must_use]
pub fn drift(before: &HostTensor, after: &HostTensor) -> OutputDrift {
    let unlike = |why: String| OutputDrift {
        output: before.name.clone(),
        cosine: None,
        relative_error: None,
        top1: None,
        why: Some(why),
    };
    if before.dims != after.dims {
        return unlike(format!("shapes {:?} and {:?}", before.dims, after.dims));
    }
    let (Elements::F32(a), Elements::F32(b)) = (&before.elements, &after.elements) else {
        return unlike("only 32-bit floats are compared".into());
    };
    let (mut dot, mut left, mut right, mut apart) = (0f64, 0f64, 0f64, 0f64);
    for (x, y) in a.iter().zip(b) {
        // A masked score is minus infinity on both sides.
        if x == y && !x.is_finite() {
            continue;
        }
        if !x.is_finite() || !y.is_finite() {
            return unlike("numbers that are not finite on one side".into());
        }
        let (x, y) = (f64::from(*x), f64::from(*y));
        dot += x * y;
        left += x * x;
        right += y * y;
        apart += (x - y) * (x - y);
    }
    let cosine = match (left > 0.0, right > 0.0) {
        (true, true) => (dot / (left.sqrt() * right.sqrt())).clamp(-1.0, 1.0),
        (false, false) => 1.0,
        _ => 0.0,
    };
    let relative =
        if left > 0.0 { (apart / left).sqrt() } else { f64::from(u8::from(apart > 0.0)) };
    OutputDrift {
        output: before.name.clone(),
        cosine: Some(cosine),
        relative_error: Some(relative),
        top1: top1(a, b, before.dims.last().copied().unwrap_or(0)),
        why: None,
    }
}

/// The share of rows whose largest entry is at the same place; `None` if a row is one number.
fn top1(a: &[f32], b: &[f32], columns: usize) -> Option<f64> {
    if columns < 2 || a.is_empty() {
        return None;
    }
    let largest =
        |row: &[f32]| {
            let places = row.iter().enumerate();
            places.fold((0, f32::NEG_INFINITY), |best, (place, value)| {
                if *value > best.1 { (place, *value) } else { best }
            })
        };
    let rows = a.chunks(columns).zip(b.chunks(columns));
    let same = rows.filter(|(a, b)| largest(a).0 == largest(b).0).count();
    Some(same as f64 / (a.len() / columns) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(dims: &[usize], values: &[f32]) -> HostTensor {
        let elements = Elements::F32(values.to_vec());
        HostTensor { name: "y".into(), dims: dims.to_vec(), elements }
    }

    #[test]
    fn direction_length_and_largest_entry_are_told_apart() {
        let a = tensor(&[2, 2], &[3.0, 4.0, 1.0, 0.0]);
        let same = drift(&a, &a);
        assert_eq!(
            (same.cosine, same.relative_error, same.top1),
            (Some(1.0), Some(0.0), Some(1.0))
        );
        let double = drift(&a, &tensor(&[2, 2], &[6.0, 8.0, 2.0, 0.0]));
        assert!((double.cosine.unwrap() - 1.0).abs() < 1e-12);
        assert_eq!((double.relative_error, double.top1), (Some(1.0), Some(1.0)));
        let other = drift(&a, &tensor(&[2, 2], &[4.0, 3.0, 1.0, 0.0]));
        assert_eq!(other.top1, Some(0.5));
        assert!(other.cosine.unwrap() < 0.97);
    }

    #[test]
    fn what_cannot_be_compared_says_why() {
        let a = tensor(&[2], &[1.0, 2.0]);
        assert!(drift(&a, &tensor(&[1], &[1.0])).why.unwrap().contains("shapes"));
        assert!(drift(&a, &tensor(&[2], &[1.0, f32::NAN])).cosine.is_none());
        assert_eq!(drift(&tensor(&[2], &[0.0; 2]), &a).cosine, Some(0.0));
    }
}
