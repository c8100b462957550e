//! A changed model that lies in a folder.

use graph::{Converted, Model};
use models::{Exported, Resolved};
use std::{collections::HashMap, path::PathBuf, time::Duration};
use types::{BlockFacts, Bytes, ModelInfo, Optimisation, Remark, WeightFacts};

/// A changed model that lies in a folder, and what is known of it without running it.
#[derive(Debug, Clone)]
pub struct Changed {
    /// The folder.
    pub folder: PathBuf,
    /// The graph that engines load.
    pub onnx: PathBuf,
    /// The model before.
    pub model: ModelInfo,
    /// What was done.
    pub optimisation: Optimisation,
    /// Parameters before, and how many of them were not zero.
    pub before: [u64; 2],
    /// Parameters after, and how many of them are not zero.
    pub after: [u64; 2],
    /// Bytes of graph and weights before and after.
    pub sizes: [Bytes; 2],
    /// Weights that changed.
    pub weights: Vec<WeightFacts>,
    /// Blocks that lost heads or neurons.
    pub blocks: Vec<BlockFacts>,
    /// Whether the folder has weights for `transformers`.
    pub has_transformers: bool,
    /// What a reader must know of the weights for `transformers`.
    pub transformers_remark: Option<Remark>,
    /// How long it took, with writing.
    pub took: Duration,
    /// Remarks that limit or explain the result.
    pub remarks: Vec<Remark>,
}

/// What came out of writing, with what went in.
pub(super) struct Pieces<'a> {
    pub(super) resolved: &'a Resolved,
    pub(super) exported: Exported,
    pub(super) optimisation: Optimisation,
    pub(super) weights: Vec<WeightFacts>,
    pub(super) blocks: Vec<BlockFacts>,
    pub(super) nonzeros: HashMap<String, u64>,
    pub(super) took: Duration,
    pub(super) remarks: Vec<Remark>,
}

impl Changed {
    pub(super) fn of(pieces: Pieces<'_>) -> Changed {
        let Pieces { resolved, exported, optimisation, weights, blocks, nonzeros, took, .. } =
            pieces;
        let mut remarks = pieces.remarks;
        remarks.extend(exported.converted.report.remarks());
        let parameters = |model: &Model| graph::count_weights(model).parameters;
        let Converted { model, .. } = &exported.converted;
        Changed {
            onnx: exported.folder.join("onnx/model.onnx"),
            folder: exported.folder,
            model: resolved.info.clone(),
            optimisation,
            before: [parameters(&resolved.model), nonzeros.values().sum()],
            after: [parameters(model), exported.converted.nonzero_parameters()],
            sizes: [resolved.info.size, exported.size],
            weights,
            blocks,
            has_transformers: exported.has_transformers,
            transformers_remark: exported.transformers_remark,
            took,
            remarks,
        }
    }

    /// This change and the one it came after, as one.
    pub(super) fn following(self, earlier: &Changed) -> Changed {
        let mut remarks = earlier.remarks.clone();
        remarks.extend(self.remarks);
        let changes = vec![earlier.optimisation.clone(), self.optimisation];
        // The earlier folder's weights for `transformers` may not be in this one.
        let earlier_remark = earlier.transformers_remark.clone().filter(|_| self.has_transformers);
        Changed {
            transformers_remark: self.transformers_remark.or(earlier_remark),
            model: earlier.model.clone(),
            optimisation: Optimisation::Together { changes },
            before: earlier.before,
            sizes: [earlier.sizes[0], self.sizes[1]],
            weights: earlier.weights.clone(),
            blocks: earlier.blocks.clone(),
            took: earlier.took + self.took,
            remarks,
            ..self
        }
    }
}
