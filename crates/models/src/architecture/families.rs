//! The list of families: who builds which `model_type`, under which names, with which heads.

use super::{
    ArchitectureError, clip, config, decoder,
    draft::{Draft, Purpose},
    encoder_decoder,
    heads::Head,
    keys::Keys,
    naming::CheckpointNames,
    resnet, sound, text_encoder, vision, yolos,
};
use crate::{Blueprint, DecoderBlueprint, Origin};
use types::{Category, DecoderDialect, DecoderShape, Postprocess};

/// What a family's drawing leaves to say.
pub(super) struct Drawn {
    pub(super) max_length: Option<usize>,
    pub(super) postprocess: Postprocess,
}

/// A request for one model of a family.
pub(super) struct Request<'a> {
    pub(super) keys: Keys<'a>,
    pub(super) model_type: &'a str,
    pub(super) head: Head,
    /// The base model's module path: its attribute in classes with a head, nothing in the base class.
    pub(super) base: &'static str,
}

/// One row of the list.
struct Family {
    /// Every `model_type` it covers, with what its class names begin with.
    model_types: &'static [(&'static str, &'static str)],
    category: Category,
    names: CheckpointNames,
    /// What follows the family in a class name, and what it stands for; the base class comes first.
    heads: &'static [(&'static str, Head)],
    draw: fn(&Request, &mut Draft) -> Result<Drawn, ArchitectureError>,
    /// Draws it to generate, where it can.
    draw_cached: Option<DrawCached>,
}

type DrawCached = fn(&Request, &mut Draft) -> Result<DecoderShape, ArchitectureError>;

/// Old checkpoints call a norm's parameters after the paper's letters.
const GREEK: &[(&str, &str)] =
    &[("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta")];

const TEXT_HEADS: &[(&str, Head)] = &[
    ("Model", Head::Base),
    ("ForMaskedLM", Head::MaskedLanguage),
    ("ForSequenceClassification", Head::SequenceClasses),
    ("ForTokenClassification", Head::TokenClasses),
    ("ForQuestionAnswering", Head::Span),
];

