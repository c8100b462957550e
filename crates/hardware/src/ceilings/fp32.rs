//! Independent chains of fused multiply-adds in registers, one kernel a vector unit.
//!
//! A multiply-add takes 4 or 5 cycles and a core starts two (some ARM cores four) in each, so the chains must be at least 10
//! (16 on ARM) to keep every unit busy. The constants come through a black box and floats may not be reordered, so the
//! compiler can neither shorten nor drop a chain.

use super::kernel::Kernel;
use std::hint::black_box;

/// Chains converge to `ADDEND / (1 - FACTOR)`: never infinite, never denormal, so always at full speed.
const FACTOR: f32 = 0.999;
const ADDEND: f32 = 0.001;

/// Two operations in each lane of each chain.
fn kernel(unit: &'static str, lanes: usize, chains: usize, steps: fn(u64) -> f64) -> Kernel {
    Kernel { unit, operations: (lanes * chains * 2) as u32, steps }
}

/// Every kernel this processor can run, the widest first.
pub(crate) fn kernels() -> Vec<Kernel> {
    #[allow(unused_mut, reason = "other processors add nothing before the portable one")]
    let mut kernels = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            kernels.push(kernel("AVX-512 `vfmadd`", 16, x86::CHAINS_512, x86::avx512));
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            kernels.push(kernel("AVX2 `vfmadd`", 8, x86::CHAINS_256, x86::avx2));
        }
    }
    #[cfg(target_arch = "aarch64")]
    kernels.push(kernel("NEON `fmla`", 4, arm::CHAINS, arm::neon));
    if kernels.is_empty() {
        kernels.push(kernel("multiply and add", 1, PORTABLE_CHAINS, portable));
    }
    kernels
}

const PORTABLE_CHAINS: usize = 32;

/// Separate multiply and add: without the instruction a fused one is a slow library call.
fn portable(iterations: u64) -> f64 {
    let (factor, addend) = (black_box(FACTOR), black_box(ADDEND));
    let mut chains: [f32; PORTABLE_CHAINS] = std::array::from_fn(|chain| chain as f32);
    for _ in 0..iterations {
        for chain in &mut chains {
            *chain = *chain * factor + addend;
        }
    }
    chains.iter().copied().map(f64::from).sum()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{ADDEND, FACTOR};
    use std::{arch::x86_64::*, hint::black_box};

    /// Of 32 registers; two hold the constants.
    pub(super) const CHAINS_512: usize = 24;
    /// Of 16 registers; two hold the constants.
    pub(super) const CHAINS_256: usize = 12;

    pub(super) fn avx512(iterations: u64) -> f64 {
        // SAFETY: `kernels` lists this function only where the processor has AVX-512F.
        f64::from(unsafe { avx512_steps(iterations) })
    }

    pub(super) fn avx2(iterations: u64) -> f64 {
        // SAFETY: `kernels` lists this function only where the processor has AVX2 and FMA.
        f64::from(unsafe { avx2_steps(iterations) })
    }

    #[target_feature(enable = "avx512f")]
    fn avx512_steps(iterations: u64) -> f32 {
        let factor = _mm512_set1_ps(black_box(FACTOR));
        let addend = _mm512_set1_ps(black_box(ADDEND));
        let mut chains: [__m512; CHAINS_512] = [_mm512_setzero_ps(); CHAINS_512];
        for (number, chain) in chains.iter_mut().enumerate() {
            *chain = _mm512_set1_ps(number as f32);
        }
        for _ in 0..iterations {
            for chain in &mut chains {
                *chain = _mm512_fmadd_ps(*chain, factor, addend);
            }
        }
        let sum = chains.iter().fold(_mm512_setzero_ps(), |sum, chain| _mm512_add_ps(sum, *chain));
        _mm512_reduce_add_ps(sum)
    }

    #[target_feature(enable = "avx2,fma")]
    fn avx2_steps(iterations: u64) -> f32 {
        let factor = _mm256_set1_ps(black_box(FACTOR));
        let addend = _mm256_set1_ps(black_box(ADDEND));
        let mut chains: [__m256; CHAINS_256] = [_mm256_setzero_ps(); CHAINS_256];
        for (number, chain) in chains.iter_mut().enumerate() {
            *chain = _mm256_set1_ps(number as f32);
        }
        for _ in 0..iterations {
            for chain in &mut chains {
                *chain = _mm256_fmadd_ps(*chain, factor, addend);
            }
        }
        let sum = chains.iter().fold(_mm256_setzero_ps(), |sum, chain| _mm256_add_ps(sum, *chain));
        let half = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps::<1>(sum));
        _mm_cvtss_f32(_mm_hadd_ps(_mm_hadd_ps(half, half), half))
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::{ADDEND, FACTOR};
    use std::{arch::aarch64::*, hint::black_box};

    /// Of 32 registers; two hold the constants.
    pub(super) const CHAINS: usize = 24;

    pub(super) fn neon(iterations: u64) -> f64 {
        // SAFETY: every 64-bit ARM processor that Rust's standard library supports has NEON.
        f64::from(unsafe { neon_steps(iterations) })
    }

    #[target_feature(enable = "neon")]
    fn neon_steps(iterations: u64) -> f32 {
        let factor = vdupq_n_f32(black_box(FACTOR));
        let addend = vdupq_n_f32(black_box(ADDEND));
        let mut chains: [float32x4_t; CHAINS] = [vdupq_n_f32(0.0); CHAINS];
        for (number, chain) in chains.iter_mut().enumerate() {
            *chain = vdupq_n_f32(number as f32);
        }
        for _ in 0..iterations {
            for chain in &mut chains {
                // The instruction overwrites its addend, so the chain runs through that operand.
                *chain = vfmaq_f32(*chain, factor, addend);
            }
        }
        let sum = chains.iter().fold(vdupq_n_f32(0.0), |sum, chain| vaddq_f32(sum, *chain));
        vaddvq_f32(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One chain, step by step, in double precision.
    fn expected(lanes: u32, chains: u32, iterations: u64) -> f64 {
        let mut sum = 0.0;
        for start in 0..chains {
            let mut value = f64::from(start);
            for _ in 0..iterations {
                value = value * f64::from(FACTOR) + f64::from(ADDEND);
            }
            sum += value * f64::from(lanes);
        }
        sum
    }

    #[cfg(not(target_arch = "aarch64"))]
    #[test]
    fn every_kernel_really_computes_all_its_chains() {
        let portable = kernel("multiply and add", 1, PORTABLE_CHAINS, portable);
        for kernel in kernels().into_iter().chain([portable]) {
            let lanes = match kernel.unit {
                "AVX-512 `vfmadd`" => 16,
                "AVX2 `vfmadd`" => 8,
                _ => 1,
            };
            let chains = kernel.operations / 2 / lanes;
            let (found, expected) = ((kernel.steps)(1000), expected(lanes, chains, 1000));
            assert!((found / expected - 1.0).abs() < 1e-3, "{}: {found} {expected}", kernel.unit);
        }
    }
}
