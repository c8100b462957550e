//! A model as a framework's own module, for engines that do not read ONNX.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One parameter of a module and where its values lie.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleTensor {
    /// What the module may call it; the first that it has counts.
    pub names: Vec<String>,
    /// What the weights file calls it.
    pub stored: String,
    /// Whether the file holds it turned over.
    pub transposed: bool,
}

/// The very weights that our graph uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleWeights {
    /// A file in the safetensors format.
    pub file: PathBuf,
    /// Every parameter in it.
    pub tensors: Vec<ModuleTensor>,
}

/// How a framework makes the module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Module {
    /// A class of `transformers`.
    Transformers {
        /// The class: `DistilBertModel`.
        class: String,
        /// The whole configuration as JSON, `model_type` included.
        config: String,
        /// Its weights.
        weights: ModuleWeights,
    },
    /// Our own transformer encoder.
    Encoder {
        /// The configuration as JSON, with the keys of a TOML description.
        config: String,
        /// Its weights.
        weights: ModuleWeights,
    },
    /// Our own feed-forward network.
    FeedForward {
        /// The configuration as JSON, with the keys of a TOML description.
        config: String,
        /// Its weights.
        weights: ModuleWeights,
    },
    /// A Hugging Face folder that `transformers` makes a module of.
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// A user's own function that returns a module.
    Factory {
        /// The Python file.
        file: PathBuf,
        /// The function in it.
        function: String,
    },
    /// A file that holds a whole program: TorchScript, `torch.export`, or a pickle.
    Archive {
        /// The file.
        path: PathBuf,
    },
}