const FAMILIES: &[Family] = &[
    Family {
        model_types: &[("bert", "Bert")],
        category: Category::Text,
        names: CheckpointNames {
            base: "bert",
            written: GREEK,
            kept_as: &[("cls.predictions.bias", "cls.predictions.decoder.bias")],
        },
        heads: TEXT_HEADS,
        draw: |request, draft| {
            let text = config::bert(&request.keys)?;
            text_encoder::draw(request, draft, &text, &text_encoder::BERT)
        },
        draw_cached: None,
    },
    Family {
        model_types: &[("distilbert", "DistilBert")],
        category: Category::Text,
        names: CheckpointNames { base: "distilbert", written: GREEK, kept_as: &[] },
        heads: TEXT_HEADS,
        draw: |request, draft| {
            let text = config::distilbert(&request.keys)?;
            text_encoder::draw(request, draft, &text, &text_encoder::DISTILBERT)
        },
        draw_cached: None,
    },
    Family {
        model_types: &[
            ("roberta", "Roberta"),
            ("xlm-roberta", "XLMRoberta"),
            ("camembert", "Camembert"),
        ],
        category: Category::Text,
        names: CheckpointNames {
            base: "roberta",
            written: GREEK,
            kept_as: &[("lm_head.bias", "lm_head.decoder.bias")],
        },
        heads: TEXT_HEADS,
        draw: |request, draft| {
            let text = config::roberta(&request.keys)?;
            text_encoder::draw(request, draft, &text, &text_encoder::ROBERTA)
        },
        draw_cached: None,
    },
    Family {
        model_types: &[("gpt2", "GPT2")],
        category: Category::Generation,
        names: CheckpointNames { base: "transformer", written: &[], kept_as: &[] },
        heads: &[("Model", Head::Base), ("LMHeadModel", Head::CausalLanguage)],
        draw: |request, draft| {
            let text = config::gpt2(&request.keys)?;
            decoder::draw(request, draft, &text, &decoder::GPT2)
        },
        draw_cached: Some(|request, draft| {
            let text = config::gpt2(&request.keys)?;
            Ok(decoder::draw_cached(request, draft, &text, &decoder::GPT2))
        }),
    },
    Family {
        model_types: &[("llama", "Llama"), ("mistral", "Mistral"), ("qwen2", "Qwen2")],
        category: Category::Generation,
        names: CheckpointNames { base: "model", written: &[], kept_as: &[] },
        heads: &[("Model", Head::Base), ("ForCausalLM", Head::CausalLanguage)],
        draw: |request, draft| {
            let text = config::llama(&request.keys, request.model_type)?;
            decoder::draw(request, draft, &text, &decoder::LLAMA)
        },
        draw_cached: Some(|request, draft| {
            let text = config::llama(&request.keys, request.model_type)?;
            Ok(decoder::draw_cached(request, draft, &text, &decoder::LLAMA))
        }),
    },
    Family {
        model_types: &[("gemma3_text", "Gemma3")],
        category: Category::Generation,
        names: CheckpointNames { base: "model", written: &[], kept_as: &[] },
        heads: &[("TextModel", Head::Base), ("ForCausalLM", Head::CausalLanguage)],
        draw: |request, draft| {
            let text = config::gemma3(&request.keys)?;
            decoder::draw(request, draft, &text, &decoder::GEMMA3)
        },
        draw_cached: Some(|request, draft| {
            let text = config::gemma3(&request.keys)?;
            Ok(decoder::draw_cached(request, draft, &text, &decoder::GEMMA3))
        }),
    },
    Family {
        model_types: &[("t5", "T5")],
        category: Category::Generation,
        names: CheckpointNames {
            base: "",
            written: &[],
            kept_as: &[
                ("shared.weight", "encoder.embed_tokens.weight"),
                ("shared.weight", "decoder.embed_tokens.weight"),
                ("lm_head.weight", "shared.weight"),
            ],
        },
        heads: &[
            ("Model", Head::Base),
            ("EncoderModel", Head::EncoderOnly),
            ("ForConditionalGeneration", Head::CausalLanguage),
        ],
        draw: encoder_decoder::draw,
        draw_cached: None,
    },
    Family {
        model_types: &[("vit", "ViT")],
        category: Category::Vision,
        names: CheckpointNames {
            base: "vit",
            written: &[
                ("layers.", "encoder.layer."),
                ("attention.q_proj", "attention.attention.query"),
                ("attention.k_proj", "attention.attention.key"),
                ("attention.v_proj", "attention.attention.value"),
                ("attention.o_proj", "attention.output.dense"),
                ("mlp.fc1", "intermediate.dense"),
                ("mlp.fc2", "output.dense"),
            ],
            kept_as: &[],
        },
        heads: &[("Model", Head::Base), ("ForImageClassification", Head::SequenceClasses)],
        draw: vision::draw,
        draw_cached: None,
    },
    Family {
        model_types: &[("resnet", "ResNet")],
        category: Category::Vision,
        names: CheckpointNames { base: "resnet", written: &[], kept_as: &[] },
        heads: &[("Model", Head::Base), ("ForImageClassification", Head::SequenceClasses)],
        draw: resnet::draw,
        draw_cached: None,
    },
    Family {
        model_types: &[("yolos", "Yolos")],
        category: Category::Vision,
        names: CheckpointNames {
            base: "vit",
            written: &[("encoder.interpolation.", "encoder.")],
            kept_as: &[],
        },
        heads: &[("Model", Head::Base), ("ForObjectDetection", Head::Objects)],
        draw: yolos::draw,
        draw_cached: None,
    },
    Family {
        model_types: &[("whisper", "Whisper")],
        category: Category::Audio,
        names: CheckpointNames {
            base: "model.encoder",
            written: &[("model.encoder.", "encoder.")],
            kept_as: &[],
        },
        heads: &[("Encoder", Head::Base)],
        draw: sound::draw_whisper,
        draw_cached: None,
    },
    Family {
        model_types: &[("wav2vec2", "Wav2Vec2")],
        category: Category::Audio,
        names: CheckpointNames {
            base: "wav2vec2",
            written: &[
                ("parametrizations.weight.original0", "weight_g"),
                ("parametrizations.weight.original1", "weight_v"),
            ],
            kept_as: &[],
        },
        heads: &[("Model", Head::Base), ("ForCTC", Head::Moments)],
        draw: sound::draw_wav2vec2,
        draw_cached: None,
    },
    Family {
        model_types: &[("clip", "CLIP")],
        category: Category::Multimodal,
        names: CheckpointNames { base: "", written: &[], kept_as: &[] },
        heads: &[("Model", Head::Base)],
        draw: clip::draw,
        draw_cached: None,
    },
];

/// Builds the graph that a Hugging Face `config.json` describes.
///
/// The family is taken from `model_type`, the head from the class in `architectures`; without that key the base
/// model is built.
///
/// # Errors
/// Where the family or the head has no builder, or a key is missing or cannot be used.
pub fn build(config: &serde_json::Value) -> Result<Blueprint, ArchitectureError> {
    let Named { family, class, request } = named(config)?;
    let model_type = request.model_type;
    let mut draft = Draft::new(model_type, family.names);
    let drawn = (family.draw)(&request, &mut draft)?;
    Ok(draft.finish(Purpose {
        architecture: model_type.to_owned(),
        category: family.category,
        postprocess: drawn.postprocess,
        max_length: drawn.max_length,
        origin: Origin::Transformers { class, config: config.clone() },
    }))
}

