//! 16-bit floats: fp16 where the processor multiplies them, bf16 where it has their dot product, tiles where it has those.
//!
//! Without such units an engine widens both to fp32, so the fp32 ceiling is theirs too. Converting costs time and
//! computes nothing; it does not count.

use super::kernel::Units;
#[cfg(target_arch = "x86_64")]
use super::{kernel::Kernel, tiles};

/// What fp16 runs on here.
#[cfg(target_arch = "x86_64")]
pub(crate) fn fp16_units() -> Units {
    let mut kernels: Vec<Kernel> = tiles::kernel(tiles::Product::Fp16).into_iter().collect();
    if is_x86_feature_detected!("avx512fp16") {
        let operations = (32 * x86::CHAINS * 2) as u32;
        kernels.push(Kernel { unit: "AVX-512 `vfmaddph`", operations, steps: x86::fp16 });
    }
    if kernels.is_empty() { Units::AsFp32 } else { Units::Own(kernels) }
}

/// What bf16 runs on here.
#[cfg(target_arch = "x86_64")]
pub(crate) fn bf16_units() -> Units {
    let mut kernels: Vec<Kernel> = tiles::kernel(tiles::Product::Bf16).into_iter().collect();
    if is_x86_feature_detected!("avx512bf16") && is_x86_feature_detected!("avx512f") {
        // Each of 16 sums takes two products.
        let operations = (16 * 2 * x86::CHAINS * 2) as u32;
        kernels.push(Kernel { unit: "AVX-512 `vdpbf16ps`", operations, steps: x86::bf16 });
    }
    if kernels.is_empty() { Units::AsFp32 } else { Units::Own(kernels) }
}

/// What fp16 runs on here.
#[cfg(target_arch = "aarch64")]
pub(crate) fn fp16_units() -> Units {
    match std::arch::is_aarch64_feature_detected!("fp16") {
        true => super::kernel::no_kernel(types::Precision::Fp16),
        false => Units::AsFp32,
    }
}

/// What bf16 runs on here.
#[cfg(target_arch = "aarch64")]
pub(crate) fn bf16_units() -> Units {
    match std::arch::is_aarch64_feature_detected!("bf16") {
        true => super::kernel::no_kernel(types::Precision::Bf16),
        false => Units::AsFp32,
    }
}

/// What fp16 runs on here.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn fp16_units() -> Units {
    super::kernel::no_kernel(types::Precision::Fp16)
}

/// What bf16 runs on here.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn bf16_units() -> Units {
    super::kernel::no_kernel(types::Precision::Bf16)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::{arch::x86_64::*, hint::black_box};

    /// Of 32 registers; two hold the factors.
    pub(super) const CHAINS: usize = 24;

    /// 1.0 in fp16. A chain counts up by it and stays at 2048, where one more is lost: never infinite.
    const ONE: i16 = 0x3c00;
    /// (1.5, 1.5) and (1, −127/128) in bf16: each step adds 3/256, which fp32 holds exactly for millions of steps.
    const LEFT: i32 = 0x3fc0_3fc0;
    const RIGHT: i32 = 0xbf7e_3f80_u32 as i32;

    pub(super) fn fp16(iterations: u64) -> f64 {
        // SAFETY: `fp16_units` lists this function only where the processor has AVX512-FP16.
        unsafe { fp16_steps(iterations) }
    }

    pub(super) fn bf16(iterations: u64) -> f64 {
        // SAFETY: `bf16_units` lists this function only where the processor has AVX512-BF16.
        unsafe { bf16_steps(iterations) }
    }

    #[target_feature(enable = "avx512fp16,avx512f")]
    fn fp16_steps(iterations: u64) -> f64 {
        let one = _mm512_castsi512_ph(_mm512_set1_epi16(black_box(ONE)));
        let mut chains: [__m512h; CHAINS] = [_mm512_setzero_ph(); CHAINS];
        let mut start = _mm512_setzero_ph();
        for chain in &mut chains {
            *chain = start;
            start = _mm512_add_ph(start, one);
        }
        for _ in 0..iterations {
            for chain in &mut chains {
                *chain = _mm512_fmadd_ph(*chain, one, one);
            }
        }
        // Each half is widened before it is added up, because thousands in fp16 are coarse.
        chains.iter().fold(0.0, |sum, chain| {
            let bits = _mm512_castph_si512(*chain);
            let low = _mm512_cvtph_ps(_mm512_castsi512_si256(bits));
            let high = _mm512_cvtph_ps(_mm512_extracti64x4_epi64::<1>(bits));
            sum + f64::from(_mm512_reduce_add_ps(_mm512_add_ps(low, high)))
        })
    }

    #[target_feature(enable = "avx512bf16,avx512f")]
    fn bf16_steps(iterations: u64) -> f64 {
        // SAFETY: all three are 64 bytes for which every pattern of bits is a value.
        let pairs = |bits| unsafe {
            std::mem::transmute::<__m512i, __m512bh>(_mm512_set1_epi32(black_box(bits)))
        };
        let (left, right) = (pairs(LEFT), pairs(RIGHT));
        let mut chains: [__m512; CHAINS] = [_mm512_setzero_ps(); CHAINS];
        for (number, chain) in chains.iter_mut().enumerate() {
            *chain = _mm512_set1_ps(number as f32);
        }
        for _ in 0..iterations {
            for chain in &mut chains {
                *chain = _mm512_dpbf16_ps(*chain, left, right);
            }
        }
        chains.iter().map(|chain| f64::from(_mm512_reduce_add_ps(*chain))).sum()
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// The sum over all lanes when chain `n` starts at `n` and every step adds `step`.
    fn expected(lanes: usize, step: f64, iterations: u64) -> f64 {
        (0..x86::CHAINS).map(|start| start as f64 + step * iterations as f64).sum::<f64>()
            * lanes as f64
    }

    #[test]
    fn fp16_chains_hold_what_plain_arithmetic_gives() {
        if !has("avx512_fp16") {
            return assert!(!is_x86_feature_detected!("avx512fp16"));
        }
        assert_eq!(x86::fp16(1000), expected(32, 1.0, 1000));
    }

    #[test]
    fn bf16_chains_hold_what_plain_arithmetic_gives() {
        if !has("avx512_bf16") {
            return assert!(!is_x86_feature_detected!("avx512bf16"));
        }
        assert_eq!(x86::bf16(1000), expected(16, 3.0 / 256.0, 1000));
    }

    /// Whether the kernel lists the feature: a second opinion on the detection.
    fn has(feature: &str) -> bool {
        crate::machine().cpu.features.iter().any(|found| found == feature)
    }
}
