//! Gradients against finite differences, operator by operator, at random shapes and values, run by `rten`.
//!
//! Values are kept away from kinks: there a difference is not a derivative.

mod attention;
mod contract;
mod graphs;
mod layout;
mod normalise;
mod pointwise;
mod products;
mod reduce;
mod select;
mod trial;
mod widen;
mod window;

use proptest::prelude::*;

/// A random shape of 1 to 4 axes with small sizes.
pub(crate) fn dims() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1usize..5, 1..5)
}

/// How many random shapes each operator is tried with.
pub(crate) fn few() -> ProptestConfig {
    // The seed is fixed by hand below where a failure must repeat; proptest prints the case.
    ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() }
}