/// The same model drawn to generate token by token; `None` where it does not predict the next token. One that cannot be
/// drawn in the dialect that is asked for is drawn in the standard one.
///
/// # Errors
/// As [`build`].
pub(crate) fn build_decoder(
    blueprint: &Blueprint,
    dialect: DecoderDialect,
) -> Result<Option<Box<DecoderBlueprint>>, ArchitectureError> {
    let Origin::Transformers { config, .. } = &blueprint.origin else { return Ok(None) };
    let Named { family, request, .. } = named(config)?;
    let (Head::CausalLanguage, Some(draw)) = (request.head, family.draw_cached) else {
        return Ok(None);
    };
    let mut draft = Draft::new(request.model_type, family.names).in_dialect(dialect);
    let shape = draw(&request, &mut draft)?;
    let (decoder, weights) = draft.finish_decoder(shape);
    debug_assert_eq!(weights, blueprint.weights, "one file of weights serves both graphs");
    Ok(Some(Box::new(decoder)))
}

/// What a configuration names: the family, the class that is built, and the request for its drawing.
struct Named<'a> {
    family: &'static Family,
    class: String,
    request: Request<'a>,
}

fn named(config: &serde_json::Value) -> Result<Named<'_>, ArchitectureError> {
    let keys = Keys::new(config)?;
    let model_type = keys
        .text("model_type")?
        .ok_or_else(|| ArchitectureError::MissingKey { key: "model_type".to_owned() })?;
    let (family, class_prefix) = FAMILIES
        .iter()
        .find_map(|family| Some((family, family.class_prefix(model_type)?)))
        .ok_or_else(|| ArchitectureError::UnknownArchitecture {
            architecture: model_type.to_owned(),
            families: FAMILIES.iter().flat_map(Family::names).collect(),
        })?;
    let (ending, head) = family.head(&keys, model_type, class_prefix)?;
    let base = if head == Head::Base { "" } else { family.names.base };
    let request = Request { keys, model_type, head, base };
    Ok(Named { family, class: format!("{class_prefix}{ending}"), request })
}

