//! The file that a process writes: a head, then blocks. Written here, read by `crates/gpu`.
//!
//! Every block can be read by itself: numbers are differences to the record before in the same block. A file that was cut
//! off anywhere is good up to its last whole block. Texts, shapes and places are numbered; a block that introduces a number
//! comes before the first that uses it.

/// What a file begins with.
pub const MAGIC: [u8; 8] = *b"MMGPUREC";
/// The version of the format.
pub const VERSION: u32 = 1;
/// Bytes of the head: magic, version, the error that ended writing (0 for none).
pub const HEAD: usize = 16;
/// Where the head keeps the number of the error that ended writing.
pub const ERROR_AT: usize = 12;
/// Bytes before a block's content: kind, number of records, length, checksum.
pub const BLOCK_HEAD: usize = 16;
/// The largest content of a block; a longer one is damage.
pub const LARGEST_BLOCK: usize = 64 << 20;
/// The ending of the files.
pub const EXTENSION: &str = "mmgpu";

/// What is in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// Lines `name=value` about the process.
    Facts = 1,
    /// Texts: number, bytes.
    Texts = 2,
    /// Shapes of kernels: number, text, grid, block, shared memory (static, dynamic), registers.
    Shapes = 3,
    /// Places on a device: number, device, context, stream.
    Places = 4,
    /// Kernels: start, length, shape, place, correlation, graph node.
    Kernels = 5,
    /// Copies: start, length, bytes, kind, memory on both sides, place, correlation, graph node.
    Copies = 6,
    /// Memory that was set: start, length, bytes, place, correlation, graph node.
    Sets = 7,
    /// Calls into CUDA: start, length, thread, correlation, text.
    Calls = 8,
    /// Events of one thread (NVTX, graph nodes): see [`Event`].
    Events = 9,
    /// Device memory: time, operation, kind, bytes, device, address.
    Memory = 10,
    /// Nodes of instantiated graphs: the node, the node it was copied from.
    Clones = 11,
    /// Trouble: a code and a text for people.
    Troubles = 12,
    /// When recording began or ended: time, 1 or 0, number of the step.
    Windows = 13,
    /// Numbers that only grow; the newest block counts: see [`COUNTS`].
    Counts = 14,
    /// Nothing follows: the process ended in good order.
    End = 15,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 15] = [
        Kind::Facts,
        Kind::Texts,
        Kind::Shapes,
        Kind::Places,
        Kind::Kernels,
        Kind::Copies,
        Kind::Sets,
        Kind::Calls,
        Kind::Events,
        Kind::Memory,
        Kind::Clones,
        Kind::Troubles,
        Kind::Windows,
        Kind::Counts,
        Kind::End,
    ];

    /// The kind with this number.
    #[must_use]
    pub fn of(number: u32) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| *kind as u32 == number)
    }
}

/// What the numbers of a block of counts are, in order.
pub const COUNTS: [&str; 4] = ["dropped", "refused", "buffers", "outstanding"];

/// What happened on a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Event {
    /// A range was opened on the thread's stack: domain, text.
    Push = 0,
    /// The thread's innermost range of a domain was closed: domain.
    Pop = 1,
    /// A range that may end anywhere: domain, text, its number.
    Start = 2,
    /// Such a range ended: its number.
    Stop = 3,
    /// A moment: domain, text.
    Mark = 4,
    /// A node was added to a graph, by capture or by hand: its number.
    Node = 5,
    /// From now on, time and work of the process belong to this part: see [`part`].
    Part = 6,
}

/// Parts of a run that a worker of ours tells apart: its modules or nodes by number, and these.
pub mod part {
    /// A run begins whose parts are not told apart.
    pub const RUN: u64 = 1 << 40;
    /// A run begins whose parts are told apart.
    pub const RUN_IN_PARTS: u64 = RUN + 1;
    /// A run ended, and the device has finished.
    pub const END: u64 = RUN + 2;
    /// No part of the model.
    pub const NOBODY: u64 = RUN + 3;
    /// Runs of another turn follow.
    pub const TURN: u64 = RUN + 4;
}

