//! How modules and checkpoint tensors are called: one row for each way of naming a transformer layer.

use crate::Layout;

/// The names a weight may have in a checkpoint, derived from its module path.
#[derive(Debug, Clone, Copy)]
pub(super) struct CheckpointNames {
    /// The base model's attribute in classes with a head; checkpoints of the base model alone leave it out.
    pub(super) base: &'static str,
    /// Parts of the path that checkpoints write differently, and how.
    pub(super) written: &'static [(&'static str, &'static str)],
    /// Whole paths of weights that a checkpoint may keep under another name only.
    pub(super) kept_as: &'static [(&'static str, &'static str)],
}

impl CheckpointNames {
    /// The names to look for, best first.
    pub(super) fn candidates(&self, path: &str) -> Vec<String> {
        let mut names = vec![path.to_owned()];
        if !self.base.is_empty() {
            let prefix = format!("{}.", self.base);
            names.push(match path.strip_prefix(&prefix) {
                Some(rest) => rest.to_owned(),
                None => format!("{prefix}{path}"),
            });
        }
        for name in names.clone() {
            let written = self
                .written
                .iter()
                .fold(name.clone(), |name, (ours, theirs)| name.replace(ours, theirs));
            if written != name {
                names.push(written);
            }
        }
        let others = self.kept_as.iter().filter(|(ours, _)| *ours == path);
        names.extend(others.map(|(_, theirs)| (*theirs).to_owned()));
        names
    }
}

