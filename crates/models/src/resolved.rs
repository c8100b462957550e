//! A model that is ready to be loaded, and the inputs it takes.

use crate::{
    Ask, Encoded, InputKind, ModelError, Tokeniser,
    given::{check_given, check_size},
    prepare::write_decoder,
    program,
    shapes::{LINE_WIDTH, Quantity, Settled, plain_symbol, quantity},
    signature::{is_past, is_state},
};
use graph::{Dim, Model, ValueInfo};
use std::path::PathBuf;
use types::{
    DecoderShape, ElementType, Fill, InputRole, InputShape, InputSpec, ModelInfo, Module,
    Postprocess, Precision, Remark,
};

/// Sides of an image whose size is free: what classifiers were trained on, and what detectors were.
pub(crate) const CLASSIFIER_SIDE: usize = 224;
const DETECTOR_SIDE: usize = 640;
/// Height of a line of text for recognisers.
const LINE_SIDE: usize = 48;

/// Tokens in a row where nobody says otherwise.
pub(crate) const DEFAULT_LENGTH: usize = 128;

/// A model that is ready to be loaded.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// What is known of it.
    pub info: ModelInfo,
    /// The file that engines load; empty for a model that exists only as a module.
    pub onnx: PathBuf,
    /// The same model as a framework's module, where it can be had so.
    pub module: Option<Module>,
    /// Its graph; large weights are pointers into files.
    pub model: Model,
    /// What its inputs mean, in the order of the graph's inputs.
    pub kinds: Vec<InputKind>,
    /// Its `tokenizer.json`.
    pub tokenizer: Option<PathBuf>,
    /// Its `preprocessor_config.json`.
    pub preprocessor: Option<PathBuf>,
    /// What turns outputs into an answer.
    pub postprocess: Postprocess,
    /// The longest sequence it takes, if there is a limit.
    pub max_length: Option<usize>,
    /// The length to use where nobody says otherwise; `None` for a model without a length.
    pub default_length: Option<usize>,
    /// The commit, where it came from a git checkout.
    pub commit: Option<String>,
    /// The number format that its checkpoint keeps the weights in, which the graph has in fp32; `None` if there is none.
    pub stored: Option<Precision>,
    /// Why there is no graph of a folder that only its own framework can make a module of.
    pub no_graph: Option<String>,
    /// The graph that generates token by token, where the model predicts the next token; a request that generates puts it
    /// in the place of the other.
    pub decoder: Option<Decoder>,
    /// The file of llama.cpp that it came from, if it did.
    pub gguf: Option<PathBuf>,
    /// What a reader of the results must know of the model itself: random weights, a head that was left away.
    pub remarks: Vec<Remark>,
}

/// A graph that takes what was read before and gives it with what is new.
#[derive(Debug, Clone)]
pub struct Decoder {
    /// Its file, in the folder of the weights.
    pub onnx: PathBuf,
    /// The graph; large weights are pointers into files.
    pub model: Model,
    /// What its inputs mean.
    pub kinds: Vec<InputKind>,
    /// What decides the size of the cache.
    pub shape: DecoderShape,
    /// How many tokens it can hold, in the fused dialect; `None` in the standard one.
    pub reach: Option<usize>,
}

impl Resolved {
    /// The model with the graph that generates.
    pub(crate) fn generating(mut self) -> Result<Resolved, ModelError> {
        let Some(decoder) = &self.decoder else {
            let category = self.info.category;
            return Err(ModelError::DoesNotGenerate { model: self.info.name, category });
        };
        write_decoder(decoder)?;
        self.onnx.clone_from(&decoder.onnx);
        self.model.clone_from(&decoder.model);
        self.kinds.clone_from(&decoder.kinds);
        Ok(self)
    }

