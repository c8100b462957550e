//! Tiles: Intel's AMX multiplies 16 × 64 bytes by 64 bytes × 16 in one instruction.
//!
//! The standard library's intrinsics for them are not stable, so the kernel is assembly. A process must ask the system for the
//! tiles' registers before it touches them; an engine must ask the same way, so what is refused to us is refused to it.

use super::kernel::Kernel;
use std::{arch::asm, sync::OnceLock};

/// What a tile instruction multiplies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Product {
    /// fp16, added up in fp32.
    Fp16,
    /// bf16, added up in fp32.
    Bf16,
    /// Unsigned by signed bytes, added up in 32 bits.
    Int8,
}

/// Rows of a tile, and sums in each row.
const SIDE: usize = 16;
/// Bytes in a row.
const ROW: usize = 64;
/// Tiles that sum up; two more hold the factors. An instruction takes 52 cycles and one starts every 16, so four would do.
const CHAINS: usize = 6;

/// The kernel for a product; `None` if the processor or the system does not give the tiles.
pub(crate) fn kernel(product: Product) -> Option<Kernel> {
    if !has_unit(product) || !is_permitted() {
        return None;
    }
    let (unit, depth, steps): (_, _, fn(u64) -> f64) = match product {
        Product::Fp16 => ("AMX `tdpfp16ps`", ROW / 2, fp16),
        Product::Bf16 => ("AMX `tdpbf16ps`", ROW / 2, bf16),
        Product::Int8 => ("AMX `tdpbusd`", ROW, int8),
    };
    let operations = (SIDE * SIDE * depth * CHAINS * 2) as u32;
    Some(Kernel { unit, operations, steps })
}

/// Whether processor and system have the instruction and keep its registers.
fn has_unit(product: Product) -> bool {
    use std::arch::x86_64::{__cpuid, __cpuid_count};

    if __cpuid(0).eax < 7 || !keeps_tiles() {
        return false;
    }
    let first = __cpuid_count(7, 0);
    let tiles = first.edx & (1 << 24) != 0;
    let unit = match product {
        Product::Bf16 => first.edx & (1 << 22) != 0,
        Product::Int8 => first.edx & (1 << 25) != 0,
        Product::Fp16 => first.eax >= 1 && __cpuid_count(7, 1).eax & (1 << 21) != 0,
    };
    tiles && unit
}

/// Whether the system saves the tiles' configuration and data when it switches threads.
fn keeps_tiles() -> bool {
    const TILE_STATE: u64 = 0b11 << 17;
    if !is_x86_feature_detected!("xsave") {
        return false;
    }
    #[target_feature(enable = "xsave")]
    fn kept() -> u64 {
        // SAFETY: detecting `xsave` includes that the system switched the instruction on.
        unsafe { std::arch::x86_64::_xgetbv(0) }
    }
    // SAFETY: the processor has the feature.
    unsafe { kept() & TILE_STATE == TILE_STATE }
}

/// Asks once for this process; threads that start later have it too.
fn is_permitted() -> bool {
    static PERMITTED: OnceLock<bool> = OnceLock::new();
    *PERMITTED.get_or_init(ask)
}

#[cfg(target_os = "linux")]
fn ask() -> bool {
    // From the system's `asm/prctl.h`, and the number of the tiles' data among the saved states.
    const ARCH_REQ_XCOMP_PERM: libc::c_ulong = 0x1023;
    const XFEATURE_XTILEDATA: libc::c_ulong = 18;
    // SAFETY: the call reads its two numbers and changes only what this process may use.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0 }
}

/// Only Linux hands the tiles out in a way we know.
#[cfg(not(target_os = "linux"))]
fn ask() -> bool {
    false
}

