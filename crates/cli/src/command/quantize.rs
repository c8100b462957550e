//! `modelmeter quantize`: another number format as a folder of its own, and whether that helped.

use crate::{
    Exit, Failure,
    arguments::{Global, Quantize},
    command::proof::{Proving, texts},
};
use modelmeter::{QuantizationConfig, Quantizer};

pub(crate) fn run(arguments: &Quantize, global: &Global) -> Result<Exit, Failure> {
    let config = QuantizationConfig {
        to: arguments.to,
        per_channel: arguments.per_channel,
        weights_only: arguments.weights_only,
        calibrate: texts(arguments.calibrate.as_deref())?,
    };
    let proving = Proving {
        model: arguments.model.name().unwrap_or_default(),
        proof: &arguments.proof,
        timed: !arguments.place.no_proof,
    };
    proving.run(global, |profiler, sink| {
        Quantizer::new(config).quantize(
            profiler,
            &arguments.place.output,
            arguments.place.force,
            sink,
        )
    })
}
