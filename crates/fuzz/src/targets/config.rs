//! Configurations and descriptions, from which graphs are built.

use crate::{Outcome, Target, mutate, target::Reader};
use models::Blueprint;
use std::path::Path;

/// A configuration of every family, as small as it goes.
pub(crate) const CONFIGS: [&str; 14] = [
    r#"{"model_type":"bert","architectures":["BertForMaskedLM"],"vocab_size":40,"hidden_size":8,"num_hidden_layers":1,
        "num_attention_heads":2,"intermediate_size":12,"max_position_embeddings":16,"type_vocab_size":2,
        "hidden_act":"gelu","layer_norm_eps":1e-12,"pad_token_id":0,"tie_word_embeddings":true,
        "initializer_range":0.02,"position_embedding_type":"absolute"}"#,
    r#"{"model_type":"distilbert","architectures":["DistilBertForSequenceClassification"],"vocab_size":40,"dim":8,
        "n_layers":1,"n_heads":2,"hidden_dim":12,"max_position_embeddings":16,"activation":"gelu",
        "id2label":{"0":"a","1":"b"},"num_labels":2}"#,
    r#"{"model_type":"roberta","architectures":["RobertaForTokenClassification"],"vocab_size":40,"hidden_size":8,
        "num_hidden_layers":1,"num_attention_heads":2,"intermediate_size":12,"max_position_embeddings":16,
        "type_vocab_size":1,"pad_token_id":1,"num_labels":3}"#,
    r#"{"model_type":"gpt2","architectures":["GPT2LMHeadModel"],"vocab_size":40,"n_embd":8,"n_layer":1,"n_head":2,
        "n_positions":16,"n_inner":12,"activation_function":"gelu_new","scale_attn_weights":true,
        "scale_attn_by_inverse_layer_idx":true,"layer_norm_epsilon":1e-5}"#,
    r#"{"model_type":"llama","architectures":["LlamaForCausalLM"],"vocab_size":40,"hidden_size":8,
        "num_hidden_layers":1,"num_attention_heads":2,"num_key_value_heads":1,"intermediate_size":12,"head_dim":4,
        "max_position_embeddings":16,"rms_norm_eps":1e-6,"rope_theta":10000.0,"attention_bias":true,"mlp_bias":true,
        "rope_scaling":{"rope_type":"llama3","factor":8.0,"low_freq_factor":1.0,"high_freq_factor":4.0,
        "original_max_position_embeddings":8},"tie_word_embeddings":true,"hidden_act":"silu"}"#,
    r#"{"model_type":"mistral","architectures":["MistralForCausalLM"],"vocab_size":40,"hidden_size":8,
        "num_hidden_layers":1,"num_attention_heads":2,"num_key_value_heads":1,"intermediate_size":12,
        "sliding_window":5,"max_position_embeddings":16}"#,
    r#"{"model_type":"qwen2","architectures":["Qwen2Model"],"vocab_size":40,"hidden_size":8,"num_hidden_layers":2,
        "num_attention_heads":2,"num_key_value_heads":1,"intermediate_size":12,"use_sliding_window":true,
        "sliding_window":4,"max_window_layers":1,"max_position_embeddings":16}"#,
    r#"{"model_type":"t5","architectures":["T5ForConditionalGeneration"],"vocab_size":40,"d_model":8,"d_kv":4,
        "d_ff":12,"num_layers":1,"num_decoder_layers":1,"num_heads":2,"relative_attention_num_buckets":8,
        "relative_attention_max_distance":16,"feed_forward_proj":"gated-gelu","layer_norm_epsilon":1e-6}"#,
    r#"{"model_type":"vit","architectures":["ViTForImageClassification"],"hidden_size":8,"num_hidden_layers":1,
        "num_attention_heads":2,"intermediate_size":12,"image_size":8,"patch_size":4,"num_channels":3,
        "num_labels":3,"qkv_bias":false}"#,
    r#"{"model_type":"resnet","architectures":["ResNetForImageClassification"],"embedding_size":4,
        "hidden_sizes":[8,12],"depths":[1,1],"layer_type":"bottleneck","num_channels":3,"num_labels":3,
        "downsample_in_first_stage":true,"hidden_act":"relu"}"#,
    r#"{"model_type":"yolos","architectures":["YolosForObjectDetection"],"hidden_size":8,"num_hidden_layers":2,
        "num_attention_heads":2,"intermediate_size":12,"image_size":[8,12],"patch_size":4,"num_channels":3,
        "num_detection_tokens":3,"num_labels":2,"use_mid_position_embeddings":true}"#,
    r#"{"model_type":"whisper","d_model":8,"encoder_layers":1,"encoder_attention_heads":2,"encoder_ffn_dim":12,
        "num_mel_bins":4,"max_source_positions":10,"vocab_size":40}"#,
    r#"{"model_type":"wav2vec2","architectures":["Wav2Vec2ForCTC"],"hidden_size":8,"num_hidden_layers":1,
        "num_attention_heads":2,"intermediate_size":12,"conv_dim":[4,8],"conv_kernel":[5,3],"conv_stride":[3,2],
        "num_conv_pos_embeddings":5,"num_conv_pos_embedding_groups":2,"feat_extract_norm":"layer","conv_bias":true,
        "do_stable_layer_norm":true,"vocab_size":9}"#,
    r#"{"model_type":"clip","projection_dim":4,"text_config":{"vocab_size":40,"hidden_size":8,
        "num_hidden_layers":1,"num_attention_heads":2,"intermediate_size":12,"max_position_embeddings":16,
        "eos_token_id":2},"vision_config":{"hidden_size":8,"num_hidden_layers":1,"num_attention_heads":2,
        "intermediate_size":12,"image_size":8,"patch_size":4}}"#,
];

