//! The nouns of Modelmeter: cell, run, sample, metric, machine, device, event, verdict, comparison,
//! advice.
//!
//! Everything here is a plain value that serialises; nothing opens a file, asks the system or prints. A word means the same
//! thing in every crate because it is defined once, here.

mod advice;
mod against;
mod allocation;
mod analysis;
mod attempt_refusal;
mod caught;
mod ceilings;
mod cell;
mod cell_failure;
mod comparison;
mod critical_path;
mod device;
mod dialect;
mod environment;
mod event;
mod export;
mod feed;
mod fit;
mod gate;
mod gauge;
mod generation;
mod gpu;
mod import;
mod inside;
mod interim;
mod layer_kind;
mod layers;
mod likeness;
mod limit;
mod load;
mod machine;
mod measured;
mod media;
mod memory;
mod memory_place;
mod metric;
mod model;
mod module;
mod module_path;
mod optimisation;
mod options;
mod pattern;
mod pooling;
mod precision;
mod reading;
mod recommendation;
mod remark;
mod run;
mod sample;
mod stable_hash;
mod stopping;
mod summary;
mod task;
mod tensor;
mod throttling;
mod timeline;
mod training;
mod trend;
mod units;
mod variant;
mod verdict;

pub use advice::{
    Advice, AdviceReport, Change, Evidence, ExpectedGain, Fine, Goal, ParseGoalError, Proof,
    SweepPoint, Trial, TrialVerdict, Unjudged,
};
pub use against::{Against, AgainstCell, AgainstOutcome, AllowanceFrom, FileCell};
pub use allocation::{AllocationEvent, Allocations, LayerName, Recorded};
pub use analysis::{
    AnalysedCell, Analysis, BatchSeries, CellKey, LengthSeries, NotValidCell, Pooled, PooledCell,
    Scaling, Tally,
};
pub use attempt_refusal::{AttemptRefusal, AttemptRefusalKind};
pub use caught::{caught, is_caught};
pub use ceilings::{CacheBandwidth, Ceiling, Ceilings, CopyCeiling, Unmeasured};
pub use cell::{Cell, InputShape, Mode, Text};
pub use cell_failure::{CellFailure, FailureKind};
pub use comparison::{
    Agreement, Comparison, ComparisonReport, Design, Disturbed, Duel, DuelLooks, Ended,
    LooksReport, Outcome, OutputParity, Parity, Side, SideInfo, SideReport, SpeedUp, Turn,
    TurnConditions,
};
pub use critical_path::{CriticalPath, PathLink, PathPlace, Wait};
pub use device::{Device, ParseDeviceError};
pub use dialect::DecoderDialect;
pub use environment::{CgroupLimits, Environment, GpuState, Revision, Throttle};
pub use event::{Event, Stage, WaitReason};
pub use export::{ExportCheck, ExportReport};
pub use feed::{FedInput, Feed, InputValues, LengthUnit, MediaSource, ValueRange, ValueSource};
pub use fit::{
    CacheCost, Confirmation, ContextTry, FitCell, FitContext, FitLeftOut, FitOutcome, FitReport,
    FitTry, FitWay, Refusal, RefusalKind, SmallestNeed,
};
pub use gate::{
    Check, Drifted, GateCell, GateDesign, GateEvidence, GatePlan, GateReport, Itself, Jitter,
    Missing, Noise, Question, Ruling,
};
pub use gauge::{Gauge, ParseGaugeError, Statistic, Threshold};
pub use generation::{
    DecoderShape, Generation, GenerationReport, GenerationTest, Sampling, StepGrowth,
};
pub use gpu::{
    CopyDirection, CopyMemory, GpuCopies, GpuDevice, GpuGap, GpuGapCause, GpuKernel, GpuLaunches,
    GpuPart, GpuProblem, GpuProblemKind, GpuProcess, GpuProfile, GpuRange,
};
pub use import::{Correction, Import, Stated};
pub use inside::{
    Bound, DeviceTime, DeviceTurn, Estimate, Layer, LayerReport, LayerTurn, LayerWork, Rollup,
    Roofline, Spent,
};
pub use interim::{Interim, InterimRow, InterimState};
pub use layer_kind::LayerKind;
pub use layers::{
    LayerCell, LayerCost, LayerJoin, LayerProfile, LayerRow, LayerSide, LayerTime, step_path,
};
pub use likeness::{likeness, near, near_by, nearest};
pub use limit::{LimitedBy, MemoryLimit, ParseLimitedByError};
pub use load::{
    Arrivals, CapacityLeftOut, CapacityOption, CapacityProof, CapacityReport, GeneratorReport,
    LatencyRow, LimitOutcome, Load, LoadBatches, LoadBatching, LoadComparison, LoadCounts,
    LoadErrors, LoadLimit, LoadMetric, LoadPadding, LoadPercentiles, LoadProgress, LoadRates,
    LoadRatio, LoadReport, LoadRequests, LoadStatistic, LoadTexts, LoadTokens, LoadWindow,
    ParseLoadLimitError, ParseScenarioError, ProbeOutcome, Protocol, RateProbe, RateSearch,
    RequestOutcome, Scenario, ServerMetric,
};
pub use machine::{Cpu, Gpu, Machine};
pub use measured::{Measured, Newest, Percentiles};
pub use media::{
    Filter, ImageRecipe, MediaJob, MediaRecipe, Resize, SoundRecipe, SpectrogramRecipe,
};
pub use memory::{
    AllocatorMemory, LayerMemory, LeakCheck, LeakVerdict, LiveBlocks, LiveTensor, MemoryPoint,
    MemoryReport, ModuleMemory, StaticMemory, StepMemory, SystemMemory, TIMELINE_POINTS,
};
pub use metric::{Direction, Metric, Provenance, Unit, key};
pub use model::{Category, MadeFrom, ModelInfo, ModelSource, Weights, Work};
pub use module::{Module, ModuleTensor, ModuleWeights};
pub use module_path::{Names, ancestry, common_module, module_of};
pub use optimisation::{
    Attempt, BlockFacts, Drift, ModelFacts, Optimisation, OptimizeReport, OutputDrift, ProofReport,
    Similarity, SpeedProof, SpeedVerdict, Target, WeightFacts,
};
pub use options::{EngineOptions, GraphOptimisation, ParseOptionError, PerformanceHint};
pub use pattern::matches_pattern;
pub use pooling::{ModuleWork, Pooling, pooled_list, pooled_path};
pub use precision::{ParsePrecisionError, Precision};
pub use reading::{MissingCode, Reading};
pub use recommendation::{
    Behind, Candidate, Exclusion, Gap, LeftOut, Objective, ParseObjectiveError, Percentile, Price,
    Prices, Recommendation, Slo, Wish,
};
pub use remark::{Remark, RemarkCode};
pub use run::{Cold, EngineInfo, ProbeReport, Run, RunId, WarmupReport};
pub use sample::{Phase, Samples};
pub use stable_hash::stable_hash;
pub use stopping::{StopReason, StoppingRule, Warmup, parse_duration};
pub use summary::{Floor, Interval, PERCENTILE_FLOORS, Summary, Unsupported};
pub use task::{PlanLeftOut, Task};
pub use tensor::{ElementType, Elements, Fill, HostTensor, InputRole, InputSpec, Postprocess};
pub use throttling::ThrottleReason;
pub use timeline::{Counter, Span, SpanKind, Timeline, Track};
pub use training::{
    BrokenLoss, Loss, Optimizer, Rate, Training, TrainingMemory, TrainingReport, TrainingWorld,
};
pub use trend::{
    ParseTrendMetricError, Trend, TrendBy, TrendChange, TrendMetric, TrendPoint, TrendSeries,
    TrendStanding, TrendSuspicion,
};
pub use units::{Bytes, Flops, Joules, Ratio, Seconds};
pub use variant::{Untold, Variant, VariantValues};
pub use verdict::{InvalidRuns, Reason, ReasonCode, Verdict};
