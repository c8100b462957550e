//! Dimensions settled: symbols, formulas and unknowns become numbers, the same symbol the same number.

use crate::{
    InputKind, ModelError,
    formula::Formula,
    signature::{channel_axis, is_past, is_state},
};
use graph::{Dim, ValueInfo};
use std::collections::HashMap;
use types::{InputRole, InputShape, LengthUnit};

/// One second at the usual rate.
pub(crate) const SOUND_SAMPLES: usize = 16_000;
/// The piece that streaming models with a state take at 16 kHz.
pub(crate) const SOUND_PIECE: usize = 512;
/// One second of spectrogram at the usual hop of 10 ms.
const SOUND_FRAMES: usize = 100;

/// An image not higher than this is a line of text; as wide as recognisers were trained on.
const LINE_HEIGHT: usize = 64;
pub(crate) const LINE_WIDTH: usize = 320;

/// What a dimension counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    Batch,
    Length,
    Past,
    Channels,
    Height,
    Width,
    Samples,
    Frames,
    /// Nobody knows.
    Unknown,
}

/// What is asked for, apart from shapes that are fixed one by one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) batch: usize,
    /// Tokens, or what else a sequence is made of.
    pub(crate) length: Option<usize>,
    /// Whether somebody asked for that length.
    pub(crate) is_asked: bool,
    /// Height and width of images whose size is free.
    pub(crate) image: [usize; 2],
    /// Samples of sound, and frames of it, where nobody asks for a length.
    pub(crate) samples: usize,
    pub(crate) frames: usize,
    /// What is unknown.
    pub(crate) other: usize,
}

impl Sizes {
    /// What sound is taken as where nobody says more; in small pieces where there is a state.
    pub(crate) fn sound(streaming: bool) -> (usize, usize) {
        (if streaming { SOUND_PIECE } else { SOUND_SAMPLES }, SOUND_FRAMES)
    }
}

/// Shapes, and what was assumed for them.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    pub(crate) dims: Vec<Vec<usize>>,
    pub(crate) assumptions: Vec<String>,
    /// What was chosen by us and might have been chosen otherwise.
    pub(crate) guessed: Vec<Quantity>,
    /// What the length that was asked for counts; `None` if no dimension follows it.
    pub(crate) length_of: Option<LengthUnit>,
}

/// What a dimension counts; `place` is its index in the shape.
pub(crate) fn quantity(kind: &InputKind, shape: &[Dim], place: usize) -> Quantity {
    let rank = shape.len();
    if let Dim::Symbol(symbol) = &shape[place] {
        let symbol = symbol.to_lowercase();
        let has = |parts: &[&str]| parts.iter().any(|part| symbol.contains(part));
        if is_past(&symbol) {
            return Quantity::Past;
        }
        if has(&["batch"]) || matches!(symbol.as_str(), "n" | "b" | "bs") {
            return Quantity::Batch;
        }
        let timed = matches!(kind.role, InputRole::Image | InputRole::Audio);
        if !timed && has(&["seq", "len", "token", "time"]) {
            return Quantity::Length;
        }
        if has(&["height"]) || symbol == "h" {
            return Quantity::Height;
        }
        if has(&["width"]) || symbol == "w" {
            return Quantity::Width;
        }
        let sound = matches!(kind.role, InputRole::Audio | InputRole::Other);
        if sound && rank <= 3 && has(&["samples", "waveform"]) {
            return Quantity::Samples;
        }
    }
    match kind.role {
        InputRole::TokenIds
        | InputRole::DecoderTokenIds
        | InputRole::AttentionMask
        | InputRole::TokenTypes => {
            if place + 1 == rank {
                Quantity::Length
            } else {
                Quantity::Batch
            }
        }
        InputRole::Image => match channel_axis(shape).unwrap_or(if rank == 4 { 1 } else { 0 }) {
            axis if axis == place => Quantity::Channels,
            _ if rank == 4 && place == 0 => Quantity::Batch,
            axis if place + 1 == rank || axis == place + 1 && place + 2 == rank => Quantity::Width,
            _ => Quantity::Height,
        },
        InputRole::Audio => {
            let single = rank < 3 || shape.iter().skip(1).any(|dim| *dim == Dim::Fixed(1));
            match place {
                0 if rank > 1 => Quantity::Batch,
                _ if single => Quantity::Samples,
                _ => Quantity::Frames,
            }
        }
        InputRole::Other => {
            // The first dimension of anything else is how many there are of it; in a state another may stand before.
            let free = shape.iter().position(|dim| !matches!(dim, Dim::Fixed(_)));
            let name = kind.name.to_lowercase();
            let counts = place == 0 || is_state(&name) || is_past(&name);
            if free == Some(place) && counts { Quantity::Batch } else { Quantity::Unknown }
        }
    }
}

