//! The blocks of parameters that llama.cpp is told with.
//!
//! Their fields change from version to version, and the library does not say which it has. So it fills a block that is
//! larger than any of them with its defaults, a few fields are recognised by their defaults, and only those are set.

use crate::api::{Handle, Watcher};
use std::mem::MaybeUninit;

/// More bytes than a block of any version has; 80 and 160 in 0.5.0.
const SIZE: usize = 1024;

/// A block of parameters: passed in memory, as all that is larger than sixteen bytes, so that its real size does not matter.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub(crate) struct Block([MaybeUninit<u8>; SIZE]);

impl Block {
    /// The word at a place.
    ///
    /// # Safety
    /// The library must have written there.
    unsafe fn word(&self, place: usize) -> u32 {
        let bytes: [u8; 4] = std::array::from_fn(|at| {
            // SAFETY: the caller promises that it was written.
            unsafe { self.0[place + at].assume_init() }
        });
        u32::from_ne_bytes(bytes)
    }

    fn set(&mut self, place: usize, bytes: &[u8]) {
        for (to, from) in self.0[place..].iter_mut().zip(bytes) {
            to.write(*from);
        }
    }
}

/// How a model is loaded: on the CPU.
///
/// `None` where the block has another layout. `block` must come from `llama_model_default_params`.
pub(crate) fn for_model(mut block: Block) -> Option<Block> {
    /// A list of devices that ends before the first: nothing goes to a GPU.
    struct Nobody([*mut std::ffi::c_void; 1]);
    // SAFETY: nobody writes to it, and it leads nowhere.
    unsafe impl Sync for Nobody {}
    static NOBODY: Nobody = Nobody([std::ptr::null_mut()]);
    /// All layers; one version meant that by 999.
    const ALL: [u32; 2] = [u32::MAX, 999];
    const BY_LAYER: u32 = 1;

    // SAFETY: a block of any version is larger than these six words, which have no gaps between them.
    let words: [u32; 6] = std::array::from_fn(|place| unsafe { block.word(4 * place) });
    // The devices, where tensors go, how many layers go to a GPU, how they are split.
    if words[..4] != [0; 4] || !ALL.contains(&words[4]) || words[5] != BY_LAYER {
        return None;
    }
    block.set(0, &(&raw const NOBODY.0).addr().to_ne_bytes());
    Some(block)
}

/// The size of a context.
#[derive(Clone, Copy)]
pub(crate) struct ContextSize {
    /// Tokens of all rows together.
    pub(crate) tokens: u32,
    /// Rows.
    pub(crate) rows: u32,
    /// The number format of the cache.
    pub(crate) cache: u32,
    /// A function that watches operators, with its argument.
    pub(crate) watcher: Option<(Watcher, Handle)>,
}

/// How a context is made; `None` where the block has another layout. `block` must come from `llama_context_default_params`.
pub(crate) fn for_context(mut block: Block, size: ContextSize) -> Option<Block> {
    /// Tokens of a context, of a call, of a pass through the graph, and sequences.
    const DEFAULTS: [u32; 4] = [512, 2048, 512, 1];
    // SAFETY: a block of any version is larger than these four words, which have no gaps between them.
    let words: [u32; 4] = std::array::from_fn(|place| unsafe { block.word(4 * place) });
    if words != DEFAULTS {
        return None;
    }
    block.set(0, &size.tokens.to_ne_bytes());
    block.set(12, &size.rows.to_ne_bytes());
    if size.cache == CACHE && size.watcher.is_none() {
        return Some(block);
    }
    let place = watcher_place(&block)?;
    block.set(place + 16, &size.cache.to_ne_bytes());
    block.set(place + 20, &size.cache.to_ne_bytes());
    if let Some((watcher, argument)) = size.watcher {
        block.set(place, &(watcher as usize).to_ne_bytes());
        block.set(place + 8, &argument.addr().to_ne_bytes());
    }
    Some(block)
}

