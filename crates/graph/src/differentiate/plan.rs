//! What is asked for: the loss, the optimiser, what is kept. And what comes out.

use crate::{DataType, Model, Tensor};

/// How training is to be done.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrainingPlan {
    /// What is minimised.
    pub loss: Loss,
    /// The optimiser.
    pub optimizer: OptimizerKind,
    /// The output that the loss reads; by default the first float output that fits.
    pub output: Option<String>,
    /// Whether only the values between repeated modules are kept, and the rest computed again in the backward graph.
    pub checkpointing: bool,
    /// Whether the left matrix of a product is turned in a node of its own, for engines whose products turn it slowly.
    pub turned_first: bool,
    /// Whether the backward graph takes a value as it reads it, under other dims or (without checkpointing) turned, where
    /// whoever runs the graphs can make it so: [`TrainingGraphs::prepared`].
    pub prepared: bool,
    /// Whether layers of a width that is slow get spare columns of zeros: [`TrainedParameter::dims`].
    pub spare_columns: bool,
}

/// What is minimised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Loss {
    /// The mean of −log softmax at the label, over all places whose label is not −100.
    #[default]
    CrossEntropy,
    /// The mean square of the differences.
    MeanSquares,
}

/// How the weights move; the formulas are PyTorch's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OptimizerKind {
    /// Against the gradient; no state.
    Sgd,
    /// Against a running sum of gradients; one state a parameter.
    Momentum,
    /// With running means of the gradient and its square; two states a parameter.
    Adam,
    /// AdamW: Adam with decoupled weight decay.
    #[default]
    AdamW,
}

/// The four graphs of a training step, and what connects them.
///
/// A value has one name in all four: what `forward` gives under a name is what `backward` takes under it.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingGraphs {
    /// Takes the model's inputs, the parameters and the masks; gives the output and the saved values.
    pub forward: Model,
    /// Takes the output, the labels and `loss_scale`; gives the loss and the output's gradient times `loss_scale`.
    pub loss: Model,
    /// Takes the output's gradient, saved values, and of parameters, inputs and masks what it needs; gives gradients.
    pub backward: Model,
    /// Takes parameters, gradients, states and [scalars](Self::optimizer_scalars); gives new parameters and states.
    pub optimizer: Model,
    /// What is trained, in the order of the model's weights.
    pub parameters: Vec<TrainedParameter>,
    /// Weights that the loss does not depend on; where the forward graph uses them they are constants in it.
    pub untrained: Vec<String>,
    /// What the forward graph keeps for the backward graph.
    pub saved: Vec<SavedValue>,
    /// What the backward graph takes in another form than it was given in; empty unless the plan asks for it.
    pub prepared: Vec<PreparedValue>,
    /// What the loss compares with.
    pub labels: LabelSpec,
    /// The output that the loss reads.
    pub output: SavedValue,
    /// The name of its gradient.
    pub output_gradient: String,
    /// The name of the loss, a scalar.
    pub loss_value: String,
    /// The scalar input of the loss graph that the gradient is multiplied with; 1 in plain training.
    pub loss_scale: String,
    /// Dropout masks that are drawn anew for every step.
    pub masks: Vec<MaskSpec>,
    /// The scalar inputs of the optimiser graph.
    pub optimizer_scalars: Vec<OptimizerScalar>,
}

/// One trained weight.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainedParameter {
    /// Its name, in all graphs.
    pub name: String,
    /// Its dims in the graphs. Where the plan asks for spare columns they can be larger than the weight's own: what is
    /// more is zeros, and stays so.
    pub dims: Vec<usize>,
    /// The weight in the model: where the first values are, and its own dims.
    pub initializer: Tensor,
    /// How its gradient comes.
    pub gradient: GradientForm,
    /// Its optimiser states, of the parameter's dims, zero at first.
    pub states: Vec<State>,
    /// The optimiser graph's output with the new values.
    pub updated: String,
}

/// One state of a parameter in the optimiser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// The optimiser graph's input.
    pub name: String,
    /// Its output with the new values.
    pub updated: String,
}

/// How a gradient comes out of the backward graph; the names are its outputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GradientForm {
    /// A tensor of the parameter's dims.
    Dense {
        /// The gradient.
        gradient: String,
    },
    /// The rows of a table that were looked up; a row may come several times, its gradients add up.
    Rows {
        /// Which rows: `[n]`, 64-bit integers from 0.
        indices: String,
        /// Their gradients: `[n, width]`.
        values: String,
        /// How many rows.
        count: usize,
    },
    /// A table that is also used as a whole: both parts add up.
    DenseAndRows {
        /// The gradient of the whole.
        dense: String,
        /// Which rows.
        indices: String,
        /// Their gradients.
        values: String,
        /// How many rows.
        count: usize,
    },
}

/// A value that one graph makes and another one takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedValue {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub dtype: DataType,
    /// Its dims.
    pub dims: Vec<usize>,
}

/// A float value that the backward graph takes in another form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedValue {
    /// The input of the backward graph.
    pub name: String,
    /// The value it is made of: a saved value, the output's gradient, a parameter, an input or a mask.
    pub of: String,
    /// The dims it is taken with.
    pub dims: Vec<usize>,
    /// Whether it is a matrix whose rows are the columns of `of`, read under the swapped dims; else the elements are
    /// the same in the same order.
    pub turned: bool,
}

/// What the loss compares with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelSpec {
    /// The loss graph's input.
    pub name: String,
    /// 64-bit integers for cross-entropy, floats for mean squares.
    pub dtype: DataType,
    /// The output's dims, for cross-entropy without the last one.
    pub dims: Vec<usize>,
    /// For cross-entropy: labels are below this, or −100 where a place does not count.
    pub classes: Option<usize>,
}

/// A dropout mask: each element is 0 with the probability `ratio`, else 1 ÷ (1 − `ratio`).
#[derive(Debug, Clone, PartialEq)]
pub struct MaskSpec {
    /// The input of the forward graph, and of the backward graph where that needs it.
    pub name: String,
    /// Its dims.
    pub dims: Vec<usize>,
    /// The share that is dropped.
    pub ratio: f32,
}

/// A scalar that the optimiser graph takes, a 32-bit float without dims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OptimizerScalar {
    /// The learning rate.
    LearningRate,
    /// The share of the old sum of gradients that is kept.
    Momentum,
    /// The share of the old mean gradient that is kept.
    Beta1,
    /// The share of the old mean square that is kept.
    Beta2,
    /// What is added to the root of the mean square.
    Epsilon,
    /// The weights' own decay.
    WeightDecay,
    /// 1 − β₁ᵗ in step t, counted from 1.
    Correction1,
    /// 1 − β₂ᵗ in step t, counted from 1.
    Correction2,
}

impl OptimizerScalar {
    /// The graph input's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            OptimizerScalar::LearningRate => "learning_rate",
            OptimizerScalar::Momentum => "momentum",
            OptimizerScalar::Beta1 => "beta_1",
            OptimizerScalar::Beta2 => "beta_2",
            OptimizerScalar::Epsilon => "epsilon",
            OptimizerScalar::WeightDecay => "weight_decay",
            OptimizerScalar::Correction1 => "correction_1",
            OptimizerScalar::Correction2 => "correction_2",
        }
    }
}
