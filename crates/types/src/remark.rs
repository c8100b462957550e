//! What a reader of a result must know, with a code that programs can decide by.

use crate::Outcome;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// What a remark is about.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum RemarkCode {
    /// There are no trained weights: all are random.
    UntrainedWeights,
    /// Weights that the checkpoint does not contain are random.
    MissingWeights,
    /// The weights are kept in a quantised format and run in a wider one.
    QuantisedWeights,
    /// The model does not run in the precision of its checkpoint.
    CheckpointWidened,
    /// The model was built without its head.
    HeadLeftOut,
    /// There is no graph of the model: only its framework can run it.
    NoGraph,
    /// A class of a framework that was chosen for the model.
    ModuleClass,
    /// Values outside the range of the precision were clamped.
    ValuesClamped,
    /// Nodes that stay in fp32.
    NodesInFp32,
    /// A size or a value of an input was assumed.
    AssumedInput,
    /// Sizes that were tried before these failed.
    SizesTried,
    /// A length was requested, but no input has one.
    LengthUnused,
    /// Tokens of the text did not fit and were cut off.
    TextCut,
    /// Texts of several lengths were padded to run together.
    TextPadded,
    /// Files were prepared before timing started.
    FilesPreparedOnce,
    /// What the requested device stands for.
    DeviceMeaning,
    /// The version of a library that only the library itself tells.
    LibraryVersion,
    /// Some nodes run on another device than the one requested.
    OtherDevice,
    /// The engine did not report where nodes run.
    UnknownPlacement,
    /// The graphics of a browser compute on the processor.
    SoftwareAdapter,
    /// A browser ran without its sandbox.
    NoSandbox,
    /// The engine computes in another precision than the one requested.
    OtherPrecision,
    /// The engine uses another number of threads than the one requested.
    OtherThreads,
    /// An option that the engine does not have.
    OptionWithoutEffect,
    /// An input that the module does not take.
    InputNotTaken,
    /// Only some layers are quantised.
    PartlyQuantised,
    /// TF32 is used for fp32.
    Tf32,
    /// The module keeps a number format of its own.
    FormatKept,
    /// Training without dropout.
    DropoutOff,
    /// The optimiser is not fused.
    OptimizerNotFused,
    /// Training in mixed precision.
    MixedPrecision,
    /// The loss of a training is scaled.
    LossScaled,
    /// How several processes train together.
    Ranks,
    /// How a change was tried on a program.
    TriedOnProgram,
    /// The device's own records could not be used.
    NoDeviceRecords,
    /// The engine reports times too coarsely for short nodes.
    CoarseTimes,
    /// Operators ran in parallel: their times can exceed the whole.
    ParallelOperators,
    /// A timeline that shows means.
    MeanTimeline,
    /// A timeline without the modules of the backward pass.
    BackwardWithoutModules,
    /// A timeline without the device.
    HostOnlyTimeline,
    /// Something else disturbed the measurement of layers.
    LayersDisturbed,
    /// The times of the layers do not add up to the whole.
    LayersDoNotAddUp,
    /// Times by layer are missing.
    NoLayerTimes,
    /// A timeline is missing.
    NoTimeline,
    /// The memory by layer is missing.
    NoMemoryReport,
    /// The peak of memory is that of all steps so far.
    PeakOfAllSteps,
    /// Allocations that the engine's allocator does not see.
    UnseenAllocations,
    /// Allocations that did not fit the buffer.
    AllocationsDropped,
    /// Weights that the allocator does not count.
    WeightsNotCounted,
    /// The worker shares its process with other work.
    SharedProcess,
    /// Times that are not valid.
    NotValid,
    /// Other work disturbed too much of a comparison.
    TooBusy,
    /// Pairs that other work disturbed are left out.
    DisturbedLeftOut,
    /// Significant alone, but not among so many comparisons.
    ManyComparisons,
    /// Sides with different numbers of turns.
    UnevenTurns,
    /// One process does not show the variance between processes.
    OneProcess,
    /// Measured at different times, so that drift looks like a difference.
    NotInterleaved,
    /// Outputs were compared with those of another engine, and equal them.
    OutputsCompared,
    /// Outputs were not compared.
    OutputsNotCompared,
    /// Outputs differ.
    OutputsDiffer,
    /// Runs of one side differ in their settings.
    RunsDiffer,
    /// Two sides differ in their settings.
    SidesDiffer,
    /// A side that could not be measured.
    SideLeftOut,
    /// A side or a cell whose measurement failed.
    NotMeasured,
    /// The size of the effect cannot be computed from what was measured.
    NotComparable,
    /// Times are per sample.
    PerSample,
    /// Cells with a single run.
    SingleRun,
    /// Cells or points without a valid run.
    NoValidRun,
    /// Runs that are not valid were requested.
    InvalidIncluded,
    /// Measured by another tool.
    Imported,
    /// Different models have the same name.
    SameName,
    /// Several machines, each with histories of its own.
    SeveralMachines,
    /// Runs close in time are one point.
    RunsMerged,
    /// Runs without a commit.
    NoCommit,
    /// The device has less memory than the limit.
    LessMemory,
    /// It fails without a limit of memory too.
    FailsWithoutLimit,
    /// The precision changes the outputs.
    PrecisionChangesOutputs,
    /// No larger batch was tried.
    LargestBatch,
    /// Nothing new was measured.
    NothingMeasured,
    /// A sweep over batch sizes ended early.
    SweepCutShort,
    /// Why a proof was not tried.
    NotTried,
    /// The speed changed with the memory.
    SpeedChanged,
    /// Weights that were not pruned.
    NotPruned,
    /// Blocks that were not found, or too small to lose a unit.
    NotCut,
    /// Blocks that were ranked without activations.
    RankedByWeights,
    /// Zeros in the place of what a format cannot express.
    ZerosInstead,
    /// Stored by a version without codes, or by a newer one.
    #[default]
    #[serde(other)]
    Unstated,
}