    /// The inputs of the graph that generates, for a batch that reads `new` tokens after `past` others.
    ///
    /// # Errors
    /// Where that is more than the model was made for, or than any memory has.
    pub fn generating_inputs(
        &self,
        batch: usize,
        past: usize,
        new: usize,
    ) -> Result<Vec<InputSpec>, ModelError> {
        let length = past.saturating_add(new);
        if let Some(maximum) = self.max_length.filter(|maximum| length > *maximum) {
            return Err(ModelError::TooLong { model: self.info.name.clone(), length, maximum });
        }
        let Some(Decoder { shape, .. }) = &self.decoder else { return Ok(Vec::new()) };
        let mut bytes = 0;
        let kinds = self.kinds.iter().map(|kind| {
            let (dtype, dims, fill) = match kind.name.as_str() {
                "position_ids" => (ElementType::I64, vec![new], Fill::Positions),
                _ if kind.role == InputRole::TokenIds => {
                    let high = shape.vocabulary as i64;
                    (ElementType::I64, vec![batch, new], Fill::Integers { low: 0, high })
                }
                _ => {
                    let dims = vec![batch, shape.key_heads, past, shape.head_dim];
                    (ElementType::F32, dims, Fill::Normal { mean: 0.0, std: 1.0 })
                }
            };
            check_size(&kind.name, &dims, dtype, &mut bytes)?;
            Ok(InputSpec { name: kind.name.clone(), dtype, dims, role: kind.role, fill })
        });
        kinds.collect()
    }

    /// The inputs for a batch size, a length and shapes the user gave; see [`Resolved::settlement`].
    ///
    /// # Errors
    /// As [`Resolved::settlement`].
    pub fn inputs(
        &self,
        batch: usize,
        length: Option<usize>,
        given: &[InputShape],
    ) -> Result<Vec<InputSpec>, ModelError> {
        let ask = Ask { batch, length, given, ..Ask::default() };
        self.settlement(&ask).map(|settlement| settlement.inputs)
    }

    /// The only batch size that is possible: the one the file or a shape the user fixed says, one where no input counts
    /// samples; `None` if it is free.
    #[must_use]
    pub fn default_batch(&self, fixed: &[InputShape]) -> Option<usize> {
        if self.is_program() && self.kinds.is_empty() {
            return Some(program::batch(fixed));
        }
        let said = self.fixed(Quantity::Batch, fixed).map(|(_, size)| size);
        said.or_else(|| (!self.counts_samples()).then_some(1))
    }

    /// The batch size that a state of the model was made for, where its file fixes one and the batch itself is free.
    #[must_use]
    pub fn state_batch(&self) -> Option<usize> {
        let states = self.model.graph.inputs.iter().zip(&self.kinds);
        let mut states = states.filter(|(_, kind)| is_state(&kind.name.to_lowercase()));
        states.find_map(|(input, _)| match input.shape.as_deref()? {
            // Layers, samples, width: what recurrent operators take.
            [_, Dim::Fixed(batch), _] => Some(*batch),
            _ => None,
        })
    }

    /// Whether any main input has a dimension that counts samples.
    fn counts_samples(&self) -> bool {
        let mut inputs = self.model.graph.inputs.iter().zip(&self.kinds);
        inputs.any(|(input, kind)| {
            let shape = input.shape.as_deref().unwrap_or_default();
            let is_free = |place: &usize| !matches!(shape[*place], Dim::Fixed(_));
            self.is_main(kind)
                && (main_axis(kind, shape, Quantity::Batch).is_some()
                    || (0..shape.len())
                        .filter(is_free)
                        .any(|place| quantity(kind, shape, place) == Quantity::Batch))
        })
    }

    /// The length that results where nobody asks for one: the one the file or a shape the user fixed says, else the
    /// default; `None` for a model without a length.
    #[must_use]
    pub fn length(&self, fixed: &[InputShape]) -> Option<usize> {
        self.fixed(Quantity::Length, fixed).map(|(_, size)| size).or(self.default_length)
    }

    /// Whether every token id is one that the model knows.
    ///
    /// # Errors
    /// Where an id is outside the vocabulary: the tokenizer belongs to another model.
    pub fn check_tokens(&self, encoded: &Encoded) -> Result<(), ModelError> {
        let range = encoded.ids.iter().min().zip(encoded.ids.iter().max());
        self.check_ids(range.map(|(low, high)| (*low, *high)))
    }