/// Where query, key and value come from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Projections {
    /// Three linear layers, relative to the attention module.
    Separate { query: &'static str, key: &'static str, value: &'static str },
    /// One product for all three.
    Fused { module: &'static str, weight: &'static str, bias: &'static str },
}

/// Module paths of one attention, relative to its layer.
#[derive(Debug, Clone, Copy)]
pub(super) struct AttentionNames {
    /// Where scores and their sums are computed.
    pub(super) module: &'static str,
    /// Relative to `module`.
    pub(super) projections: Projections,
    pub(super) output: &'static str,
    pub(super) norm: &'static str,
    /// The module whose code adds the residual.
    pub(super) residual: &'static str,
}

/// Module paths of one feed-forward block, relative to its layer.
#[derive(Debug, Clone, Copy)]
pub(super) struct MlpNames {
    /// The module whose code multiplies with the gate.
    pub(super) module: &'static str,
    pub(super) up: &'static str,
    pub(super) gate: &'static str,
    pub(super) activation: &'static str,
    pub(super) down: &'static str,
    pub(super) norm: &'static str,
    /// The module whose code adds the residual.
    pub(super) residual: &'static str,
}

/// Module paths of a stack of layers.
#[derive(Debug, Clone, Copy)]
pub(super) struct LayerNames {
    /// The list of layers, relative to the model.
    pub(super) list: &'static str,
    pub(super) attention: AttentionNames,
    pub(super) cross: Option<AttentionNames>,
    pub(super) mlp: MlpNames,
    /// Norms of what attention and the feed-forward block give, before the residual, where there are any.
    pub(super) after: Option<[&'static str; 2]>,
    /// How linear weights lie in the checkpoint.
    pub(super) linear: Layout,
}

/// BERT and RoBERTa.
pub(super) const BERT: LayerNames = LayerNames {
    list: "encoder.layer",
    attention: AttentionNames {
        module: "attention.self",
        projections: Projections::Separate { query: "query", key: "key", value: "value" },
        output: "attention.output.dense",
        norm: "attention.output.LayerNorm",
        residual: "attention.output",
    },
    cross: None,
    mlp: MlpNames {
        module: "intermediate",
        up: "intermediate.dense",
        gate: "",
        activation: "intermediate.intermediate_act_fn",
        down: "output.dense",
        norm: "output.LayerNorm",
        residual: "output",
    },
    after: None,
    linear: Layout::Transposed,
};

/// DistilBERT.
pub(super) const DISTILBERT: LayerNames = LayerNames {
    list: "transformer.layer",
    attention: AttentionNames {
        module: "attention",
        projections: Projections::Separate { query: "q_lin", key: "k_lin", value: "v_lin" },
        output: "attention.out_lin",
        norm: "sa_layer_norm",
        residual: "",
    },
    cross: None,
    mlp: MlpNames {
        module: "ffn",
        up: "ffn.lin1",
        gate: "",
        activation: "ffn.activation",
        down: "ffn.lin2",
        norm: "output_layer_norm",
        residual: "",
    },
    after: None,
    linear: Layout::Transposed,
};

/// GPT-2, whose `Conv1D` keeps its weights as `MatMul` wants them.
pub(super) const GPT2: LayerNames = LayerNames {
    list: "h",
    attention: AttentionNames {
        module: "attn",
        projections: Projections::Fused { module: "c_attn", weight: "weight", bias: "bias" },
        output: "attn.c_proj",
        norm: "ln_1",
        residual: "",
    },
    cross: None,
    mlp: MlpNames {
        module: "mlp",
        up: "mlp.c_fc",
        gate: "",
        activation: "mlp.act",
        down: "mlp.c_proj",
        norm: "ln_2",
        residual: "",
    },
    after: None,
    linear: Layout::AsStored,
};

/// Llama, Mistral and Qwen2.
pub(super) const LLAMA: LayerNames = LayerNames {
    list: "layers",
    attention: AttentionNames {
        module: "self_attn",
        projections: Projections::Separate { query: "q_proj", key: "k_proj", value: "v_proj" },
        output: "self_attn.o_proj",
        norm: "input_layernorm",
        residual: "",
    },
    cross: None,
    mlp: MlpNames {
        module: "mlp",
        up: "mlp.up_proj",
        gate: "mlp.gate_proj",
        activation: "mlp.act_fn",
        down: "mlp.down_proj",
        norm: "post_attention_layernorm",
        residual: "",
    },
    after: None,
    linear: Layout::Transposed,
};

/// Gemma 3: norms before and after each block.
pub(super) const GEMMA3: LayerNames = LayerNames {
    mlp: MlpNames { norm: "pre_feedforward_layernorm", ..LLAMA.mlp },
    after: Some(["post_attention_layernorm", "post_feedforward_layernorm"]),
    ..LLAMA
};

/// T5's encoder; `wi_0` is the gate and `wi_1` goes up where there is a gate, else `wi` goes up.
pub(super) const T5_ENCODER: LayerNames = LayerNames {
    list: "encoder.block",
    attention: AttentionNames {
        module: "layer.0.SelfAttention",
        projections: Projections::Separate { query: "q", key: "k", value: "v" },
        output: "layer.0.SelfAttention.o",
        norm: "layer.0.layer_norm",
        residual: "layer.0",
    },
    cross: None,
    mlp: MlpNames {
        module: "layer.1.DenseReluDense",
        up: "layer.1.DenseReluDense.wi",
        gate: "",
        activation: "layer.1.DenseReluDense.act",
        down: "layer.1.DenseReluDense.wo",
        norm: "layer.1.layer_norm",
        residual: "layer.1",
    },
    after: None,
    linear: Layout::Transposed,
};

/// The gated feed-forward block of T5's encoder from version 1.1 on.
pub(super) const T5_ENCODER_GATED: MlpNames = MlpNames {
    up: "layer.1.DenseReluDense.wi_1",
    gate: "layer.1.DenseReluDense.wi_0",
    ..T5_ENCODER.mlp
};

/// T5's decoder.
pub(super) const T5_DECODER: LayerNames = LayerNames {
    list: "decoder.block",
    cross: Some(AttentionNames {
        module: "layer.1.EncDecAttention",
        projections: Projections::Separate { query: "q", key: "k", value: "v" },
        output: "layer.1.EncDecAttention.o",
        norm: "layer.1.layer_norm",
        residual: "layer.1",
    }),
    mlp: MlpNames {
        module: "layer.2.DenseReluDense",
        up: "layer.2.DenseReluDense.wi",
        gate: "",
        activation: "layer.2.DenseReluDense.act",
        down: "layer.2.DenseReluDense.wo",
        norm: "layer.2.layer_norm",
        residual: "layer.2",
    },
    ..T5_ENCODER
};

/// The gated feed-forward block of T5's decoder from version 1.1 on.
pub(super) const T5_DECODER_GATED: MlpNames = MlpNames {
    up: "layer.2.DenseReluDense.wi_1",
    gate: "layer.2.DenseReluDense.wi_0",
    ..T5_DECODER.mlp
};

/// ViT, with the module paths of transformers 5; checkpoints keep the older names.
pub(super) const VIT: LayerNames = LayerNames {
    list: "layers",
    attention: AttentionNames {
        module: "attention",
        projections: Projections::Separate { query: "q_proj", key: "k_proj", value: "v_proj" },
        output: "attention.o_proj",
        norm: "layernorm_before",
        residual: "",
    },
    cross: None,
    mlp: MlpNames {
        module: "mlp",
        up: "mlp.fc1",
        gate: "",
        activation: "mlp.activation_fn",
        down: "mlp.fc2",
        norm: "layernorm_after",
        residual: "",
    },
    after: None,
    linear: Layout::Transposed,
};

/// YOLOS, whose layers are those of the older ViT.
pub(super) const YOLOS: LayerNames = LayerNames {
    list: "encoder.layer",
    attention: AttentionNames {
        module: "attention.attention",
        projections: Projections::Separate { query: "query", key: "key", value: "value" },
        output: "attention.output.dense",
        norm: "layernorm_before",
        residual: "",
    },
    cross: None,
    mlp: MlpNames {
        module: "intermediate",
        up: "intermediate.dense",
        gate: "",
        activation: "intermediate.intermediate_act_fn",
        down: "output.dense",
        norm: "layernorm_after",
        residual: "output",
    },
    after: None,
    linear: Layout::Transposed,
};

/// The encoder of Whisper.
pub(super) const WHISPER: LayerNames = LayerNames {
    list: "layers",
    attention: AttentionNames {
        module: "self_attn",
        projections: Projections::Separate { query: "q_proj", key: "k_proj", value: "v_proj" },
        output: "self_attn.out_proj",
        norm: "self_attn_layer_norm",
        residual: "",
    },
    cross: None,
    mlp: MlpNames {
        module: "",
        up: "fc1",
        gate: "",
        activation: "activation_fn",
        down: "fc2",
        norm: "final_layer_norm",
        residual: "",
    },
    after: None,
    linear: Layout::Transposed,
};

/// Wav2Vec2.
pub(super) const WAV2VEC2: LayerNames = LayerNames {
    list: "encoder.layers",
    attention: AttentionNames {
        module: "attention",
        projections: Projections::Separate { query: "q_proj", key: "k_proj", value: "v_proj" },
        output: "attention.out_proj",
        norm: "layer_norm",
        residual: "",
    },
    cross: None,
    mlp: MlpNames {
        module: "feed_forward",
        up: "feed_forward.intermediate_dense",
        gate: "",
        activation: "feed_forward.intermediate_act_fn",
        down: "feed_forward.output_dense",
        norm: "final_layer_norm",
        residual: "",
    },
    after: None,
    linear: Layout::Transposed,
};

/// Both towers of CLIP.
pub(super) const CLIP: LayerNames = LayerNames {
    list: "encoder.layers",
    attention: AttentionNames {
        module: "self_attn",
        projections: Projections::Separate { query: "q_proj", key: "k_proj", value: "v_proj" },
        output: "self_attn.out_proj",
        norm: "layer_norm1",
        residual: "",
    },
    mlp: MlpNames { norm: "layer_norm2", ..VIT.mlp },
    ..VIT
};

/// `torch.nn.TransformerEncoder`.
pub(super) const TORCH: LayerNames = LayerNames {
    list: "layers",
    attention: AttentionNames {
        module: "self_attn",
        projections: Projections::Fused {
            module: "",
            weight: "in_proj_weight",
            bias: "in_proj_bias",
        },
        output: "self_attn.out_proj",
        norm: "norm1",
        residual: "",
    },
    cross: None,
    mlp: MlpNames {
        module: "",
        up: "linear1",
        gate: "",
        activation: "",
        down: "linear2",
        norm: "norm2",
        residual: "",
    },
    after: None,
    linear: Layout::Transposed,
};