/// The cache's number format that the library has by default: 16-bit floats.
const CACHE: u32 = 1;

/// Where the function that watches operators stands, and its argument. The formats of keys and values are behind it, and then comes
/// another function; no function is set.
///
/// The block must have been filled by the library, as far as the end of these words in any version.
fn watcher_place(block: &Block) -> Option<usize> {
    const PATTERN: [u32; 10] = [0, 0, 0, 0, CACHE, CACHE, 0, 0, 0, 0];
    /// Sizes and threads are before it, in 36 bytes or more; the whole block had 136 bytes in its smallest version.
    const PLACES: std::ops::RangeInclusive<usize> = 36..=96;
    let fits = |place: &usize| {
        // SAFETY: no version's block ends before 136 bytes, and up to there it has no gaps.
        let word = |at: usize| unsafe { block.word(place + 4 * at) };
        PATTERN.iter().enumerate().all(|(at, wanted)| word(at) == *wanted)
    };
    let mut found = PLACES.step_by(4).filter(|place| place % 8 == 0).filter(fits);
    match (found.next(), found.next()) {
        (Some(place), None) => Some(place),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(words: &[u32]) -> Block {
        let mut block = Block([MaybeUninit::new(0); SIZE]);
        for (place, word) in words.iter().enumerate() {
            block.set(4 * place, &word.to_ne_bytes());
        }
        block
    }

    #[test]
    fn a_layout_that_is_not_recognised_is_refused() {
        let size = ContextSize { tokens: 64, rows: 2, cache: CACHE, watcher: None };
        assert!(for_context(block(&[512, 2048, 512, 1]), size).is_some());
        // Before October 2024 a seed was first.
        assert!(for_context(block(&[u32::MAX, 512, 2048, 512, 1]), size).is_none());
        assert!(for_model(block(&[0, 0, 0, 0, u32::MAX, 1])).is_some());
        // Before the list of devices was added, the layers were first.
        assert!(for_model(block(&[0, 1, 0, 0, 0, 0])).is_none());
    }

    #[test]
    fn the_formats_of_the_cache_are_found_between_functions_that_are_not_set() {
        let size = ContextSize { tokens: 64, rows: 2, cache: 8, watcher: None };
        let mut words = vec![512, 2048, 512, 1];
        words.resize(18, 7);
        let before = words.len();
        words.extend([0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 9]);
        let made = for_context(block(&words), size).unwrap();
        // SAFETY: the whole block was written above.
        let word = |place: usize| unsafe { made.word(4 * place) };
        assert_eq!(
            [word(before + 3), word(before + 4), word(before + 5), word(before + 6)],
            [0, 8, 8, 0]
        );
        assert_eq!([word(before), word(before + 1)], [0, 0], "nobody watches");
        unsafe extern "C" fn watcher(_: Handle, _: bool, _: Handle) -> bool {
            true
        }
        let argument = std::ptr::without_provenance_mut(0x1234_5678);
        let watched = ContextSize { cache: CACHE, watcher: Some((watcher, argument)), ..size };
        let made = for_context(block(&words), watched).unwrap();
        // SAFETY: the whole block was written above.
        let word = |place: usize| unsafe { made.word(4 * place) };
        assert_ne!([word(before), word(before + 1)], [0, 0]);
        assert_eq!([word(before + 2), word(before + 4)], [0x1234_5678, CACHE]);
        words[before + 5] = 2;
        assert!(for_context(block(&words), size).is_none());
    }

    #[test]
    fn only_the_size_of_a_context_is_changed() {
        let size = ContextSize { tokens: 64, rows: 2, cache: CACHE, watcher: None };
        let made = for_context(block(&[512, 2048, 512, 1, 7, 8]), size).unwrap();
        // SAFETY: the whole block was written above.
        let words: Vec<u32> = (0..6).map(|place| unsafe { made.word(4 * place) }).collect();
        assert_eq!(words, [64, 2048, 512, 2, 7, 8]);
    }
}