impl Event {
    /// The event with this number.
    #[must_use]
    pub fn of(number: u8) -> Option<Event> {
        const ALL: [Event; 7] = [
            Event::Push,
            Event::Pop,
            Event::Start,
            Event::Stop,
            Event::Mark,
            Event::Node,
            Event::Part,
        ];
        ALL.into_iter().find(|event| *event as u8 == number)
    }
}

/// What a range's name begins with if it is a module's path, which the hook of `--modules` opened.
pub const MODULE_MARK: u8 = 0x02;

/// Appends a number, seven bits a byte, the lowest first.
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends the difference of two numbers, small in either direction.
pub fn put_difference(out: &mut Vec<u8>, value: u64, before: u64) {
    let difference = value.wrapping_sub(before) as i64;
    put(out, ((difference << 1) ^ (difference >> 63)) as u64);
}

/// Takes a number off the front.
#[must_use]
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for (at, byte) in bytes.iter().enumerate().take(10) {
        let bits = u64::from(byte & 0x7f);
        // The tenth byte has room for one bit.
        if at == 9 && bits > 1 {
            return None;
        }
        value |= bits << (7 * at);
        if byte & 0x80 == 0 {
            *bytes = &bytes[at + 1..];
            return Some(value);
        }
    }
    None
}

/// Takes a number that was written as a difference.
#[must_use]
pub fn take_difference(bytes: &mut &[u8], before: u64) -> Option<u64> {
    let folded = take(bytes)?;
    let difference = (folded >> 1) as i64 ^ -((folded & 1) as i64);
    Some(before.wrapping_add(difference as u64))
}

/// A checksum of a block's content; finds a block that was only partly written.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u32 {
    const PRIME: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut sum = bytes.len() as u64 ^ PRIME;
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0_u8; 8];
    last[..rest.len()].copy_from_slice(rest);
    for word in words.iter().chain([&last]) {
        sum = (sum ^ u64::from_le_bytes(*word)).wrapping_mul(PRIME).rotate_left(29);
    }
    (sum ^ (sum >> 32)) as u32
}

/// Appends a block.
pub fn put_block(out: &mut Vec<u8>, kind: Kind, records: u32, content: &[u8]) {
    for number in [kind as u32, records, content.len() as u32, checksum(content)] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(content);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let values = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX];
        let mut bytes = Vec::new();
        values.iter().for_each(|value| put(&mut bytes, *value));
        values.windows(2).for_each(|two| put_difference(&mut bytes, two[1], two[0]));
        let mut left = bytes.as_slice();
        values.iter().for_each(|value| assert_eq!(take(&mut left), Some(*value)));
        values
            .windows(2)
            .for_each(|two| assert_eq!(take_difference(&mut left, two[0]), Some(two[1])));
        assert!(left.is_empty() && take(&mut left).is_none());
    }

    #[test]
    fn a_number_that_never_ends_is_none() {
        assert_eq!(take(&mut [0x80_u8; 20].as_slice()), None);
        assert_eq!(take(&mut [0xff_u8; 10].as_slice()), None);
        assert_eq!(take(&mut [0x80_u8].as_slice()), None);
    }

    #[test]
    fn a_checksum_sees_one_bit_and_a_missing_byte() {
        let bytes: Vec<u8> = (0..100).collect();
        let sum = checksum(&bytes);
        for at in 0..100 {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert_ne!(checksum(&other), sum);
            assert_ne!(checksum(&bytes[..at]), sum);
        }
    }

    #[test]
    fn every_kind_and_event_is_found_by_its_number() {
        Kind::ALL.into_iter().for_each(|kind| assert_eq!(Kind::of(kind as u32), Some(kind)));
        assert_eq!((Kind::of(0), Kind::of(16)), (None, None));
        (0..=6).for_each(|number| assert_eq!(Event::of(number).map(|one| one as u8), Some(number)));
        assert_eq!(Event::of(7), None);
    }
}
