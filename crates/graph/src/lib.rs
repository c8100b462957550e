//! A model as a graph: read and write ONNX, infer shapes, count FLOPs, bytes and lifetimes, differentiate.
//!
//! A [`Graph`] is the one language between models and engines. Node names carry the module path
//! (`encoder.layer.0.attention.query`), so a layer has the same key everywhere. Nothing here knows where a model
//! comes from or how it is executed.

mod analysis;
mod attribute;
mod builder;
mod calls;
mod count;
mod data_type;
mod differentiate;
mod graph;
mod ir;
mod layers;
mod lifetimes;
mod node;
mod onnx;
mod opset;
mod order;
mod precision;
mod prune;
mod random;
mod rounding;
mod shapes;
mod sound;
mod taps;
mod tensor;
mod trips;

pub use analysis::{Analysis, NodeWork, analyse, analyse_shapes};
pub use attribute::Attribute;
pub use builder::{DEFAULT_OPSET, GraphBuilder};
pub use count::{BUFFERS, Weights, count_nonzeros, count_weights, nonzero_weights};
pub use data_type::UnknownDataType;
pub use differentiate::{
    DifferentiateError, GradientForm, LabelSpec, Loss, MaskSpec, NoGradient, OptimizerKind,
    OptimizerScalar, PreparedValue, SavedValue, State, TrainedParameter, TrainingGraphs,
    TrainingPlan, differentiate,
};
pub use ir::{DataType, Dim, Graph, Model, Node, Tensor, TensorData, ValueInfo};
pub use layers::{layer_kind, module_path};
pub use lifetimes::{ActivationPeak, Reuse, activation_peak, find_peak, pooled_peak};
pub use onnx::{ReadError, WriteError, open_regular};
pub use opset::{OPSETS, OpsetError};
pub use precision::{
    BlockMatrix, BlockPart, ConvertError, ConvertOptions, Converted, Int8, Left, Plan,
    PlannedWeight, Repack, Report, Tally, WhyLeft, convert, native_precision, plan_blocks,
    plan_conversion,
};
pub use prune::{
    Also, Block, BlockKind, Importance, PruneError, PruneMethod, PruneOptions, Pruning, Scales,
    Target, TensorCut, Unfit, plan_pruning, product_inputs,
};
pub use random::{RandomOutput, random_outputs};
pub use rounding::with_rounding_noise;
pub use shapes::{Shapes, infer, infer_observed};
pub use sound::Unsound;
pub use taps::{Tap, tap};
pub use trips::with_round_counts;
