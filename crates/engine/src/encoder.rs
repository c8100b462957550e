//! What surrounds an inference: text to tokens before it, outputs to answers after it.

use crate::{
    Encoded, EngineError, EngineErrorKind, OutputView, TextJob, Tokeniser, postprocess,
    postprocess::Answer,
};
use types::{Elements, HostTensor, InputRole, Postprocess};

/// The steps around an inference.
pub(crate) struct Encoder<'a> {
    /// The tokenizer and what it encodes in each sample, if there is text.
    pub(crate) tokeniser: Option<(&'a dyn Tokeniser, &'a TextJob)>,
    /// What turns outputs into the answer.
    pub(crate) postprocess: Postprocess,
}

impl Encoder<'_> {
    /// Encodes the texts once; `None` without text.
    pub(crate) fn encode(&self) -> Result<Option<Encoded>, EngineError> {
        let Some((tokeniser, text)) = &self.tokeniser else { return Ok(None) };
        tokeniser
            .encode(&text.lines, text.max_length)
            .map(Some)
            .map_err(|why| EngineError::new(EngineErrorKind::BadInput, why))
    }

    /// Whether something happens after the inference.
    pub(crate) fn has_postprocess(&self) -> bool {
        self.postprocess != Postprocess::None
    }

    /// The answer.
    pub(crate) fn postprocess(&self, outputs: &[OutputView<'_>], mask: Option<&[i64]>) -> Answer {
        postprocess(self.postprocess, outputs, mask)
    }
}

/// Puts encoded text into the inputs that take it, in the element type each was declared with.
pub(crate) fn feed(inputs: &mut [HostTensor], roles: &[InputRole], encoded: &Encoded) {
    let batch = encoded.ids.len() / encoded.length.max(1);
    for (tensor, role) in inputs.iter_mut().zip(roles) {
        let values = match role {
            InputRole::TokenIds => &encoded.ids,
            InputRole::AttentionMask => &encoded.mask,
            InputRole::TokenTypes => &encoded.types,
            _ => continue,
        };
        tensor.dims = vec![batch, encoded.length];
        tensor.elements = match tensor.elements {
            Elements::I32(_) => Elements::I32(values.iter().map(|&x| x as i32).collect()),
            Elements::F32(_) => Elements::F32(values.iter().map(|&x| x as f32).collect()),
            Elements::Bool(_) => Elements::Bool(values.iter().map(|&x| u8::from(x != 0)).collect()),
            _ => Elements::I64(values.clone()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_fills_ids_and_mask_and_leaves_images_alone() {
        let tensor =
            |name: &str, elements| HostTensor { name: name.into(), dims: vec![1], elements };
        let mut inputs = [
            tensor("ids", Elements::I64(vec![0])),
            tensor("mask", Elements::I32(vec![0])),
            tensor("image", Elements::F32(vec![0.5])),
        ];
        let roles = [InputRole::TokenIds, InputRole::AttentionMask, InputRole::Image];
        let encoded =
            Encoded { ids: vec![5, 6, 7, 0], mask: vec![1, 1, 1, 0], types: vec![0; 4], length: 2 };
        feed(&mut inputs, &roles, &encoded);
        assert_eq!(inputs[0].dims, [2, 2]);
        assert_eq!(inputs[0].elements, Elements::I64(vec![5, 6, 7, 0]));
        assert_eq!(inputs[1].elements, Elements::I32(vec![1, 1, 1, 0]));
        assert_eq!(inputs[2].elements, Elements::F32(vec![0.5]));
    }
}
