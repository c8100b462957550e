//! 8-bit integers: the dot product of four bytes where the processor has it, tiles where it has those, else the older way
//! of multiplying bytes in pairs and adding the sums in 16 bits.
//!
//! All of them multiply unsigned by signed bytes, which is what every engine's int8 matrix product comes down to.

use super::kernel::Units;

/// What int8 runs on here.
#[cfg(target_arch = "x86_64")]
pub(crate) fn units() -> Units {
    use super::{kernel::Kernel, tiles};

    let of = |unit, bytes: usize, chains: usize, steps: fn(u64) -> f64| Kernel {
        unit,
        operations: (bytes * chains * 2) as u32,
        steps,
    };
    let mut kernels: Vec<Kernel> = tiles::kernel(tiles::Product::Int8).into_iter().collect();
    if is_x86_feature_detected!("avx512vnni") && is_x86_feature_detected!("avx512f") {
        kernels.push(of("AVX-512 VNNI `vpdpbusd`", 64, dot::CHAINS_512, dot::vnni_512));
    }
    if is_x86_feature_detected!("avx512vnni") && is_x86_feature_detected!("avx512vl") {
        kernels.push(of("256-bit VNNI `vpdpbusd`", 32, dot::CHAINS_256, dot::vnni_256));
    } else if is_x86_feature_detected!("avxvnni") {
        kernels.push(of("AVX-VNNI `vpdpbusd`", 32, dot::CHAINS_AVX, dot::avx_vnni));
    }
    // Slower than any dot product, so asked only where there is none.
    let has_dot = !kernels.is_empty();
    if !has_dot && is_x86_feature_detected!("avx512bw") {
        kernels.push(of("AVX-512 `vpmaddubsw`", 64, pairs::CHAINS, pairs::avx512));
    }
    if !has_dot && is_x86_feature_detected!("avx2") {
        kernels.push(of("AVX2 `vpmaddubsw`", 32, pairs::CHAINS, pairs::avx2));
    }
    if kernels.is_empty() {
        return Units::Unknown(
            "no kernel for the int8 arithmetic of processors without AVX2".into(),
        );
    }
    Units::Own(kernels)
}

/// What int8 runs on here.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn units() -> Units {
    super::kernel::no_kernel(types::Precision::Int8)
}

/// Four products and their sum in one instruction, added to 32 bits.
#[cfg(target_arch = "x86_64")]
mod dot {
    use std::{arch::x86_64::*, hint::black_box};

    /// Of 32 registers; two hold the factors.
    pub(super) const CHAINS_512: usize = 24;
    /// As many registers, half as wide.
    pub(super) const CHAINS_256: usize = 24;
    /// Of 16 registers; two hold the factors.
    pub(super) const CHAINS_AVX: usize = 12;

    /// Four bytes each; their dot product is 3 · (−2) + 5 · 4 + 7 · 1 + 2 · (−9) = 3.
    const LEFT: i32 = i32::from_le_bytes([3, 5, 7, 2]);
    const RIGHT: i32 = i32::from_le_bytes([(-2i8) as u8, 4, 1, (-9i8) as u8]);

    pub(super) fn vnni_512(iterations: u64) -> f64 {
        // SAFETY: `units` lists this function only where the processor has AVX-512F and its VNNI.
        unsafe { vnni_512_steps(iterations) }
    }

    pub(super) fn vnni_256(iterations: u64) -> f64 {
        // SAFETY: `units` lists this function only where the processor has AVX-512VL and VNNI.
        unsafe { vnni_256_steps(iterations) }
    }

    pub(super) fn avx_vnni(iterations: u64) -> f64 {
        // SAFETY: `units` lists this function only where the processor has AVX-VNNI, which needs AVX2.
        unsafe { avx_vnni_steps(iterations) }
    }

