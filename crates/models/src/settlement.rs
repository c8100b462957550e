//! The inputs of a model for one measurement: shapes settled, recipes chosen, and what had to be guessed for that.

use crate::{
    InputKind, ModelError, Resolved,
    given::check_size,
    program,
    recipe::{SMALL_VOCABULARY, Surroundings, element_type, fill, ranged},
    resolved::CLASSIFIER_SIDE,
    shapes::{Quantity, Settled, Sizes, quantity, settle},
    signature::is_state,
};
use graph::{Dim, ValueInfo};
use types::{InputRole, InputShape, InputSpec, InputValues, LengthUnit, ValueSource};

/// Sizes in the place of the usual guesses, for dimensions that neither the file nor the user says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Guess {
    /// Tokens or steps in a row.
    pub length: Option<usize>,
    /// Both sides of an image.
    pub side: Option<usize>,
    /// Samples of sound.
    pub samples: Option<usize>,
    /// Every dimension that is unknown.
    pub other: Option<usize>,
}

/// What is asked of a model's inputs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ask<'a> {
    /// Samples in one inference.
    pub batch: usize,
    /// Tokens, or what else a sequence is made of; `None` means the model's own or the default.
    pub length: Option<usize>,
    /// Shapes the user gave for single inputs.
    pub given: &'a [InputShape],
    /// Values the user gave for single inputs.
    pub values: &'a [InputValues],
    /// In the place of the usual guesses.
    pub guess: Guess,
}

/// The inputs of a model for one measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Settlement {
    /// Every input with its shape and its recipe.
    pub inputs: Vec<InputSpec>,
    /// What was assumed for sizes that neither the file nor the user says.
    pub assumptions: Vec<String>,
    /// The length that sets this measurement apart from others of the model, and what it counts: that of tokens, or one
    /// that was asked for and changed a shape.
    pub length: Option<(usize, LengthUnit)>,
    /// Whether no input follows the length that was asked for.
    pub is_length_unused: bool,
    /// What was chosen by us and might have been chosen otherwise.
    pub(crate) guessed: Vec<Quantity>,
}

impl Resolved {
    /// The inputs for what is asked, with shapes settled and recipes chosen.
    ///
    /// Shapes whose bytes nobody could address are refused; whether they fit this machine is not looked at.
    ///
    /// # Errors
    /// Where what is asked contradicts the model or itself.
    pub fn settlement(&self, ask: &Ask<'_>) -> Result<Settlement, ModelError> {
        if self.is_program() && self.kinds.is_empty() {
            return self.settlement_of_program(ask);
        }
        // A module may take more than its configuration tells.
        let is_more = |shape: &InputShape| {
            self.is_program() && !self.kinds.iter().any(|kind| kind.name == shape.name)
        };
        let (more, known): (Vec<InputShape>, Vec<InputShape>) =
            ask.given.iter().cloned().partition(is_more);
        let ask = &Ask { given: &known, ..*ask };
        self.check(ask.batch, ask.length, ask.given)?;
        let settled = self.settle(ask)?;
        let around = self.surroundings(&settled);
        self.check_zeros(&settled)?;
        if let (Some(maximum), true) = (self.max_length, self.has_tokens())
            && around.length > maximum
        {
            let model = self.info.name.clone();
            return Err(ModelError::TooLong { model, length: around.length, maximum });
        }
        let mut bytes = 0;
        let graph_inputs = &self.model.graph.inputs;
        let mut inputs = Vec::with_capacity(graph_inputs.len());
        for ((input, kind), dims) in graph_inputs.iter().zip(&self.kinds).zip(&settled.dims) {
            let dtype = element_type(input)?;
            check_size(&input.name, dims, dtype, &mut bytes)?;
            let fill = fill(kind, dtype, dims, around);
            let (name, dims) = (input.name.clone(), dims.clone());
            inputs.push(InputSpec { name, dtype, dims, role: kind.role, fill });
        }
        for shape in &more {
            let spec = program::spec(shape);
            check_size(&spec.name, &spec.dims, spec.dtype, &mut bytes)?;
            inputs.push(spec);
        }
        give_values(&self.info.name, &mut inputs, ask.values)?;
        let length = match (tokens_of(&inputs), ask.length, settled.length_of) {
            (Some(tokens), _, _) => Some(tokens),
            (None, Some(length), Some(unit)) => {
                // The same shapes are the same work, whether they were asked for or not.
                let usual = self.settle(&Ask { length: None, ..*ask })?;
                (usual.dims != settled.dims).then_some((length, unit))
            }
            _ => None,
        };
        let is_fixed = self.length(ask.given) == ask.length;
        Ok(Settlement {
            is_length_unused: ask.length.is_some() && settled.length_of.is_none() && !is_fixed,
            assumptions: self.assumptions(&settled, ask),
            inputs,
            length,
            guessed: settled.guessed,
        })
    }

