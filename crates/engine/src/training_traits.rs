//! How an engine trains.

use types::Precision;

/// How an engine trains, and what makes the graphs of a step fast on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrainingTraits {
    /// The number formats it trains in.
    pub precisions: &'static [Precision],
    /// Whether several processes can train together.
    pub in_several_processes: bool,
    /// Whether it shows where the time and the memory of a step go, and what happens when.
    pub shows_steps: bool,
    /// Whether its products transpose their left matrix slowly, so that it is transposed before.
    pub transposes_slowly: bool,
    /// Whether its products are slow where rows are a multiple of 4096 bytes apart, so that layers get spare columns.
    pub needs_spare_columns: bool,
}

impl TrainingTraits {
    /// Those of an engine that runs our own graphs of a step, which are in fp32, without quirks.
    pub const OF_GRAPHS: TrainingTraits = TrainingTraits {
        precisions: &[Precision::Fp32],
        in_several_processes: false,
        shows_steps: true,
        transposes_slowly: false,
        needs_spare_columns: false,
    };
}
