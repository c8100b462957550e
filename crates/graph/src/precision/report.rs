//! What a conversion did.

use super::WhyLeft;
use crate::{Model, TensorData};
use std::collections::{BTreeMap, HashMap};
use types::{Bytes, Precision, Remark, RemarkCode};

/// A converted model.
#[derive(Debug, Clone)]
pub struct Converted {
    /// The model in its new format.
    pub model: Model,
    /// What was done.
    pub report: Report,
    /// How many values of each initialiser are not zero.
    pub nonzeros: HashMap<String, u64>,
}

impl Converted {
    /// How many parameters are not zero; a tensor that is shared counts once.
    #[must_use]
    pub fn nonzero_parameters(&self) -> u64 {
        let is_parameter = crate::count::parameter_test(&self.model);
        let mut places = std::collections::HashSet::new();
        let tensors = self.model.graph.initializers.iter();
        tensors
            .filter(|tensor| is_parameter(&tensor.name, tensor))
            .filter(|tensor| match &tensor.data {
                TensorData::External { path, offset, .. } => places.insert((path, offset)),
                _ => true,
            })
            .filter_map(|tensor| self.nonzeros.get(&tensor.name))
            .sum()
    }
}

/// A node that stays in fp32, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The node's name.
    pub node: String,
    /// Why.
    pub why: WhyLeft,
}

/// What a conversion did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The new format.
    pub to: Precision,
    /// Weights and constants that changed their type.
    pub tensors: usize,
    /// Values that were moved to the nearest one of the new format that is finite and not 0.
    pub clamped: u64,
    /// Matrix products of integers; 0 for the 16-bit formats.
    pub products: usize,
    /// Nodes that could have changed and stay in fp32.
    pub left: Vec<Left>,
    /// Bytes of all constants before.
    pub bytes_before: Bytes,
    /// Bytes of all constants after.
    pub bytes_after: Bytes,
}

impl Report {
    pub(crate) fn new(to: Precision) -> Report {
        Report {
            to,
            tensors: 0,
            clamped: 0,
            products: 0,
            left: Vec::new(),
            bytes_before: Bytes(0),
            bytes_after: Bytes(0),
        }
    }

    /// What a reader of the results must know: values that were clamped, nodes that stay in fp32.
    #[must_use]
    pub fn remarks(&self) -> Vec<Remark> {
        let mut remarks = Vec::new();
        match self.clamped {
            0 => {}
            1 => remarks.push(Remark::new(
                RemarkCode::ValuesClamped,
                format!("1 value outside the range of {} was clamped", self.to),
            )),
            many => {
                remarks.push(Remark::new(
                    RemarkCode::ValuesClamped,
                    format!("{many} values outside the range of {} were clamped", self.to),
                ));
            }
        }
        let mut reasons: BTreeMap<&WhyLeft, usize> = BTreeMap::new();
        for left in &self.left {
            *reasons.entry(&left.why).or_default() += 1;
        }
        for (why, count) in reasons {
            let subject = if count == 1 { "1 node stays" } else { &format!("{count} nodes stay") };
            remarks.push(Remark::new(RemarkCode::NodesInFp32, format!("{subject} in fp32: {why}")));
        }
        remarks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_group_what_stays_by_its_reason() {
        let left = |node: &str, why| Left { node: node.into(), why };
        let mut report = Report::new(Precision::Fp16);
        assert!(report.remarks().is_empty());
        report.clamped = 2;
        let same = WhyLeft::LeftWeight;
        report.left = vec![left("a", same.clone()), left("b", same), left("c", WhyLeft::Excluded)];
        let expected = [
            "2 values outside the range of fp16 were clamped",
            "1 node stays in fp32: it was excluded",
            "2 nodes stay in fp32: weights on the left are kept",
        ];
        let texts: Vec<String> = report.remarks().into_iter().map(String::from).collect();
        assert_eq!(texts, expected);
    }
}