    /// Exactly what the user gave, to a program of which nothing is known.
    fn settlement_of_program(&self, ask: &Ask<'_>) -> Result<Settlement, ModelError> {
        let mut inputs = program::inputs(&self.info.name, ask.batch, ask.given)?;
        give_values(&self.info.name, &mut inputs, ask.values)?;
        let length = tokens_of(&inputs);
        Ok(Settlement {
            // What a program does with a length, nobody knows.
            is_length_unused: ask.length.is_some()
                && ask.length != length.map(|(length, _)| length),
            length,
            inputs,
            assumptions: Vec::new(),
            guessed: Vec::new(),
        })
    }

    /// What was assumed for sizes and values that neither the file nor the user says.
    fn assumptions(&self, settled: &Settled, ask: &Ask<'_>) -> Vec<String> {
        // What we build ourselves takes what we give it.
        if self.module.is_some() && self.no_graph.is_none() {
            return Vec::new();
        }
        let mut assumptions = settled.assumptions.clone();
        for (kind, input) in self.kinds.iter().zip(&self.model.graph.inputs) {
            let has_values = ask.values.iter().any(|values| values.name == input.name);
            let has_shape = ask.given.iter().any(|given| given.name == input.name);
            if matches!(kind.role, InputRole::TokenIds | InputRole::DecoderTokenIds)
                && kind.vocabulary.is_none()
                && !has_values
            {
                assumptions.push(format!(
                    "the vocabulary of input `{}` is not known; ids are below {SMALL_VOCABULARY}",
                    input.name
                ));
            }
            if input.shape.is_none() && !has_shape {
                assumptions.push(format!(
                    "input `{}` declares no shape and is assumed to be one number",
                    input.name
                ));
            }
        }
        assumptions
    }

    fn settle(&self, ask: &Ask<'_>) -> Result<Settled, ModelError> {
        let streaming = self.kinds.iter().any(|kind| is_state(&kind.name.to_lowercase()));
        let (samples, frames) = Sizes::sound(streaming);
        let usual = || ask.guess.length.or_else(|| self.length(ask.given));
        let sizes = Sizes {
            batch: ask.batch,
            length: ask.length.or_else(usual),
            is_asked: ask.length.is_some(),
            image: ask.guess.side.map_or_else(|| self.image(), |side| [side; 2]),
            samples: ask.guess.samples.unwrap_or(samples),
            frames: ask.guess.other.unwrap_or(frames),
            other: ask.guess.other.unwrap_or(1),
        };
        settle(&self.model.graph.inputs, &self.kinds, ask.given, sizes)
    }

    /// What other inputs count: tokens or samples in a row, the side of an image.
    fn surroundings(&self, settled: &Settled) -> Surroundings {
        let inputs = || self.model.graph.inputs.iter().zip(&self.kinds).zip(&settled.dims);
        let last = |role| {
            let place = self.kinds.iter().position(|kind| kind.role == role)?;
            settled.dims[place].iter().copied().rfind(|size| *size > 4)
        };
        let tokens = self
            .kinds
            .iter()
            .position(|kind| kind.role == InputRole::TokenIds)
            .and_then(|place| settled.dims[place].last().copied());
        // The dimension that a sequence grows along, in sound and in anything else.
        let along = inputs().find_map(|((input, kind), dims)| grows_along(input, kind, dims));
        Surroundings {
            length: tokens.or(along).or_else(|| last(InputRole::Audio)).unwrap_or(1),
            side: last(InputRole::Image).unwrap_or(CLASSIFIER_SIDE),
        }
    }
}

/// The size of the free dimension that counts samples, frames or steps.
fn grows_along(input: &ValueInfo, kind: &InputKind, dims: &[usize]) -> Option<usize> {
    let shape = input.shape.as_deref()?;
    let counts = |place: &usize| {
        let grows = matches!(
            quantity(kind, shape, *place),
            Quantity::Samples | Quantity::Frames | Quantity::Length
        );
        grows && !matches!(shape[*place], Dim::Fixed(_))
    };
    (0..shape.len()).find(counts).and_then(|place| dims.get(place).copied())
}

/// Tokens in each row, if there are tokens.
fn tokens_of(inputs: &[InputSpec]) -> Option<(usize, LengthUnit)> {
    let ids = inputs.iter().find(|input| input.role == InputRole::TokenIds)?;
    ids.dims.last().map(|&length| (length, LengthUnit::Tokens))
}

/// Puts what the user said about values in the place of our recipes.
fn give_values(
    model: &str,
    inputs: &mut [InputSpec],
    values: &[InputValues],
) -> Result<(), ModelError> {
    for (place, given) in values.iter().enumerate() {
        if values[..place].iter().any(|earlier| earlier.name == given.name) {
            return Err(ModelError::GivenTwice { input: given.name.clone() });
        }
        let known: Vec<String> = inputs.iter().map(|input| input.name.clone()).collect();
        let Some(input) = inputs.iter_mut().find(|input| input.name == given.name) else {
            let (model, name) = (model.to_owned(), given.name.clone());
            return Err(ModelError::UnknownInput { model, name, known });
        };
        input.fill = match &given.source {
            ValueSource::Range { range } => ranged(&input.name, (input.dtype, input.role), range)?,
            ValueSource::File { path, .. } => {
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
                types::Fill::Given { what: format!("from `{name}`") }
            }
        };
    }
    Ok(())
}
