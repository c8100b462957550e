//! Encoders of text with learned positions: BERT, DistilBERT, RoBERTa and their heads.

use super::{
    ArchitectureError,
    blocks::{
        Activation, Context, LayerBias, Linear, SharedTable, count_real_tokens, draw_layers, embed,
        padding_bias, sequence_positions,
    },
    config::labels,
    description::{Positions, Text},
    draft::{Draft, Value, hidden_dims, vector_dims},
    families::{Drawn, Request},
    heads::{Head, MaskedHead},
    naming::{self, LayerNames},
};
use crate::{Init, Layout};
use graph::Dim;
use types::{InputRole, Postprocess};

/// How the class of a whole text is found.
enum SequenceHead {
    /// From the pooled first token: `classifier`.
    Pooled,
    /// From the first token through a layer and its activation.
    Dense { dense: &'static str, activation: Activation, module: &'static str, out: &'static str },
}

/// What one family of text encoders calls its parts.
pub(super) struct Names {
    layers: &'static LayerNames,
    /// Whether segments are an input (BERT) or always the first one (RoBERTa).
    takes_token_types: bool,
    has_pooler: bool,
    masked: MaskedHead,
    /// Whether the masked head uses the configured activation or always the first.
    masked_activation: Option<Activation>,
    sequence: SequenceHead,
}

pub(super) const BERT: Names = Names {
    layers: &naming::BERT,
    takes_token_types: true,
    has_pooler: true,
    masked: MaskedHead {
        dense: "cls.predictions.transform.dense",
        activation: "cls.predictions.transform.transform_act_fn",
        norm: "cls.predictions.transform.LayerNorm",
        decoder: "cls.predictions.decoder",
        bias: "cls.predictions.bias",
    },
    masked_activation: None,
    sequence: SequenceHead::Pooled,
};

pub(super) const ROBERTA: Names = Names {
    takes_token_types: false,
    masked: MaskedHead {
        dense: "lm_head.dense",
        activation: "lm_head",
        norm: "lm_head.layer_norm",
        decoder: "lm_head.decoder",
        bias: "lm_head.bias",
    },
    masked_activation: Some(Activation::Gelu),
    sequence: SequenceHead::Dense {
        dense: "classifier.dense",
        activation: Activation::Tanh,
        module: "classifier",
        out: "classifier.out_proj",
    },
    ..BERT
};

pub(super) const DISTILBERT: Names = Names {
    layers: &naming::DISTILBERT,
    takes_token_types: false,
    has_pooler: false,
    masked: MaskedHead {
        dense: "vocab_transform",
        activation: "activation",
        norm: "vocab_layer_norm",
        decoder: "vocab_projector",
        bias: "vocab_projector.bias",
    },
    masked_activation: None,
    sequence: SequenceHead::Dense {
        dense: "pre_classifier",
        activation: Activation::Relu,
        module: "",
        out: "classifier",
    },
};

pub(super) fn draw(
    request: &Request,
    draft: &mut Draft,
    text: &Text,
    names: &Names,
) -> Result<Drawn, ArchitectureError> {
    let ids = draft.token_ids("input_ids", InputRole::TokenIds, "sequence", Some(text.vocabulary));
    let mask = draft.token_ids("attention_mask", InputRole::AttentionMask, "sequence", None);
    let types = names.takes_token_types.then(|| {
        let kinds = Some(text.token_types);
        draft.token_ids("token_type_ids", InputRole::TokenTypes, "sequence", kinds)
    });
    let hidden = draft.within(request.base, |draft| {
        let hidden = embeddings(draft, text, &ids, types.as_deref());
        let bias = LayerBias { full: Some(padding_bias(draft, &mask)), sliding: None };
        let context = Context { bias, ..Context::default() };
        draw_layers(draft, names.layers, &text.stack, &context, hidden)
    });
    let postprocess = draw_head(request, draft, text, names, &hidden, &ids)?;
    Ok(Drawn { max_length: text.positions.longest(), postprocess })
}

fn embeddings(draft: &mut Draft, text: &Text, ids: &str, types: Option<&str>) -> Value {
    let (width, init) = (text.stack.hidden, text.stack.init);
    draft.within("embeddings", |draft| {
        let words = embed(draft, "word_embeddings", ids, text.vocabulary, width, init);
        let (places, rows) = match text.positions {
            Positions::LearnedAbovePadding { places, padding } => {
                (count_real_tokens(draft, ids, padding), places)
            }
            other => (sequence_positions(draft, ids), other.longest().unwrap_or(1)),
        };
        let mut sum = words;
        if text.token_types > 0 {
            // Without segments as an input every token is of the first kind.
            let first = draft.integer(0);
            let kinds = types.unwrap_or(&first);
            let module = "token_type_embeddings";
            let kinds = embed(draft, module, kinds, text.token_types, width, init);
            sum = draft.op("Add", &[&sum, &kinds], &[]);
        }
        let places = embed(draft, "position_embeddings", &places, rows, width, init);
        let sum = draft.op("Add", &[&sum, &places], &[]);
        text.stack.norm.draw(draft, "LayerNorm", &sum, width)
    })
}

fn draw_head(
    request: &Request,
    draft: &mut Draft,
    text: &Text,
    names: &Names,
    hidden: &str,
    ids: &str,
) -> Result<Postprocess, ArchitectureError> {
    let (width, init) = (text.stack.hidden, text.stack.init);
    let logits: (Value, Vec<Dim>) = match request.head {
        Head::MaskedLanguage => {
            let activation = names.masked_activation.unwrap_or(text.stack.activation);
            let table = word_table(request, draft, text, names);
            let scores = names.masked.draw(draft, hidden, activation, &text.stack, &table, ids);
            (scores, hidden_dims("sequence", text.vocabulary))
        }
        Head::SequenceClasses => {
            let classes = labels(&request.keys)?;
            let scores = sequence_classes(request, draft, names, hidden, width, classes, init);
            (scores, vector_dims(classes))
        }
        Head::TokenClasses => {
            let classes = labels(&request.keys)?;
            let scores = Linear::torch(width, classes, init).draw(draft, "classifier", hidden);
            (scores, hidden_dims("sequence", classes))
        }
        Head::Span => {
            let scores = Linear::torch(width, 2, init).draw(draft, "qa_outputs", hidden);
            for (name, place) in [("start_logits", 0), ("end_logits", 1)] {
                let side = draft.pick(&scores, place, 2);
                draft.output(name, side, vec![Dim::from("batch"), Dim::from("sequence")]);
            }
            return Ok(Postprocess::Argmax);
        }
        Head::Base | Head::EncoderOnly | Head::CausalLanguage | Head::Objects | Head::Moments => {
            draft.output("last_hidden_state", hidden.to_owned(), hidden_dims("sequence", width));
            if names.has_pooler {
                let pooled = pooler(draft, hidden, width, init);
                draft.output("pooler_output", pooled, vector_dims(width));
            }
            return Ok(Postprocess::MeanPool);
        }
    };
    draft.output("logits", logits.0, logits.1);
    Ok(Postprocess::Argmax)
}

/// The table a masked head scores with: the word embedding, or its own where the two are not tied.
fn word_table(request: &Request, draft: &mut Draft, text: &Text, names: &Names) -> SharedTable {
    let (rows, width, init) = (text.vocabulary, text.stack.hidden, text.stack.init);
    let name = if text.tied {
        format!("{}.embeddings.word_embeddings.weight", request.base)
    } else {
        format!("{}.weight", names.masked.decoder)
    };
    let weight = draft.shared_weight(name, &[rows, width], Layout::AsStored, init);
    SharedTable { weight, rows, width }
}

fn sequence_classes(
    request: &Request,
    draft: &mut Draft,
    names: &Names,
    hidden: &str,
    width: usize,
    classes: usize,
    init: Init,
) -> Value {
    match &names.sequence {
        SequenceHead::Pooled => {
            let pooled = draft.within(request.base, |draft| pooler(draft, hidden, width, init));
            Linear::torch(width, classes, init).draw(draft, "classifier", &pooled)
        }
        SequenceHead::Dense { dense, activation, module, out } => {
            let first = draft.within(module, |draft| draft.pick(hidden, 0, 1));
            let x = Linear::torch(width, width, init).draw(draft, dense, &first);
            let x = activation.draw(draft, module, &x);
            Linear::torch(width, classes, init).draw(draft, out, &x)
        }
    }
}

/// The first token through a layer and tanh.
pub(super) fn pooler(draft: &mut Draft, hidden: &str, width: usize, init: Init) -> Value {
    draft.within("pooler", |draft| {
        let first = draft.pick(hidden, 0, 1);
        let dense = Linear::torch(width, width, init).draw(draft, "dense", &first);
        Activation::Tanh.draw(draft, "activation", &dense)
    })
}
