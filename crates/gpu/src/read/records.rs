//! The records of each kind of block.

use super::{Recording, block::Block};
use gpu_inject::format::{Event, Kind, take, take_difference};

/// Texts, shapes and places have numbers below this; the writer keeps far fewer apart.
const MOST_NUMBERS: u64 = 1 << 20;

/// Longest text that is kept; the writer cuts longer ones.
const LONGEST_TEXT: usize = 8 << 10;

/// What a kernel was launched with.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Shape {
    pub(crate) text: u32,
    /// Blocks of the grid, threads of a block.
    pub(crate) size: [u32; 2],
}

/// A kernel that ran.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Kernel {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) node: u64,
    pub(crate) shape: u32,
    pub(crate) place: u32,
    pub(crate) correlation: u32,
}

/// A copy.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Copy {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) bytes: u64,
    /// Direction, memory of the source and of the target, as CUPTI numbers them.
    pub(crate) kinds: [u8; 3],
    pub(crate) place: u32,
    pub(crate) correlation: u32,
}

/// Memory that was set.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Set {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) place: u32,
    pub(crate) correlation: u32,
}

/// A call into CUDA.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Call {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) thread: u32,
    pub(crate) correlation: u32,
    pub(crate) text: u32,
}

/// What happened on a thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventRecord {
    pub(crate) thread: u32,
    pub(crate) time: u64,
    pub(crate) event: Event,
    /// The domain's text; the number of a range for `Stop`, of a node for `Node`, of a part for `Part`.
    pub(crate) first: u64,
    /// The text.
    pub(crate) text: u32,
    /// The number of a range for `Start`.
    pub(crate) number: u64,
}

/// Device memory that was taken or given back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryRecord {
    pub(crate) time: u64,
    pub(crate) is_taken: bool,
    pub(crate) kind: u8,
    pub(crate) bytes: u64,
    pub(crate) device: u32,
    pub(crate) address: u64,
}

/// What all records of one block begin with: differences to the record before.
#[derive(Default)]
struct Before {
    time: u64,
    correlation: u64,
    node: u64,
    thread: u64,
}

impl Before {
    fn times(&mut self, bytes: &mut &[u8]) -> Option<(u64, u64)> {
        self.time = take_difference(bytes, self.time)?;
        Some((self.time, self.time.checked_add(take(bytes)?)?))
    }

    fn correlation(&mut self, bytes: &mut &[u8]) -> Option<u32> {
        self.correlation = take_difference(bytes, self.correlation)?;
        u32::try_from(self.correlation).ok()
    }

    fn node(&mut self, bytes: &mut &[u8]) -> Option<u64> {
        self.node = take_difference(bytes, self.node)?;
        Some(self.node)
    }
}

fn small(bytes: &mut &[u8]) -> Option<u32> {
    u32::try_from(take(bytes)?).ok()
}