/// What a reader of a result must know.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Remark {
    /// What it is about.
    pub code: RemarkCode,
    /// The sentence, with the numbers.
    pub text: String,
}

impl Remark {
    /// A remark.
    #[must_use]
    pub fn new(code: RemarkCode, text: impl Into<String>) -> Remark {
        Remark { code, text: text.into() }
    }
}

impl From<Remark> for Outcome {
    /// The refusal of a speed-up.
    fn from(Remark { code, text }: Remark) -> Outcome {
        Outcome::Refused { code, why: text }
    }
}

impl std::fmt::Display for Remark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<Remark> for String {
    fn from(remark: Remark) -> String {
        remark.text
    }
}

impl From<&Remark> for String {
    fn from(remark: &Remark) -> String {
        remark.text.clone()
    }
}

/// Earlier versions stored the sentence alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    Text(String),
    Coded { code: RemarkCode, text: String },
}

impl<'de> Deserialize<'de> for Remark {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Remark, D::Error> {
        Ok(match Stored::deserialize(deserializer)? {
            Stored::Text(text) => Remark { code: RemarkCode::Unstated, text },
            Stored::Coded { code, text } => Remark { code, text },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json, to_value};

    #[test]
    fn a_remark_is_written_with_its_code() {
        let remark = Remark::new(RemarkCode::TextCut, "12 tokens were cut off");
        let written = to_value(&remark).unwrap();
        assert_eq!(written, json!({"code": "text-cut", "text": "12 tokens were cut off"}));
        assert_eq!(from_value::<Remark>(written).unwrap(), remark);
    }

    #[test]
    fn a_sentence_of_an_earlier_version_is_read_without_a_code() {
        let remark: Remark = from_value(json!("the machine was busy")).unwrap();
        assert_eq!(remark, Remark::new(RemarkCode::Unstated, "the machine was busy"));
    }

    #[test]
    fn a_code_of_a_newer_version_does_not_make_a_run_unreadable() {
        let remark: Remark = from_value(json!({"code": "solar-flare", "text": "x"})).unwrap();
        assert_eq!(remark.code, RemarkCode::Unstated);
        assert!(from_value::<Remark>(json!({"code": "tf32"})).is_err(), "a remark has a text");
    }
}
