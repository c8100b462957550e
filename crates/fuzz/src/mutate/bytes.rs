//! Damage without regard to any format.

use super::{LONGEST, begin};
use crate::Random;

/// A file with a few bytes changed, moved, repeated, gone or taken from another file.
pub(crate) fn mutate(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = begin(random, seeds);
    for _ in 0..random.changes() {
        change(random, &mut bytes, seeds);
    }
    bytes
}

/// One change.
pub(super) fn change(random: &mut Random, bytes: &mut Vec<u8>, seeds: &[Vec<u8>]) {
    let at = random.below(bytes.len());
    let length = match random.below(3) {
        0 => 1 + random.below(4),
        1 => 1 + random.below(64),
        _ => 1 + random.below(bytes.len()),
    };
    let end = (at + length).min(bytes.len());
    match random.below(10) {
        0 | 1 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        2 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = random.edge() as u8;
            }
        }
        3 | 4 => number(random, bytes, at),
        5 => {
            bytes.drain(at..end);
        }
        6 => bytes.truncate(at),
        7 => {
            let part = bytes[at..end].to_vec();
            let times = if random.percent(10) { 64 } else { 1 };
            for _ in 0..times {
                if bytes.len() + part.len() <= LONGEST {
                    bytes.splice(at..at, part.iter().copied());
                }
            }
        }
        8 => {
            let other = begin(random, seeds);
            let from = random.below(other.len());
            let to = (from + length).min(other.len());
            let end = if random.percent(50) { end } else { at };
            bytes.splice(at..end, other[from..to].iter().copied());
        }
        _ => {
            let made: Vec<u8> = (0..1 + random.below(8)).map(|_| random.number() as u8).collect();
            bytes.splice(at..at, made);
        }
    }
}

/// Writes a number over a place where a length or an offset may be.
fn number(random: &mut Random, bytes: &mut [u8], at: usize) {
    let value = random.edge();
    let width = [1, 2, 4, 8][random.below(4)];
    let mut made = value.to_le_bytes()[..width].to_vec();
    if random.percent(20) {
        made.reverse();
    }
    for (place, byte) in bytes.iter_mut().skip(at).zip(made) {
        *place = byte;
    }
}