/// Palette 1 with all eight tiles at their full size, as `ldtilecfg` reads it.
#[repr(C, align(64))]
struct Shape {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

impl Shape {
    fn full() -> Shape {
        let tiles = |index: usize| index < CHAINS + 2;
        Shape {
            palette: 1,
            start_row: 0,
            reserved: [0; 14],
            row_bytes: std::array::from_fn(|index| if tiles(index) { ROW as u16 } else { 0 }),
            rows: std::array::from_fn(|index| if tiles(index) { SIDE as u8 } else { 0 }),
        }
    }
}

/// The bytes of one tile.
#[repr(align(64))]
struct Tile([[u8; ROW]; SIDE]);

/// A tile in which the same few bytes repeat.
fn filled<const N: usize>(pattern: [u8; N]) -> Tile {
    Tile([std::array::from_fn(|index| pattern[index % N]); SIDE])
}

macro_rules! steps {
    ($instruction:literal, $iterations:ident, $left:ident, $right:ident, $sums:ident) => {
        asm!(
            "ldtilecfg [{shape}]",
            "tileloadd tmm6, [{left} + {stride}*1]",
            "tileloadd tmm7, [{right} + {stride}*1]",
            "tileloadd tmm0, [{sums} + {stride}*1]",
            "tileloadd tmm1, [{sums} + {stride}*1 + 1024]",
            "tileloadd tmm2, [{sums} + {stride}*1 + 2048]",
            "tileloadd tmm3, [{sums} + {stride}*1 + 3072]",
            "tileloadd tmm4, [{sums} + {stride}*1 + 4096]",
            "tileloadd tmm5, [{sums} + {stride}*1 + 5120]",
            "test {rounds}, {rounds}",
            "jz 3f",
            "2:",
            concat!($instruction, " tmm0, tmm6, tmm7"),
            concat!($instruction, " tmm1, tmm6, tmm7"),
            concat!($instruction, " tmm2, tmm6, tmm7"),
            concat!($instruction, " tmm3, tmm6, tmm7"),
            concat!($instruction, " tmm4, tmm6, tmm7"),
            concat!($instruction, " tmm5, tmm6, tmm7"),
            "dec {rounds}",
            "jnz 2b",
            "3:",
            "tilestored [{sums} + {stride}*1], tmm0",
            "tilestored [{sums} + {stride}*1 + 1024], tmm1",
            "tilestored [{sums} + {stride}*1 + 2048], tmm2",
            "tilestored [{sums} + {stride}*1 + 3072], tmm3",
            "tilestored [{sums} + {stride}*1 + 4096], tmm4",
            "tilestored [{sums} + {stride}*1 + 5120], tmm5",
            "tilerelease",
            shape = in(reg) &raw const *&Shape::full(),
            left = in(reg) $left.0.as_ptr(),
            right = in(reg) $right.0.as_ptr(),
            sums = in(reg) $sums.as_mut_ptr(),
            stride = in(reg) ROW,
            rounds = inout(reg) $iterations => _,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        )
    };
}

/// Sums of four-byte numbers, one tile a chain.
type Sums<T> = [[T; SIDE * SIDE]; CHAINS];

fn start<T: Copy>(number: impl Fn(usize) -> T) -> Sums<T> {
    std::array::from_fn(|chain| [number(chain); SIDE * SIDE])
}

/// (1.5, 1.5) and (1, −127/128) in bf16: a step adds 16 · 3/256, which fp32 holds exactly for very long.
fn bf16(iterations: u64) -> f64 {
    let left = filled([0xc0, 0x3f, 0xc0, 0x3f]);
    let right = filled([0x80, 0x3f, 0x7e, 0xbf]);
    let mut sums = start(|chain| chain as f32);
    // SAFETY: `kernel` lists this function only where processor and system give the tiles; the assembly reads and writes the
    // arrays within their ends, names every register it changes, and leaves the tiles released.
    unsafe { steps!("tdpbf16ps", iterations, left, right, sums) };
    sums.iter().flatten().map(|&sum| f64::from(sum)).sum()
}

/// The same numbers in fp16.
fn fp16(iterations: u64) -> f64 {
    let left = filled([0x00, 0x3e, 0x00, 0x3e]);
    let right = filled([0x00, 0x3c, 0xf0, 0xbb]);
    let mut sums = start(|chain| chain as f32);
    // SAFETY: as in `bf16`.
    unsafe { steps!("tdpfp16ps", iterations, left, right, sums) };
    sums.iter().flatten().map(|&sum| f64::from(sum)).sum()
}

/// 3 · (−2) + 5 · 4 + 7 · 1 + 2 · (−9) = 3 in every four bytes: a step adds 16 · 3.
fn int8(iterations: u64) -> f64 {
    let left = filled([3, 5, 7, 2]);
    let right = filled([(-2i8) as u8, 4, 1, (-9i8) as u8]);
    let mut sums = start(|chain| chain as i32);
    // SAFETY: as in `bf16`.
    unsafe { steps!("tdpbusd", iterations, left, right, sums) };
    sums.iter().flatten().map(|&sum| f64::from(sum)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum over all chains when chain `n` starts at `n` and every step adds `step`.
    fn expected(step: f64, iterations: u64) -> f64 {
        let one = |chain: usize| chain as f64 + step * iterations as f64;
        (0..CHAINS).map(one).sum::<f64>() * (SIDE * SIDE) as f64
    }

    /// Runs only where there are tiles; elsewhere the detection is what is tested.
    #[test]
    fn tiles_hold_what_plain_arithmetic_gives() {
        let features = crate::machine().cpu.features;
        let listed = |name: &str| features.iter().any(|feature| feature == name);
        for (product, name, step) in [
            (Product::Bf16, "amx_bf16", 16.0 * 3.0 / 256.0),
            (Product::Fp16, "amx_fp16", 16.0 * 3.0 / 256.0),
            (Product::Int8, "amx_int8", 48.0),
        ] {
            match kernel(product) {
                Some(kernel) => {
                    assert!(listed(name), "the system does not list `{name}`");
                    assert_eq!((kernel.steps)(100), expected(step, 100), "{product:?}");
                    assert_eq!((kernel.steps)(0), expected(step, 0), "{product:?}");
                }
                None => assert!(!listed(name) || !is_permitted(), "`{name}` is listed"),
            }
        }
    }

    #[test]
    fn the_shape_of_all_eight_tiles_is_what_the_instruction_reads() {
        assert_eq!(size_of::<Shape>(), 64);
        let shape = Shape::full();
        assert_eq!(shape.row_bytes[..8], [64; 8]);
        assert_eq!(shape.rows[7..9], [16, 0]);
        assert_eq!(std::mem::offset_of!(Shape, row_bytes), 16);
        assert_eq!(std::mem::offset_of!(Shape, rows), 48);
    }
}
