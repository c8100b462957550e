//! Damage to ONNX files as messages: operators, names, dims, types, arguments, bodies inside bodies.

mod change;
mod wire;
mod words;

use super::{LONGEST, begin, bytes};
use crate::Random;
use change::change;
use wire::{Kind, Message};

pub(crate) use wire::field;

/// A model with a few of its messages changed; seldom with bytes changed, too.
pub(crate) fn mutate(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let seed = begin(random, seeds);
    if random.percent(10) {
        return bytes::mutate(random, &[seed]);
    }
    let Some(mut model) = Message::parse(Kind::Model, &seed, 0) else {
        return bytes::mutate(random, seeds);
    };
    let other = random.pick(seeds).and_then(|seed| Message::parse(Kind::Model, seed, 0));
    let mut names = Vec::new();
    model.names(&mut names);
    for _ in 0..random.changes() {
        let graft = other.as_ref().map(|other| other.at(random.below(other.count())));
        let at = random.below(model.count());
        change(random, model.at_mut(at), graft, &names);
    }
    let mut file = Vec::new();
    model.write(&mut file);
    if random.percent(5) {
        bytes::change(random, &mut file, seeds);
    }
    file.truncate(LONGEST);
    file
}