fn byte(bytes: &mut &[u8]) -> Option<u8> {
    let (first, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(*first)
}

/// Puts a numbered value where its number says.
fn numbered<T: Clone>(list: &mut Vec<T>, number: u64, value: T, empty: T) -> Option<()> {
    let at = usize::try_from(number).ok().filter(|_| number < MOST_NUMBERS)?;
    // The writer numbers one after the other; a gap would let a small file ask for much memory.
    if at > list.len() {
        return None;
    }
    if at == list.len() {
        list.push(empty);
    }
    list[at] = value;
    Some(())
}

impl Recording {
    /// Takes over what a block has; none if it is damaged.
    pub(super) fn take(&mut self, block: Block<'_>) -> Option<()> {
        let Block { kind, records, content } = block;
        let bytes = &mut &*content;
        let mut before = Before::default();
        // A record has at least one byte, so a number that lies cannot ask for more than the file is large.
        if records as usize > content.len() {
            return None;
        }
        match kind {
            Kind::Facts => {
                String::from_utf8_lossy(content).lines().for_each(|line| self.fact(line))
            }
            Kind::Troubles => {
                let code = take(bytes)?;
                self.trouble(code, &String::from_utf8_lossy(bytes));
            }
            Kind::Counts => {
                for count in &mut self.counts {
                    *count = take(bytes)?;
                }
            }
            Kind::Windows | Kind::End => {
                let (time, is_on) = (take(bytes)?, take(bytes)? != 0);
                match kind {
                    Kind::End => self.is_ended = true,
                    _ => self.windows.push((time, is_on)),
                }
            }
            Kind::Texts => {
                for _ in 0..records {
                    let (number, length) = (take(bytes)?, usize::try_from(take(bytes)?).ok()?);
                    let text = bytes.get(..length)?;
                    let text =
                        String::from_utf8_lossy(&text[..length.min(LONGEST_TEXT)]).into_owned();
                    *bytes = &bytes[length..];
                    numbered(&mut self.texts, number, text, String::new())?;
                }
            }
            Kind::Shapes => {
                for _ in 0..records {
                    let (number, text) = (take(bytes)?, small(bytes)?);
                    let mut rest = [0_u32; 9];
                    for part in &mut rest {
                        *part = small(bytes)?;
                    }
                    let product = |parts: &[u32]| {
                        parts.iter().fold(1_u32, |all, one| all.saturating_mul(*one))
                    };
                    let shape = Shape { text, size: [product(&rest[..3]), product(&rest[3..6])] };
                    numbered(&mut self.shapes, number, shape, Shape::default())?;
                }
            }
            Kind::Places => {
                for _ in 0..records {
                    let number = take(bytes)?;
                    let place = [small(bytes)?, small(bytes)?, small(bytes)?];
                    numbered(&mut self.places, number, place, [0; 3])?;
                }
            }
            Kind::Kernels => {
                for _ in 0..records {
                    let (start, end) = before.times(bytes)?;
                    let (shape, place) = (small(bytes)?, small(bytes)?);
                    let correlation = before.correlation(bytes)?;
                    let node = before.node(bytes)?;
                    self.kernels.push(Kernel { start, end, node, shape, place, correlation });
                }
            }
            Kind::Copies => {
                for _ in 0..records {
                    let (start, end) = before.times(bytes)?;
                    let size = take(bytes)?;
                    let kinds = [byte(bytes)?, byte(bytes)?, byte(bytes)?];
                    let place = small(bytes)?;
                    let correlation = before.correlation(bytes)?;
                    before.node(bytes)?;
                    self.copies.push(Copy { start, end, bytes: size, kinds, place, correlation });
                }
            }
            Kind::Sets => {
                for _ in 0..records {
                    let (start, end) = before.times(bytes)?;
                    let (_, place) = (take(bytes)?, small(bytes)?);
                    let correlation = before.correlation(bytes)?;
                    before.node(bytes)?;
                    self.sets.push(Set { start, end, place, correlation });
                }
            }
            Kind::Calls => {
                for _ in 0..records {
                    let (start, end) = before.times(bytes)?;
                    before.thread = take_difference(bytes, before.thread)?;
                    let thread = u32::try_from(before.thread).ok()?;
                    let correlation = before.correlation(bytes)?;
                    let text = small(bytes)?;
                    self.calls.push(Call { start, end, thread, correlation, text });
                }
            }
            Kind::Events => {
                let thread = small(bytes)?;
                for _ in 0..records {
                    let event = self.event(thread, &mut before, bytes)?;
                    self.events.push(event);
                }
            }
            Kind::Memory => {
                for _ in 0..records {
                    before.time = take_difference(bytes, before.time)?;
                    let (operation, kind) = (byte(bytes)?, byte(bytes)?);
                    self.memory.push(MemoryRecord {
                        time: before.time,
                        is_taken: operation == 1,
                        kind,
                        bytes: take(bytes)?,
                        device: small(bytes)?,
                        address: take(bytes)?,
                    });
                }
            }
            Kind::Clones => {
                let (mut node, mut original) = (0, 0);
                for _ in 0..records {
                    node = take_difference(bytes, node)?;
                    original = take_difference(bytes, original)?;
                    self.clones.push((node, original));
                }
            }
        }
        Some(())
    }

    fn event(&self, thread: u32, before: &mut Before, bytes: &mut &[u8]) -> Option<EventRecord> {
        let event = Event::of(byte(bytes)?)?;
        before.time = take_difference(bytes, before.time)?;
        let first = take(bytes)?;
        let has_text = matches!(event, Event::Push | Event::Start | Event::Mark);
        let text = if has_text { small(bytes)? } else { 0 };
        let number = if event == Event::Start { take(bytes)? } else { 0 };
        Some(EventRecord { thread, time: before.time, event, first, text, number })
    }
}
