//! Why a node stays in fp32: a code with what it needs to be put into words.

use std::fmt::{Display, Formatter, Result};

/// Why a node stays in fp32; its words are the end of the sentence "stays in fp32: …".
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum WhyLeft {
    /// The user said so.
    Excluded,
    /// A shape or a position is computed there.
    Positions,
    /// The squares of a norm are added up there.
    Squares,
    /// Nobody knows the types of its inputs.
    UnknownInputs,
    /// An operator that holds graphs.
    HoldsGraphs {
        /// The operator.
        op: String,
    },
    /// An operator of another domain.
    Foreign {
        /// The operator.
        op: String,
    },
    /// An operator on lists of tensors.
    Lists {
        /// The operator.
        op: String,
    },
    /// ONNX does not define the operator for the format.
    NotDefined {
        /// The operator.
        op: String,
        /// The format.
        format: &'static str,
    },
    /// ONNX defines the operator for the format in a later operator set.
    Later {
        /// The operator.
        op: String,
        /// The format.
        format: &'static str,
        /// The operator set that has it first.
        since: i64,
    },
    /// Statistics of an operator may stay in fp32 in a later operator set only.
    LaterStatistics {
        /// The operator.
        op: String,
        /// The operator set that has it first.
        since: i64,
    },
    /// Weights of an operator that is no matrix product.
    NoProduct {
        /// The operator.
        op: String,
    },
    /// A product inside a graph of this operator.
    Inside {
        /// The operator.
        op: String,
    },
    /// Its weight stands on the left.
    LeftWeight,
    /// Its weight has other than two dimensions.
    Dimensions,
    /// It has fewer weights than this.
    Small {
        /// From so many weights on a product is quantised.
        smallest: usize,
    },
    /// Its activations are transposed, or its bias is scaled.
    Transposed,
    /// Some of its weights are not finite.
    NotFinite,
}

impl Display for WhyLeft {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            WhyLeft::Excluded => f.write_str("it was excluded"),
            WhyLeft::Positions => {
                f.write_str("positions and sizes need more digits than 16 bits have")
            }
            WhyLeft::Squares => f.write_str("the squares of a norm leave the range of 16 bits"),
            WhyLeft::UnknownInputs => f.write_str("the types of its inputs are not known"),
            WhyLeft::HoldsGraphs { op } => write!(f, "`{op}` holds graphs of its own"),
            WhyLeft::Foreign { op } => write!(f, "`{op}` is not an operator of ONNX itself"),
            WhyLeft::Lists { op } => write!(f, "`{op}` handles lists of tensors"),
            WhyLeft::NotDefined { op, format } => write!(f, "`{op}` has no {format}"),
            WhyLeft::Later { op, format, since } => {
                write!(f, "`{op}` has {format} only from operator set {since} on")
            }
            WhyLeft::LaterStatistics { op, since } => {
                write!(
                    f,
                    "`{op}` may keep its statistics in fp32 only from operator set {since} on"
                )
            }
            WhyLeft::NoProduct { op } => {
                write!(f, "only matrix products are quantised, not `{op}`")
            }
            WhyLeft::Inside { op } => write!(f, "products inside `{op}` are kept"),
            WhyLeft::LeftWeight => f.write_str("weights on the left are kept"),
            WhyLeft::Dimensions => f.write_str("weights with other than two dimensions are kept"),
            WhyLeft::Small { smallest } => {
                write!(f, "products with fewer than {smallest} weights are not worth it")
            }
            WhyLeft::Transposed => {
                f.write_str("products with transposed activations or a scaled bias are kept")
            }
            WhyLeft::NotFinite => f.write_str("weights that are not finite cannot be rounded"),
        }
    }
}