/// Settles all shapes: those that the user fixed first, then symbols, then formulas.
pub(crate) fn settle(
    inputs: &[ValueInfo],
    kinds: &[InputKind],
    fixed: &[InputShape],
    sizes: Sizes,
) -> Result<Settled, ModelError> {
    let mut bound: HashMap<String, usize> = HashMap::new();
    for input in inputs {
        let Some(asked) = fixed.iter().find(|shape| shape.name == input.name) else { continue };
        bind_fixed(input, asked, &mut bound)?;
    }
    let mut settled = Settled::default();
    let empty = Vec::new();
    // First every plain symbol, so that formulas of another input find them; sound before its mask, which counts the
    // same thing without saying that it is samples.
    let mut order: Vec<(&ValueInfo, &InputKind)> = inputs.iter().zip(kinds).collect();
    order.sort_by_key(|(_, kind)| kind.role != InputRole::Audio);
    for (input, kind) in order {
        let shape = input.shape.as_ref().unwrap_or(&empty);
        for (place, dim) in shape.iter().enumerate() {
            if let Dim::Symbol(symbol) = dim
                && let Some(symbol) = plain_symbol(symbol)
                && !bound.contains_key(&symbol)
            {
                let value = choose(kind, shape, place, sizes, &mut settled);
                bound.insert(symbol, value);
            }
        }
    }
    for (input, kind) in inputs.iter().zip(kinds) {
        if let Some(asked) = fixed.iter().find(|shape| shape.name == input.name) {
            settled.dims.push(asked.dims.clone());
            continue;
        }
        let shape = input.shape.as_ref().unwrap_or(&empty);
        let mut dims = Vec::with_capacity(shape.len());
        for (place, dim) in shape.iter().enumerate() {
            let known = match dim {
                Dim::Fixed(size) => Some(*size),
                Dim::Symbol(text) => value_of(text, &bound, &mut settled.assumptions),
                Dim::Unknown => None,
            };
            dims.push(match known {
                Some(value) => value,
                None => choose(kind, shape, place, sizes, &mut settled),
            });
        }
        settled.dims.push(dims);
    }
    Ok(settled)
}

/// Names that exporters give to every unknown dimension alike.
fn is_anonymous(symbol: &str) -> bool {
    matches!(symbol, "" | "?" | "-1" | "None" | "none" | "unk")
}

/// The name of a dimension that is one name and not a formula over several.
pub(crate) fn plain_symbol(text: &str) -> Option<String> {
    match Formula::parse(text) {
        Formula::Symbol(symbol) if !is_anonymous(&symbol) => Some(symbol),
        _ => None,
    }
}

fn bind_fixed(
    input: &ValueInfo,
    asked: &InputShape,
    bound: &mut HashMap<String, usize>,
) -> Result<(), ModelError> {
    let Some(shape) = &input.shape else { return Ok(()) };
    for (position, (dim, &asked)) in shape.iter().zip(&asked.dims).enumerate() {
        match dim {
            Dim::Fixed(declared) if *declared != asked => {
                return Err(ModelError::FixedDimension {
                    input: input.name.clone(),
                    position,
                    declared: *declared,
                    asked,
                });
            }
            Dim::Symbol(symbol) => {
                let Some(symbol) = plain_symbol(symbol) else { continue };
                if let Some(&known) = bound.get(&symbol)
                    && known != asked
                {
                    let input = input.name.clone();
                    return Err(ModelError::Contradiction {
                        input,
                        position,
                        symbol,
                        bound: known,
                        asked,
                    });
                }
                bound.insert(symbol, asked);
            }
            _ => {}
        }
    }
    Ok(())
}