    /// Whether every token id between these two, the smallest and the largest, is one that the model knows.
    ///
    /// # Errors
    /// As [`Resolved::check_tokens`].
    pub fn check_ids(&self, ids: Option<(i64, i64)>) -> Result<(), ModelError> {
        let tokens = self.kinds.iter().filter(|kind| kind.role == InputRole::TokenIds);
        let Some(vocabulary) = tokens.filter_map(|kind| kind.vocabulary).min() else {
            return Ok(());
        };
        let Some((low, high)) = ids else { return Ok(()) };
        let outside = |id: &i64| usize::try_from(*id).map_or(true, |id| id >= vocabulary);
        match [low, high].into_iter().find(outside) {
            Some(id) => {
                let model = self.info.name.clone();
                Err(ModelError::OutsideVocabulary { model, id, vocabulary })
            }
            None => Ok(()),
        }
    }

    /// Whether it exists only as a framework's module: there is no graph to look into.
    #[must_use]
    pub fn is_program(&self) -> bool {
        self.onnx.as_os_str().is_empty()
    }

    /// Whether it takes text.
    #[must_use]
    pub fn has_tokens(&self) -> bool {
        self.kinds.iter().any(|kind| kind.role == InputRole::TokenIds)
    }

    /// Its tokenizer, loaded.
    pub fn tokeniser(&self) -> Result<Tokeniser, ModelError> {
        match &self.tokenizer {
            Some(path) => Tokeniser::load(path),
            None => Err(ModelError::NoTokenizer { model: self.info.name.clone() }),
        }
    }

    /// The length that the file or the default says; `None` for a model without one.
    pub(crate) fn natural_length(&self) -> Option<usize> {
        if let Some((_, length)) = self.fixed(Quantity::Length, &[]) {
            return Some(length);
        }
        // The mask of a sound counts samples, not tokens.
        if !self.has_tokens() && self.kinds.iter().any(|kind| kind.role == InputRole::Audio) {
            return None;
        }
        let counts = |(input, kind): (&ValueInfo, &InputKind)| {
            let shape = input.shape.as_deref().unwrap_or_default();
            (0..shape.len()).any(|place| {
                !matches!(shape[place], Dim::Fixed(_))
                    && quantity(kind, shape, place) == Quantity::Length
            })
        };
        let has_length = self.model.graph.inputs.iter().zip(&self.kinds).any(counts);
        has_length.then(|| DEFAULT_LENGTH.min(self.max_length.unwrap_or(DEFAULT_LENGTH)))
    }

    pub(crate) fn check(
        &self,
        batch: usize,
        length: Option<usize>,
        fixed: &[InputShape],
    ) -> Result<(), ModelError> {
        let model = || self.info.name.clone();
        check_given(&self.info.name, &self.model.graph.inputs, fixed)?;
        // What a shape says is zero is told with its name, once all shapes are settled.
        let zero = |wanted| self.fixed(wanted, fixed).is_some_and(|(_, size)| size == 0);
        if batch == 0 && !zero(Quantity::Batch) {
            return Err(ModelError::ZeroBatch);
        }
        if length == Some(0) && !zero(Quantity::Length) {
            return Err(ModelError::ZeroLength);
        }
        if let Some((input, size)) = self.fixed(Quantity::Batch, fixed)
            && size != batch
            && size != 0
        {
            return Err(ModelError::FixedBatch {
                model: model(),
                input,
                fixed: size,
                asked: batch,
            });
        }
        if batch > 1 && !self.counts_samples() {
            return Err(ModelError::NoBatch { model: model(), asked: batch });
        }
        if let (Some((input, size)), Some(length)) = (self.fixed(Quantity::Length, fixed), length)
            && size != length
            && size != 0
        {
            return Err(ModelError::FixedLength {
                model: model(),
                input,
                fixed: size,
                asked: length,
            });
        }
        Ok(())
    }

