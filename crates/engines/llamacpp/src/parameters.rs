//! The blocks of parameters that llama.cpp is told with.
//!
//! Their fields change from version to version, and the library does not say which it has. So it fills a block that is
//! larger than any of them with its defaults, a few fields are recognised by their defaults, and only those are set.

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
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContextSize {
    /// Tokens of all rows together.
    pub(crate) tokens: u32,
    /// Rows.
    pub(crate) rows: u32,
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
    Some(block)
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
        let size = ContextSize { tokens: 64, rows: 2 };
        assert!(for_context(block(&[512, 2048, 512, 1]), size).is_some());
        // Before October 2024 a seed was first.
        assert!(for_context(block(&[u32::MAX, 512, 2048, 512, 1]), size).is_none());
        assert!(for_model(block(&[0, 0, 0, 0, u32::MAX, 1])).is_some());
        // Before the list of devices was added, the layers were first.
        assert!(for_model(block(&[0, 1, 0, 0, 0, 0])).is_none());
    }

    #[test]
    fn only_the_size_of_a_context_is_changed() {
        let size = ContextSize { tokens: 64, rows: 2 };
        let made = for_context(block(&[512, 2048, 512, 1, 7, 8]), size).unwrap();
        // SAFETY: the whole block was written above.
        let words: Vec<u32> = (0..6).map(|place| unsafe { made.word(4 * place) }).collect();
        assert_eq!(words, [64, 2048, 512, 2, 7, 8]);
    }
}
