//! Sentence vectors out of token vectors, and how alike they are.

use types::{Elements, HostTensor, Similarity};

/// The mean of each sample's token vectors under the mask, scaled to length 1.
///
/// `None` if the output is no `[samples, tokens, width]` of 32-bit floats that fits the mask.
#[must_use]
pub fn pool(output: &HostTensor, mask: &[i64]) -> Option<Vec<Vec<f64>>> {
    let (&[samples, tokens, width], Elements::F32(values)) =
        (output.dims.as_slice(), &output.elements)
    else {
        return None;
    };
    if mask.len() != samples * tokens || width == 0 {
        return None;
    }
    let pooled = (0..samples).map(|sample| {
        let mut sum = vec![0f64; width];
        for token in (0..tokens).filter(|token| mask[sample * tokens + token] != 0) {
            let start = (sample * tokens + token) * width;
            let vector = &values[start..start + width];
            sum.iter_mut().zip(vector).for_each(|(sum, value)| *sum += f64::from(*value));
        }
        let length = sum.iter().map(|value| value * value).sum::<f64>().sqrt();
        sum.iter().map(|value| if length > 0.0 { value / length } else { 0.0 }).collect()
    });
    Some(pooled.collect())
}

/// How alike each pair of texts is, before and after; the most alike before come first.
#[must_use]
pub fn similarities(texts: &[String], before: &[Vec<f64>], after: &[Vec<f64>]) -> Vec<Similarity> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let count = texts.len().min(before.len()).min(after.len());
    let mut pairs = Vec::new();
    for first in 0..count {
        for second in first + 1..count {
            pairs.push(Similarity {
                first: texts[first].clone(),
                second: texts[second].clone(),
                before: dot(&before[first], &before[second]),
                after: dot(&after[first], &after[second]),
            });
        }
    }
    pairs.sort_by(|a, b| b.before.total_cmp(&a.before));
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_does_not_count_and_pairs_are_ordered() {
        let values = vec![1.0, 0.0, 9.0, 9.0, 0.0, 1.0, 0.0, 1.0, 2.0, 2.0, 0.0, 0.0];
        let output = HostTensor {
            name: "last_hidden_state".into(),
            dims: vec![3, 2, 2],
            elements: Elements::F32(values),
        };
        let pooled = pool(&output, &[1, 0, 1, 1, 1, 1]).unwrap();
        assert_eq!(pooled[0], [1.0, 0.0]);
        let texts = ["a", "b", "c"].map(String::from);
        let pairs = similarities(&texts, &pooled, &pooled);
        assert_eq!(pairs.len(), 3);
        assert!((pairs[0].before - 0.5f64.sqrt()).abs() < 1e-9);
        assert_eq!((pairs[2].first.as_str(), pairs[2].second.as_str()), ("a", "b"));
        assert!(pool(&output, &[1]).is_none());
    }
}