const DESCRIPTIONS: [&str; 3] = [
    "vocab_size = 100\nd_model = 8\nnum_heads = 2\nnum_layers = 1\nd_ff = 16\ndropout = 0.1\nmax_seq_length = 32\n\
     positional_encoding = \"sinusoidal\"\n",
    "vocab_size = 1_00 # words\nd_model = 8\nnum_heads = 4\nnum_layers = 2\nd_ff = 0x10\n\
     positional_encoding = \"learned\"\n",
    "input_size = 8\nhidden_layers = [16, 16,\n  4]\noutput_size = 3\n",
];

/// `config.json` of a model.
pub(crate) const CONFIG: Target = Target {
    name: "config",
    what: "`config.json` of every family, to a graph and its work",
    one_of: 1,
    // Ten thousand layers are allowed, and a graph of them is large.
    room: 1536 << 20,
    seeds: || CONFIGS.iter().map(|config| config.as_bytes().to_vec()).collect(),
    mutate: mutate::json,
    open: || -> Reader {
        Box::new(|bytes| {
            let Ok(config) = serde_json::from_slice(bytes) else { return Outcome::Refused };
            let built = models::build(&config);
            if let Ok(blueprint) = &built {
                check(blueprint);
            }
            Outcome::from(&built)
        })
    },
    expected: &[],
};

/// A network as a TOML file.
pub(crate) const DESCRIPTION: Target = Target {
    name: "description",
    what: "networks described in TOML",
    one_of: 1,
    room: 1536 << 20,
    seeds: || DESCRIPTIONS.iter().map(|text| text.as_bytes().to_vec()).collect(),
    mutate: mutate::lines,
    open: || -> Reader {
        Box::new(|bytes| {
            let Ok(text) = std::str::from_utf8(bytes) else { return Outcome::Refused };
            let built = models::build_description(Path::new("network.toml"), text);
            if let Ok(blueprint) = &built {
                check(blueprint);
            }
            Outcome::from(&built)
        })
    },
    expected: &[],
};

/// What holds for every graph that we build: its weights have sizes, and its work can be counted.
fn check(blueprint: &Blueprint) {
    for weight in &blueprint.weights {
        assert!(!weight.dims.contains(&0), "`{}` is empty: {:?}", weight.name, weight.dims);
    }
    assert!(blueprint.parameters() > 0);
    // Counting a very deep graph takes seconds and shows nothing new.
    if blueprint.model.graph.nodes.len() < 5_000 {
        let inputs = super::graph::inputs_of(&blueprint.model);
        let coverage = graph::analyse(&blueprint.model, &inputs).work.coverage.0;
        assert!((0.0..=1.0).contains(&coverage), "coverage {coverage}");
    }
}