fn value_of(
    text: &str,
    bound: &HashMap<String, usize>,
    assumptions: &mut Vec<String>,
) -> Option<usize> {
    let formula = Formula::parse(text);
    let value = match &formula {
        Formula::Symbol(symbol) => return bound.get(symbol).copied(),
        _ => formula.value(&|symbol| bound.get(symbol).copied()),
    };
    // A formula over something that no input names: one of each.
    let value = value.or_else(|| {
        let missing: Vec<&str> =
            formula.symbols().into_iter().filter(|symbol| !bound.contains_key(*symbol)).collect();
        let value = formula.value(&|symbol| Some(bound.get(symbol).copied().unwrap_or(1)))?;
        assumptions.push(format!("`{}` is assumed to be 1", missing.join("`, `")));
        Some(value)
    })?;
    (value >= 0.0).then_some(value as usize)
}

fn choose(
    kind: &InputKind,
    shape: &[Dim],
    place: usize,
    sizes: Sizes,
    settled: &mut Settled,
) -> usize {
    let quantity = quantity(kind, shape, place);
    let asked = sizes.length.filter(|_| sizes.is_asked);
    let is_asked = match quantity {
        Quantity::Length | Quantity::Samples | Quantity::Frames => asked.is_some(),
        _ => false,
    };
    if !is_asked && !settled.guessed.contains(&quantity) {
        settled.guessed.push(quantity);
    }
    let Settled { assumptions, length_of, .. } = settled;
    let mut assume = |value: usize, what: &str| {
        let text = format!("{what} of input `{}` is assumed to be {value}", kind.name);
        if !assumptions.contains(&text) {
            assumptions.push(text);
        }
        value
    };
    let mut counted = |unit: LengthUnit| {
        if asked.is_some() {
            *length_of = length_of.or(Some(unit));
        }
    };
    match quantity {
        Quantity::Batch => sizes.batch,
        Quantity::Length => {
            let is_text = !matches!(kind.role, InputRole::Other);
            counted(if is_text { LengthUnit::Tokens } else { LengthUnit::Steps });
            match (sizes.length, is_text || sizes.is_asked) {
                (Some(length), true) => length,
                (length, _) => assume(length.unwrap_or(1), "the length"),
            }
        }
        Quantity::Past => 0,
        Quantity::Channels => 3,
        quantity @ (Quantity::Height | Quantity::Width) => {
            let other = shape.iter().enumerate().find_map(|(other, dim)| match dim {
                Dim::Fixed(size) if other != place && other > 0 && *size > 4 => Some(*size),
                _ => None,
            });
            let [height, width] = sizes.image;
            match (other, quantity) {
                // A line of text: low and wide.
                (Some(low), Quantity::Width) if low <= LINE_HEIGHT => {
                    assume(LINE_WIDTH, "the width")
                }
                (Some(same), _) => assume(same, "the other side"),
                (None, _) if height == width => assume(width, "each side"),
                (None, Quantity::Height) => assume(height, "the height"),
                (None, _) => assume(width, "the width"),
            }
        }
        Quantity::Samples => {
            counted(LengthUnit::Samples);
            asked.unwrap_or_else(|| assume(sizes.samples, "the number of samples"))
        }
        Quantity::Frames => {
            counted(LengthUnit::Frames);
            asked.unwrap_or_else(|| assume(sizes.frames, "the number of frames"))
        }
        Quantity::Unknown => assume(sizes.other, &format!("dimension {place}")),
    }
}