    #[target_feature(enable = "avx512f,avx512vnni")]
    fn vnni_512_steps(iterations: u64) -> f64 {
        let (left, right) =
            (_mm512_set1_epi32(black_box(LEFT)), _mm512_set1_epi32(black_box(RIGHT)));
        let mut chains: [__m512i; CHAINS_512] = [_mm512_setzero_si512(); CHAINS_512];
        for (number, chain) in chains.iter_mut().enumerate() {
            *chain = _mm512_set1_epi32(number as i32);
        }
        for _ in 0..iterations {
            for chain in &mut chains {
                *chain = _mm512_dpbusd_epi32(*chain, left, right);
            }
        }
        chains.iter().map(|chain| f64::from(_mm512_reduce_add_epi32(*chain))).sum()
    }

    #[target_feature(enable = "avx512f,avx512vl,avx512vnni")]
    fn vnni_256_steps(iterations: u64) -> f64 {
        let (left, right) =
            (_mm256_set1_epi32(black_box(LEFT)), _mm256_set1_epi32(black_box(RIGHT)));
        let mut chains: [__m256i; CHAINS_256] = [_mm256_setzero_si256(); CHAINS_256];
        for (number, chain) in chains.iter_mut().enumerate() {
            *chain = _mm256_set1_epi32(number as i32);
        }
        for _ in 0..iterations {
            for chain in &mut chains {
                *chain = _mm256_dpbusd_epi32(*chain, left, right);
            }
        }
        chains.iter().map(|chain| sum(*chain)).sum()
    }

    #[target_feature(enable = "avx2,avxvnni")]
    fn avx_vnni_steps(iterations: u64) -> f64 {
        let (left, right) =
            (_mm256_set1_epi32(black_box(LEFT)), _mm256_set1_epi32(black_box(RIGHT)));
        let mut chains: [__m256i; CHAINS_AVX] = [_mm256_setzero_si256(); CHAINS_AVX];
        for (number, chain) in chains.iter_mut().enumerate() {
            *chain = _mm256_set1_epi32(number as i32);
        }
        for _ in 0..iterations {
            for chain in &mut chains {
                *chain = _mm256_dpbusd_avx_epi32(*chain, left, right);
            }
        }
        chains.iter().map(|chain| sum(*chain)).sum()
    }

    #[target_feature(enable = "avx2")]
    fn sum(lanes: __m256i) -> f64 {
        let half =
            _mm_add_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256::<1>(lanes));
        let half = _mm_hadd_epi32(half, half);
        f64::from(_mm_cvtsi128_si32(_mm_hadd_epi32(half, half)))
    }
}

/// Products of bytes added in pairs, and the pairs to 16 bits: two instructions.
///
/// Written in assembly, because the product is the same in every step and a compiler would compute it once.
#[cfg(target_arch = "x86_64")]
mod pairs {
    use std::{arch::asm, hint::black_box};

    /// Of 16 registers; two hold the factors and one the products.
    pub(super) const CHAINS: usize = 12;

    /// 3 · (−2) + 5 · 4 = 14.
    const LEFT: [u8; 2] = [3, 5];
    const RIGHT: [u8; 2] = [(-2i8) as u8, 4];
    /// What one step adds.
    #[cfg(test)]
    pub(super) const STEP: i16 = 14;

