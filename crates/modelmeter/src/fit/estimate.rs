//! What a batch should take, before anything ran: the engine itself, the weights, the activations.

use crate::prepare::Prepared;
use engine::Takes;
use types::{Bytes, Precision};

/// Bytes of the cache of all texts at their longest; 32 bits a number, as engines of graphs keep it.
fn cache(prepared: &Prepared) -> u64 {
    let shape = prepared.resolved().decoder.as_ref().map(|decoder| &decoder.shape);
    let context = prepared.cell.generation.map_or(0, types::Generation::context);
    let of_one = shape.map_or(0, |shape| shape.cache(context, size_of::<f32>()).0);
    of_one.saturating_mul(prepared.cell.batch_size as u64)
}

/// A static estimate: a fixed part, and a part for every sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Estimate {
    /// The engine's own memory and the weights.
    fixed: u64,
    /// Activations of one sample; `None` if shapes stay unknown.
    each: Option<u64>,
}

impl Estimate {
    /// From a prepared cell of any batch.
    pub(super) fn of(prepared: &Prepared) -> Estimate {
        let analysis = graph::analyse_shapes(prepared.graph(), &prepared.shapes());
        // What a framework makes of its linear layers in int8 is known once they are loaded: about a quarter.
        let quarter =
            prepared.engine.takes() == Takes::Module && prepared.cell.precision == Precision::Int8;
        let weights = prepared.weight_bytes().0 / if quarter { 4 } else { 1 };
        let batch = prepared.cell.batch_size.max(1) as u64;
        let own = prepared.engine.own_memory().0;
        Estimate {
            fixed: own.saturating_add(weights),
            each: analysis.work.activation_peak.map(|peak| (peak.0 + cache(prepared)) / batch),
        }
    }

    /// What a batch should take.
    pub(super) fn at(&self, batch: usize) -> Option<Bytes> {
        let activations = self.each?.saturating_mul(batch as u64);
        Some(Bytes(self.fixed.saturating_add(activations)))
    }

    /// The largest power of two, of at most `most`, that should fit; 1 where nothing should or nobody can tell.
    pub(super) fn start(&self, limit: Bytes, most: usize) -> usize {
        let powers = std::iter::successors(Some(1usize), |size| size.checked_mul(2));
        let fitting = powers
            .take_while(|size| *size <= most)
            .take_while(|size| self.at(*size).is_some_and(|bytes| bytes <= limit));
        fitting.last().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_batch_is_the_largest_power_of_two_that_should_fit() {
        let estimate = Estimate { fixed: 100, each: Some(10) };
        assert_eq!(estimate.at(7), Some(Bytes(170)));
        assert_eq!(estimate.start(Bytes(1000), 256), 64);
        assert_eq!(estimate.start(Bytes(1000), 20), 16);
        assert_eq!(estimate.start(Bytes(110), 256), 1);
        assert_eq!(estimate.start(Bytes(1), 256), 1, "what should not fit is tried all the same");
        let blind = Estimate { each: None, ..estimate };
        assert_eq!((blind.at(7), blind.start(Bytes(1000), 256)), (None, 1));
        let endless = Estimate { fixed: 0, each: Some(0) };
        assert_eq!(endless.start(Bytes(1), usize::MAX), 1 << (usize::BITS - 1));
    }
}
