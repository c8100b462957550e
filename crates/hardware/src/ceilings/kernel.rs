//! One way to compute as fast as a unit of the processor can, and which ways there are for a precision.

use super::{fp32, int8, sixteen};
use std::{
    hint::black_box,
    time::{Duration, Instant},
};
use types::Precision;

/// Independent chains that stay in registers, on one unit.
pub(crate) struct Kernel {
    /// The unit and its instruction, for people.
    pub(crate) unit: &'static str,
    /// Operations of one iteration over all chains; a multiply-add is 2.
    pub(crate) operations: u32,
    /// Runs so many iterations of every chain and returns the sum of everything they hold.
    pub(crate) steps: fn(u64) -> f64,
}

impl Kernel {
    /// Operations of so many iterations.
    pub(crate) fn operations(&self, iterations: u64) -> f64 {
        iterations as f64 * f64::from(self.operations)
    }

    /// Runs so many iterations.
    pub(crate) fn run(&self, iterations: u64) {
        black_box((self.steps)(black_box(iterations)));
    }

    /// How many iterations take about this long on one thread; a first part also lets the clock settle.
    pub(crate) fn iterations_for(&self, span: Duration) -> u64 {
        let mut iterations = 1 << 10;
        loop {
            let start = Instant::now();
            self.run(iterations);
            let took = start.elapsed();
            if took * 4 >= span || iterations >= 1 << 40 {
                let scale = span.as_secs_f64() / took.as_secs_f64().max(1e-9);
                return ((iterations as f64 * scale) as u64).max(1);
            }
            iterations *= 2;
        }
    }
}

/// What a precision really runs on here.
pub(crate) enum Units {
    /// These kernels, the widest first.
    Own(Vec<Kernel>),
    /// Nothing of its own: numbers are widened and computed in fp32, so no engine passes the fp32 ceiling.
    AsFp32,
    /// The processor may have something that none of our kernels reaches; a guess would condemn good runs.
    Unknown(String),
}

/// What this processor computes a precision on.
pub(crate) fn units(precision: Precision) -> Units {
    match precision {
        Precision::Fp32 => Units::Own(fp32::kernels()),
        Precision::Fp16 => sixteen::fp16_units(),
        Precision::Bf16 => sixteen::bf16_units(),
        Precision::Int8 => int8::units(),
        Precision::Stored => {
            Units::Unknown("quantised blocks have no arithmetic of their own".into())
        }
    }
}

/// A processor for which there are kernels in fp32 only.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn no_kernel(precision: Precision) -> Units {
    let architecture = std::env::consts::ARCH;
    Units::Unknown(format!("no kernel for the {precision} arithmetic of {architecture} processors"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_grow_with_the_iterations() {
        let kernel = Kernel { unit: "test", operations: 768, steps: |_| 0.0 };
        assert_eq!(kernel.operations(10), 7680.0);
    }

    #[test]
    fn every_precision_has_units_or_a_reason() {
        for precision in Precision::ALL {
            match units(precision) {
                Units::Own(kernels) => assert!(!kernels.is_empty(), "{precision}"),
                Units::AsFp32 => assert_ne!(precision, Precision::Fp32),
                Units::Unknown(why) => assert!(why.contains(precision.name()), "{why}"),
            }
        }
    }
}