    macro_rules! chains {
        ($v:literal, $width:literal, $move:literal, $iterations:ident) => {{
            let left: [u8; $width] = std::array::from_fn(|index| black_box(LEFT)[index % 2]);
            let right: [u8; $width] = std::array::from_fn(|index| black_box(RIGHT)[index % 2]);
            let mut sums = [[0i16; $width / 2]; CHAINS];
            for (number, sum) in sums.iter_mut().enumerate() {
                sum.fill(number as i16);
            }
            if $iterations > 0 {
                asm!(
                    concat!($move, " ", $v, "12, [{left}]"),
                    concat!($move, " ", $v, "13, [{right}]"),
                    chains!(@moves $move, $v, $width, load),
                    "2:",
                    chains!(@steps $v),
                    "dec {rounds}",
                    "jnz 2b",
                    chains!(@moves $move, $v, $width, store),
                    // What follows is compiled without wide registers and would stumble over their upper halves.
                    "vzeroupper",
                    left = in(reg) left.as_ptr(),
                    right = in(reg) right.as_ptr(),
                    sums = in(reg) sums.as_mut_ptr(),
                    rounds = inout(reg) $iterations => _,
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _,
                    out("xmm5") _, out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _,
                    out("xmm10") _, out("xmm11") _, out("xmm12") _, out("xmm13") _, out("xmm14") _,
                    options(nostack),
                );
            }
            sums.iter().flatten().map(|&sum| f64::from(sum)).sum()
        }};
        (@moves $move:literal, $v:literal, $width:literal, $way:ident) => {
            concat!(
                chains!(@$way $move, $v, $width, 0), chains!(@$way $move, $v, $width, 1),
                chains!(@$way $move, $v, $width, 2), chains!(@$way $move, $v, $width, 3),
                chains!(@$way $move, $v, $width, 4), chains!(@$way $move, $v, $width, 5),
                chains!(@$way $move, $v, $width, 6), chains!(@$way $move, $v, $width, 7),
                chains!(@$way $move, $v, $width, 8), chains!(@$way $move, $v, $width, 9),
                chains!(@$way $move, $v, $width, 10), chains!(@$way $move, $v, $width, 11),
            )
        };
        (@load $move:literal, $v:literal, $width:literal, $chain:literal) => {
            concat!($move, " ", $v, $chain, ", [{sums} + ", $width, "*", $chain, "]\n")
        };
        (@store $move:literal, $v:literal, $width:literal, $chain:literal) => {
            concat!($move, " [{sums} + ", $width, "*", $chain, "], ", $v, $chain, "\n")
        };
        (@steps $v:literal) => {
            concat!(
                chains!(@step $v, 0), chains!(@step $v, 1), chains!(@step $v, 2), chains!(@step $v, 3),
                chains!(@step $v, 4), chains!(@step $v, 5), chains!(@step $v, 6), chains!(@step $v, 7),
                chains!(@step $v, 8), chains!(@step $v, 9), chains!(@step $v, 10), chains!(@step $v, 11),
            )
        };
        (@step $v:literal, $chain:literal) => {
            concat!(
                "vpmaddubsw ", $v, "14, ", $v, "12, ", $v, "13\n",
                "vpaddw ", $v, $chain, ", ", $v, $chain, ", ", $v, "14\n",
            )
        };
    }

    pub(super) fn avx512(iterations: u64) -> f64 {
        // SAFETY: `units` lists this function only where the processor has AVX-512BW; the assembly reads and writes the
        // three arrays within their ends and names every register it changes.
        unsafe { chains!("zmm", 64, "vmovdqu64", iterations) }
    }

    pub(super) fn avx2(iterations: u64) -> f64 {
        // SAFETY: as above, with AVX2.
        unsafe { chains!("ymm", 32, "vmovdqu", iterations) }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// The sum over all lanes when chain `n` starts at `n` and every step adds `step`.
    fn expected(lanes: usize, chains: usize, step: i64, iterations: u64) -> f64 {
        let one = |start: usize| (start as i64 + step * iterations as i64) * lanes as i64;
        (0..chains).map(one).sum::<i64>() as f64
    }

    #[test]
    fn dot_products_hold_what_plain_arithmetic_gives() {
        if is_x86_feature_detected!("avx512vnni") {
            assert_eq!(dot::vnni_512(1000), expected(16, dot::CHAINS_512, 3, 1000));
            assert_eq!(dot::vnni_256(1000), expected(8, dot::CHAINS_256, 3, 1000));
        }
        if is_x86_feature_detected!("avxvnni") {
            assert_eq!(dot::avx_vnni(1000), expected(8, dot::CHAINS_AVX, 3, 1000));
        }
    }

    #[test]
    fn pairs_of_products_hold_what_plain_arithmetic_gives() {
        let step = i64::from(pairs::STEP);
        if is_x86_feature_detected!("avx512bw") {
            assert_eq!(pairs::avx512(1000), expected(32, pairs::CHAINS, step, 1000));
            assert_eq!(pairs::avx512(0), expected(32, pairs::CHAINS, step, 0));
        }
        if is_x86_feature_detected!("avx2") {
            assert_eq!(pairs::avx2(1001), expected(16, pairs::CHAINS, step, 1001));
        }
    }
}
