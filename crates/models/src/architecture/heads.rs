//! What a model ends in: hidden states, scores for every token, classes or spans.

use super::{
    blocks::{Activation, Linear, SharedTable, score_rows},
    description::Stack,
    draft::{Draft, Value},
};
use crate::{Init, Layout};

/// What a model ends in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Head {
    /// Hidden states.
    Base,
    /// The hidden states of the encoder of an encoder and decoder.
    EncoderOnly,
    /// Scores for every token of the vocabulary, at masked places.
    MaskedLanguage,
    /// Scores for the next token.
    CausalLanguage,
    /// Classes of the whole input.
    SequenceClasses,
    /// Classes of every token.
    TokenClasses,
    /// Classes and boxes of objects in an image.
    Objects,
    /// Scores for every token of the vocabulary, at every moment of a sound.
    Moments,
    /// Scores for where an answer begins and ends.
    Span,
}

/// A transformation before the scores of a masked language head, and where its bias lies.
pub(super) struct MaskedHead {
    pub(super) dense: &'static str,
    pub(super) activation: &'static str,
    pub(super) norm: &'static str,
    /// The module whose code scores the rows.
    pub(super) decoder: &'static str,
    /// The full name of the scores' bias.
    pub(super) bias: &'static str,
}

impl MaskedHead {
    pub(super) fn draw(
        &self,
        draft: &mut Draft,
        hidden: &str,
        activation: Activation,
        stack: &Stack,
        table: &SharedTable,
        ids: &str,
    ) -> Value {
        let x = Linear::torch(table.width, table.width, stack.init).draw(draft, self.dense, hidden);
        let x = activation.draw(draft, self.activation, &x);
        let x = stack.norm.draw(draft, self.norm, &x, table.width);
        let zero = Init::Constant(0.0);
        let bias = draft.shared_weight(self.bias.to_owned(), &[table.rows], Layout::AsStored, zero);
        draft.within(self.decoder, |draft| score_rows(draft, &x, table, Some(&bias), ids))
    }
}