impl Family {
    /// What class names of this `model_type` begin with, if the family covers it.
    fn class_prefix(&self, model_type: &str) -> Option<&'static str> {
        self.model_types.iter().find(|(name, _)| *name == model_type).map(|(_, prefix)| *prefix)
    }

    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.model_types.iter().map(|(name, _)| *name)
    }

    /// The head of the first class in `architectures` and how such class names end; the base model where there is none.
    fn head(
        &self,
        keys: &Keys,
        model_type: &str,
        prefix: &str,
    ) -> Result<(&'static str, Head), ArchitectureError> {
        let classes = keys.texts("architectures")?;
        let Some(class) = classes.first() else { return Ok(self.heads[0]) };
        let ending = class.strip_prefix(prefix);
        let known = self.heads.iter().find(|(known, _)| Some(*known) == ending);
        known.copied().ok_or_else(|| ArchitectureError::UnknownHead {
            class: (*class).to_owned(),
            architecture: model_type.to_owned(),
            heads: self.heads.iter().map(|(known, _)| *known).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn bert() -> Value {
        json!({
            "model_type": "bert", "vocab_size": 30, "hidden_size": 8, "num_hidden_layers": 1,
            "num_attention_heads": 2, "intermediate_size": 16
        })
    }

    fn llama() -> Value {
        let mut config = bert();
        config["model_type"] = json!("llama");
        config["architectures"] = json!(["LlamaForCausalLM"]);
        config
    }

    fn refused(config: &Value) -> String {
        build(config).expect_err("the configuration is wrong").to_string()
    }

    #[test]
    fn an_unknown_architecture_says_what_is_built_and_what_would_run_it() {
        let message = refused(&json!({"model_type": "mamba"}));
        for part in ["`mamba`", "bert", "xlm-roberta", "clip", "`onnx/model.onnx`"] {
            assert!(message.contains(part), "{part} in {message}");
        }
    }

    #[test]
    fn an_unknown_head_says_which_are_built() {
        for (class, model_type) in
            [("BertForMultipleChoice", "bert"), ("GPT2DoubleHeadsModel", "gpt2")]
        {
            let message = refused(&json!({"model_type": model_type, "architectures": [class]}));
            assert!(message.contains(class) && message.contains("Model"), "{message}");
        }
    }

    #[test]
    fn a_wrong_key_is_named() {
        for (key, value, part) in [
            ("num_attention_heads", json!(3), "a divisor of `hidden_size` (8)"),
            ("hidden_size", json!(-8), "from 1 to 2147483647"),
            ("vocab_size", json!("many"), "a whole number from 1"),
            ("hidden_act", json!("gloo"), "quick_gelu"),
            ("layer_norm_eps", json!(0), "above 0"),
            ("num_hidden_layers", json!(0), "from 1 to"),
            ("architectures", json!("BertModel"), "a list of texts"),
        ] {
            let mut config = bert();
            config[key] = value;
            let message = refused(&config);
            assert!(message.contains(&format!("`{key}`")), "{key} in {message}");
            assert!(message.contains(part), "{part} in {message}");
        }
    }

    #[test]
    fn a_missing_key_is_named() {
        for key in ["model_type", "vocab_size", "hidden_size", "intermediate_size"] {
            let mut config = bert();
            config.as_object_mut().unwrap().remove(key);
            assert_eq!(refused(&config), format!("the configuration lacks the key `{key}`"));
        }
        assert!(refused(&json!([])).contains("not a JSON object"));
    }

    #[test]
    fn keys_in_nested_tables_are_named_with_their_path() {
        let config = json!({"model_type": "clip", "text_config": {"num_attention_heads": 7}});
        assert!(refused(&config).contains("`text_config.num_attention_heads`"));
        let mut config = llama();
        config["rope_scaling"] = json!({"type": "yarn", "factor": 2.0});
        assert!(refused(&config).contains("`rope_scaling.rope_type` is `yarn`"));
        config["rope_scaling"] = json!({"type": "linear"});
        assert_eq!(refused(&config), "the configuration lacks the key `rope_scaling.factor`");
    }

    #[test]
    fn rotary_positions_read_alike_in_old_and_new_configurations() {
        let mut old = llama();
        old["rope_theta"] = json!(5000.0);
        old["rope_scaling"] = json!({"type": "linear", "factor": 2.0});
        let mut new = llama();
        new["rope_parameters"] =
            json!({"rope_type": "linear", "rope_theta": 5000.0, "factor": 2.0});
        let model = |config: &Value| build(config).unwrap().model;
        assert_eq!(model(&old), model(&new));
        assert_ne!(model(&old), model(&llama()));
    }

    #[test]
    fn a_tied_head_asks_for_no_second_table() {
        let mut config = llama();
        config["tie_word_embeddings"] = json!(true);
        let tables = |config: &Value| {
            let weights = build(config).unwrap().weights;
            weights.iter().filter(|weight| weight.dims.contains(&30)).count()
        };
        assert_eq!((tables(&config), tables(&llama())), (1, 2));
    }

    #[test]
    fn checkpoints_may_leave_out_the_base_model_or_use_old_names() {
        let blueprint = build(&bert()).unwrap();
        let norm = blueprint.weights.iter().find(|w| w.name == "embeddings.LayerNorm.weight");
        let names = &norm.unwrap().checkpoint;
        assert_eq!(names[0], "embeddings.LayerNorm.weight");
        assert!(names.contains(&"bert.embeddings.LayerNorm.gamma".to_owned()), "{names:?}");
    }

    #[test]
    fn the_longest_sequence_is_what_positions_allow() {
        let longest = |config: &Value| build(config).unwrap().max_length;
        assert_eq!(longest(&bert()), Some(512));
        let mut roberta = bert();
        roberta["model_type"] = json!("roberta");
        roberta["max_position_embeddings"] = json!(514);
        assert_eq!(longest(&roberta), Some(512));
    }

    #[test]
    fn what_a_configuration_multiplies_has_bounds() {
        let t5 = json!({
            "model_type": "t5", "vocab_size": 40, "d_model": 8, "d_kv": 4, "d_ff": 12, "num_layers": 1,
            "num_heads": 2, "relative_attention_max_distance": 2147483647
        });
        let message = refused(&t5);
        assert!(message.contains("`relative_attention_max_distance` is `2147483647`"), "{message}");
        let resnet = |widths: &[usize], depths: &[usize]| json!({"model_type": "resnet", "hidden_sizes": widths, "depths": depths});
        let message = refused(&resnet(&[8, 1], &[1, 1]));
        assert!(message.contains("`hidden_sizes` is `1`; it must be at least 4"), "{message}");
        let message = refused(&resnet(&[8, 8], &[1_000_000, 1]));
        assert!(message.contains("`depths` is `1000001`"), "{message}");
        assert!(build(&resnet(&[8, 8], &[1, 1])).is_ok());
    }
}
