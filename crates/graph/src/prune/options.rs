//! What is asked for.

use super::PruneError;
use std::collections::HashMap;

/// How weights are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PruneMethod {
    /// The smallest numbers of each weight.
    Magnitude,
    /// The smallest numbers of all weights together.
    GlobalMagnitude,
    /// Any numbers.
    Random,
    /// All but the `keep` largest of every `of` numbers that meet in a sum.
    Groups {
        /// Numbers that stay.
        keep: usize,
        /// Numbers in a group.
        of: usize,
    },
    /// Whole heads and neurons.
    Structured,
}

/// Weights that are left alone unless they are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Also {
    /// Tables that are looked up.
    Embeddings,
    /// Scales and shifts of norms.
    Norms,
}

/// How strong each channel of an activation is, by the value's name: the root of the sum of its squares.
pub type Scales = HashMap<String, Vec<f32>>;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct PruneOptions {
    /// How weights are chosen.
    pub method: PruneMethod,
    /// Share of the numbers, heads or neurons that go, in [0, 1).
    pub sparsity: f64,
    /// Only weights whose name or module matches one of these patterns; all where there are none.
    pub layers: Vec<String>,
    /// No weights whose name or module matches one of these patterns.
    pub exclude: Vec<String>,
    /// Weights that are taken too.
    pub also: Vec<Also>,
    /// Seed of random choices.
    pub seed: u64,
    /// Strengths of the activations that weights are multiplied with: a weight then counts as much as it moves.
    pub scales: Scales,
    /// Shapes of the graph's inputs, by which heads and neurons are followed through it.
    pub inputs: Vec<(String, Vec<usize>)>,
}

impl PruneOptions {
    /// A share of the weights by a method, all else as usual.
    #[must_use]
    pub fn new(method: PruneMethod, sparsity: f64) -> PruneOptions {
        PruneOptions {
            method,
            sparsity,
            layers: Vec::new(),
            exclude: Vec::new(),
            also: Vec::new(),
            seed: 0,
            scales: Scales::new(),
            inputs: Vec::new(),
        }
    }

    /// Whether the options can be meant at all.
    pub(super) fn check(&self) -> Result<(), PruneError> {
        if !(0.0..1.0).contains(&self.sparsity) {
            return Err(PruneError::Sparsity { asked: self.sparsity });
        }
        if let PruneMethod::Groups { keep, of } = self.method
            && (keep == 0 || keep >= of || of > 64)
        {
            return Err(PruneError::Groups { keep, of });
        }
        Ok(())
    }
}
