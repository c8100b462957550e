//! Damage to pictures and recordings whose parts carry checksums: they are put right again, so that damage is read.

use super::bytes;
use crate::Random;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// A file with changed bytes; the checksums of a PNG fit in most cases.
pub(crate) fn mutate(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut file = bytes::mutate(random, seeds);
    if file.starts_with(PNG) && random.percent(90) {
        mend(&mut file);
    }
    file
}

/// Writes the checksum of every chunk that is whole.
fn mend(file: &mut [u8]) {
    let mut at = PNG.len();
    while let Some(length) = file.get(at..at + 4).and_then(|length| length.first_chunk::<4>()) {
        let length = u32::from_be_bytes(*length) as usize;
        let Some(end) = at.checked_add(8).and_then(|from| from.checked_add(length)) else { return };
        let Some(chunk) = file.get(at + 4..end) else { return };
        let sum = checksum(chunk).to_be_bytes();
        let Some(place) = file.get_mut(end..end + 4) else { return };
        place.copy_from_slice(&sum);
        at = end + 4;
    }
}

/// CRC-32, bit by bit: the files are small.
pub(crate) fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg());
        }
    }
    !sum
}
