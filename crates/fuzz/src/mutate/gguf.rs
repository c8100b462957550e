//! Damage to GGUF files: counts, lengths, types and values of the header, each at its place.

use super::{begin, bytes};
use crate::Random;

/// A file with a few fields of its header changed, or seldom any of its bytes.
pub(crate) fn mutate(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut file = begin(random, seeds);
    if random.percent(15) {
        bytes::change(random, &mut file, seeds);
        return file;
    }
    for _ in 0..random.changes() {
        let fields = Fields::of(&file);
        let Some(&(at, width)) = random.pick(&fields.0) else { break };
        match width {
            Width::Number(width) => {
                let value = random.edge().to_le_bytes();
                file[at..at + width].copy_from_slice(&value[..width]);
            }
            // Names and keys: one letter, so that a whole name is seldom lost.
            Width::Text(length) => file[at + random.below(length)] ^= 1 << random.below(8),
        }
    }
    if random.percent(5) {
        file.truncate(random.below(file.len()));
    }
    file
}

#[derive(Debug, Clone, Copy)]
enum Width {
    Number(usize),
    Text(usize),
}

/// Where the header has its fields, as far as it can be followed.
struct Fields(Vec<(usize, Width)>);

impl Fields {
    fn of(file: &[u8]) -> Fields {
        let mut fields = Fields(vec![(4, Width::Number(4))]);
        let mut at = 8;
        let (Some(tensors), Some(keys)) =
            (fields.number(file, &mut at, 8), fields.number(file, &mut at, 8))
        else {
            return Fields(Vec::new());
        };
        let _ = (0..keys).try_for_each(|_| {
            fields.text(file, &mut at)?;
            let kind = fields.number(file, &mut at, 4)?;
            fields.value(file, &mut at, kind)
        });
        let _ = (0..tensors).try_for_each(|_| {
            fields.text(file, &mut at)?;
            let dims = fields.number(file, &mut at, 4)?;
            (0..dims).try_for_each(|_| fields.number(file, &mut at, 8).map(drop))?;
            fields.number(file, &mut at, 4)?;
            fields.number(file, &mut at, 8).map(drop)
        });
        fields
    }

    fn number(&mut self, file: &[u8], at: &mut usize, width: usize) -> Option<u64> {
        let bytes = file.get(*at..at.checked_add(width)?)?;
        self.0.push((*at, Width::Number(width)));
        *at += width;
        let mut whole = [0; 8];
        whole[..width].copy_from_slice(bytes);
        Some(u64::from_le_bytes(whole))
    }

    fn text(&mut self, file: &[u8], at: &mut usize) -> Option<()> {
        let length = usize::try_from(self.number(file, at, 8)?).ok()?;
        let end = at.checked_add(length).filter(|&end| end <= file.len())?;
        if length > 0 {
            self.0.push((*at, Width::Text(length)));
        }
        *at = end;
        Some(())
    }

    fn value(&mut self, file: &[u8], at: &mut usize, kind: u64) -> Option<()> {
        let width = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            8 => return self.text(file, at),
            9 => {
                let kind = self.number(file, at, 4)?;
                let count = self.number(file, at, 8)?;
                return (0..count).try_for_each(|_| self.value(file, at, kind));
            }
            10..=12 => 8,
            _ => return None,
        };
        self.number(file, at, width).map(drop)
    }
}
