//! What is known of one value, and one node with what is known of its inputs.

use crate::{DataType, Node};

/// Constants up to this many elements are followed as numbers; shapes, axes and scales are far smaller.
pub(crate) const MOST_NUMBERS: usize = 4096;

/// What is known of one value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Value {
    /// Its element type; `Undefined` where unknown.
    pub(crate) dtype: DataType,
    /// Its dims; `None` if any of them is unknown.
    pub(crate) dims: Option<Vec<usize>>,
    /// Its elements, where they are few and known before a run.
    pub(crate) numbers: Option<Vec<f64>>,
}

impl Value {
    /// A value of known dims.
    pub(crate) fn new(dtype: DataType, dims: Vec<usize>) -> Value {
        Value { dtype, dims: Some(dims), numbers: None }
    }

    /// A value of which at most the type is known.
    pub(crate) fn unknown(dtype: DataType) -> Value {
        Value { dtype, dims: None, numbers: None }
    }

    /// A value whose elements are known too.
    pub(crate) fn known(dtype: DataType, dims: Vec<usize>, numbers: Vec<f64>) -> Value {
        let fits = numbers.len() <= MOST_NUMBERS && elements(&dims) == Some(numbers.len());
        Value { dtype, dims: Some(dims), numbers: fits.then_some(numbers) }
    }

    /// How many elements; `None` if unknown.
    pub(crate) fn elements(&self) -> Option<u64> {
        self.dims.as_deref().and_then(elements).map(|n| n as u64)
    }

    /// How many bytes; `None` if dims or width are unknown.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let elements = elements(self.dims.as_deref()?)?;
        (self.dtype.size_bits() > 0).then(|| self.dtype.size(elements))
    }
}

/// The product of dims; `None` if it does not fit.
pub(crate) fn elements(dims: &[usize]) -> Option<usize> {
    dims.iter().try_fold(1usize, |product, dim| product.checked_mul(*dim))
}

/// One node with what is known of its inputs.
pub(crate) struct Call<'a> {
    /// The node.
    pub(crate) node: &'a Node,
    /// What is known of each input; `None` if it is omitted or unknown altogether.
    pub(crate) inputs: Vec<Option<&'a Value>>,
}

impl<'a> Call<'a> {
    /// The dims of an input.
    pub(crate) fn dims(&self, index: usize) -> Option<&'a [usize]> {
        self.inputs.get(index).copied().flatten()?.dims.as_deref()
    }

    /// The type of an input.
    pub(crate) fn dtype(&self, index: usize) -> DataType {
        self.inputs.get(index).copied().flatten().map_or(DataType::Undefined, |value| value.dtype)
    }

    /// Whether an input is given.
    pub(crate) fn has(&self, index: usize) -> bool {
        self.node.input(index).is_some()
    }

    /// The elements of an input.
    pub(crate) fn numbers(&self, index: usize) -> Option<&'a [f64]> {
        self.inputs.get(index).copied().flatten()?.numbers.as_deref()
    }

    /// The elements of an input as integers.
    pub(crate) fn ints(&self, index: usize) -> Option<Vec<i64>> {
        self.numbers(index).map(|numbers| numbers.iter().map(|x| *x as i64).collect())
    }

    /// A list that older operator sets give as an argument and newer ones as an input; the outer `None` is unknown, the
    /// inner one not given.
    pub(crate) fn list(&self, attribute: &str, index: usize) -> Option<Option<Vec<i64>>> {
        if let Some(values) = self.node.ints(attribute) {
            return Some(Some(values.to_vec()));
        }
        if !self.has(index) {
            return Some(None);
        }
        self.ints(index).map(Some)
    }

    /// An integer argument or its default.
    pub(crate) fn int(&self, name: &str, default: i64) -> i64 {
        self.node.int(name).unwrap_or(default)
    }

    /// One output with the type of an input.
    pub(crate) fn like(&self, index: usize, dims: Option<Vec<usize>>) -> Option<Vec<Value>> {
        Some(vec![Value { dtype: self.dtype(index), dims, numbers: None }])
    }
}
