//! The list of families: who builds which `model_type`, under which names, with which heads.

use super::{
    ArchitectureError, clip, config, decoder,
    draft::{Draft, Purpose},
    encoder_decoder,
    heads::Head,
    keys::Keys,
    naming::CheckpointNames,
    text_encoder, vision,
};
use crate::Blueprint;
use types::{Category, Postprocess};

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
    model_types: &'static [&'static str],
    category: Category,
    names: CheckpointNames,
    /// What follows the family in a class name, and what it stands for; the base class comes first.
    heads: &'static [(&'static str, Head)],
    draw: fn(&Request, &mut Draft) -> Result<Drawn, ArchitectureError>,
}

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
        model_types: &["bert"],
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
    },
    Family {
        model_types: &["distilbert"],
        category: Category::Text,
        names: CheckpointNames { base: "distilbert", written: GREEK, kept_as: &[] },
        heads: TEXT_HEADS,
        draw: |request, draft| {
            let text = config::distilbert(&request.keys)?;
            text_encoder::draw(request, draft, &text, &text_encoder::DISTILBERT)
        },
    },
    Family {
        model_types: &["roberta", "xlm-roberta", "camembert"],
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
    },
    Family {
        model_types: &["gpt2"],
        category: Category::Generation,
        names: CheckpointNames { base: "transformer", written: &[], kept_as: &[] },
        heads: &[("Model", Head::Base), ("LMHeadModel", Head::CausalLanguage)],
        draw: |request, draft| {
            let text = config::gpt2(&request.keys)?;
            decoder::draw(request, draft, &text, &decoder::GPT2)
        },
    },
    Family {
        model_types: &["llama", "mistral", "qwen2"],
        category: Category::Generation,
        names: CheckpointNames { base: "model", written: &[], kept_as: &[] },
        heads: &[("Model", Head::Base), ("ForCausalLM", Head::CausalLanguage)],
        draw: |request, draft| {
            let text = config::llama(&request.keys, request.model_type)?;
            decoder::draw(request, draft, &text, &decoder::LLAMA)
        },
    },
    Family {
        model_types: &["t5"],
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
    },
    Family {
        model_types: &["vit"],
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
    },
    Family {
        model_types: &["clip"],
        category: Category::Multimodal,
        names: CheckpointNames { base: "", written: &[], kept_as: &[] },
        heads: &[("Model", Head::Base)],
        draw: clip::draw,
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
    let keys = Keys::new(config)?;
    let model_type = keys
        .text("model_type")?
        .ok_or_else(|| ArchitectureError::MissingKey { key: "model_type".to_owned() })?;
    let family = FAMILIES
        .iter()
        .find(|family| family.model_types.contains(&model_type))
        .ok_or_else(|| ArchitectureError::UnknownArchitecture {
            architecture: model_type.to_owned(),
            families: FAMILIES.iter().flat_map(|family| family.model_types).copied().collect(),
        })?;
    let head = family.head(&keys, model_type)?;
    let base = if head == Head::Base { "" } else { family.names.base };
    let request = Request { keys, model_type, head, base };
    let mut draft = Draft::new(model_type, family.names);
    let drawn = (family.draw)(&request, &mut draft)?;
    Ok(draft.finish(Purpose {
        architecture: model_type.to_owned(),
        category: family.category,
        postprocess: drawn.postprocess,
        max_length: drawn.max_length,
    }))
}

impl Family {
    /// The head of the first class in `architectures`: the longest ending that fits it.
    fn head(&self, keys: &Keys, model_type: &str) -> Result<Head, ArchitectureError> {
        let classes = keys.texts("architectures")?;
        let Some(class) = classes.first() else { return Ok(Head::Base) };
        let known = self.heads.iter().filter(|(ending, _)| class.ends_with(ending));
        match known.max_by_key(|(ending, _)| ending.len()) {
            Some((ending, head)) if names_family(class, ending) => Ok(*head),
            _ => Err(ArchitectureError::UnknownHead {
                class: (*class).to_owned(),
                architecture: model_type.to_owned(),
                heads: self.heads.iter().map(|(ending, _)| *ending).collect(),
            }),
        }
    }
}

/// Whether nothing but the family's name stands before the ending: `GPT2DoubleHeadsModel` is not `…Model`.
fn names_family(class: &str, ending: &str) -> bool {
    const FAMILY_NAMES: [&str; 12] = [
        "Bert",
        "DistilBert",
        "Roberta",
        "XLMRoberta",
        "Camembert",
        "GPT2",
        "Llama",
        "Mistral",
        "Qwen2",
        "T5",
        "ViT",
        "CLIP",
    ];
    class.strip_suffix(ending).is_some_and(|family| FAMILY_NAMES.contains(&family))
}