    /// Nothing can be measured on a main input without elements; a past or a state may begin empty.
    pub(crate) fn check_zeros(&self, settled: &Settled) -> Result<(), ModelError> {
        for (place, dims) in settled.dims.iter().enumerate() {
            if let Some(position) = dims.iter().position(|size| *size == 0)
                && self.is_main(&self.kinds[place])
            {
                let input = self.model.graph.inputs[place].name.clone();
                return Err(ModelError::ZeroDimension { input, position });
            }
        }
        Ok(())
    }

    /// Whether batch size and length can be read off an input: tokens, images and sound, or whatever a model without
    /// these has.
    fn is_main(&self, kind: &InputKind) -> bool {
        let leads = |kind: &InputKind| {
            matches!(
                kind.role,
                InputRole::TokenIds
                    | InputRole::DecoderTokenIds
                    | InputRole::Image
                    | InputRole::Audio
            )
        };
        let name = kind.name.to_lowercase();
        leads(kind) || !self.kinds.iter().any(leads) && !is_past(&name) && !is_state(&name)
    }

    /// The batch size or length that a main input has once and for all, and that input's name.
    fn fixed(&self, wanted: Quantity, fixed: &[InputShape]) -> Option<(String, usize)> {
        let inputs = self.model.graph.inputs.iter().zip(&self.kinds);
        inputs.filter(|(_, kind)| self.is_main(kind)).find_map(|(input, kind)| {
            let shape = input.shape.as_deref()?;
            let place = main_axis(kind, shape, wanted)?;
            let given = fixed.iter().find(|given| given.name == input.name);
            let size = match (given, &shape[place]) {
                (Some(given), _) => given.dims.get(place).copied(),
                (None, Dim::Fixed(size)) => Some(*size),
                (None, Dim::Symbol(symbol)) => return self.bound(symbol, fixed),
                (None, Dim::Unknown) => None,
            };
            size.map(|size| (input.name.clone(), size))
        })
    }

    /// What another input that the user fixed says for a symbol, and that input's name.
    fn bound(&self, symbol: &str, fixed: &[InputShape]) -> Option<(String, usize)> {
        let symbol = plain_symbol(symbol)?;
        fixed.iter().find_map(|given| {
            let input = self.model.graph.inputs.iter().find(|input| input.name == given.name)?;
            let mut dims = input.shape.as_deref()?.iter().zip(&given.dims);
            let same = |dim: &Dim| match dim {
                Dim::Symbol(other) => plain_symbol(other).as_deref() == Some(&symbol),
                _ => false,
            };
            let (_, size) = dims.find(|(dim, _)| same(dim))?;
            Some((given.name.clone(), *size))
        })
    }

    /// Height and width of an image whose size is free, by what such models were trained on.
    pub(crate) fn image(&self) -> [usize; 2] {
        let name = self.info.name.to_lowercase();
        let named = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        if named(&["ocr"]) && named(&["rec", "cls"]) {
            return [LINE_SIDE, LINE_WIDTH];
        }
        let detects = named(&["yolo", "ssd", "rcnn", "detr", "detect", "_det"])
            || self.model.graph.nodes.iter().any(|node| node.op_type == "NonMaxSuppression");
        [if detects { DETECTOR_SIDE } else { CLASSIFIER_SIDE }; 2]
    }
}

/// The axis of a main input that counts samples or tokens, whether it is free or fixed.
fn main_axis(kind: &InputKind, shape: &[Dim], wanted: Quantity) -> Option<usize> {
    let rank = shape.len();
    let axis = match (wanted, kind.role) {
        (Quantity::Length, InputRole::TokenIds) => rank.checked_sub(1),
        (Quantity::Length, _) => None,
        (
            _,
            InputRole::TokenIds | InputRole::DecoderTokenIds | InputRole::Audio | InputRole::Other,
        ) => (rank >= 2).then_some(0),
        (_, InputRole::Image) => (rank == 4).then_some(0),
        _ => None,
    }?;
    // What a symbol calls something else is not the batch.
    let agrees = matches!(shape[axis], Dim::Fixed(_)) || quantity(kind, shape, axis) == wanted;
    agrees.then_some(axis)
}
