//! A hash that is the same on every machine and in every version (FNV-1a, 64 bits).
//!
//! It tells names apart and spreads seeds; it does not resist anybody who looks for two equal ones. Where that matters, or
//! where content is large, BLAKE3 is used.

/// The hash of these bytes.
#[must_use]
pub fn stable_hash(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_published_algorithm() {
        assert_eq!(stable_hash([]), 0xcbf2_9ce4_8422_2325);
        assert_eq!(stable_hash(*b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(stable_hash(*b"foobar"), 0x8594_4171_f739_67e8);
    }
}
