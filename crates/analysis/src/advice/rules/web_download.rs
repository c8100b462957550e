//! What a page must load before its first answer.

use super::{advise, web_device::is_of_a_page};
use crate::advice::{
    Facts, Judgement, Missing, Rule,
    judgement::{Rests, evidence, gain},
};
use types::{Goal, Precision, Proof, Unit};

/// Bits a second of the network that is assumed: a phone on a common mobile network.
const NETWORK: f64 = 20e6;

/// From here on people notice that they wait.
const NOTICED: f64 = 1.0;

/// What is left of 32-bit weights in 16 bits, and in 8 with their scales.
const HALF: f64 = 0.5;
const QUARTER: f64 = 0.27;

pub(super) struct WebDownload;

impl Rule for WebDownload {
    fn id(&self) -> &'static str {
        "web-download"
    }

    fn about(&self) -> &'static str {
        "the size of the model against its download"
    }

    fn rests(&self) -> Rests {
        Rests::OnSizes
    }

    fn beside_training(&self) -> Option<&'static str> {
        Some("a training downloads its weights once")
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Judgement, Missing> {
        let run = facts.run;
        if !is_of_a_page(run.cell.device) {
            return Ok(Judgement::Beside("the model does not run in a page".into()));
        }
        let size = run.model.size.0 as f64;
        let download = size * 8.0 / NETWORK;
        let number =
            evidence("download of the model at 20 Mbit/s", "web.download", download, Unit::Seconds);
        if download < NOTICED {
            return Ok(Judgement::Fine(number));
        }
        if run.cell.precision != Precision::Fp32 {
            let why = format!("the weights are {} already", run.cell.precision);
            return Ok(Judgement::Beside(why));
        }
        let start = (run.cold.load + run.cold.first_inference).as_secs_f64();
        let numbers = vec![
            number,
            evidence("size of the model", "model.size", size, Unit::Bytes),
            evidence("rest of the time to the first result", "web.start", start, Unit::Seconds),
        ];
        let faster = |left: f64| (start + download) / (start + download * left);
        let basis = "half the bytes in fp16, 27 % in int8, over the time to the first result";
        let gain = gain(Goal::Start, faster(HALF), faster(QUARTER), basis);
        let why = "a network is not measured here; `modelmeter quantize --weights-only` writes a model with int8 weights, and compares its outputs";
        let proof = Proof::Elsewhere { why: why.into() };
        let caveat =
            "a browser keeps files that a server lets it keep: the second visit downloads nothing";
        let title = "let the page download smaller weights: fp16 or int8";
        Ok(advise(title, numbers, gain, proof, Some(caveat)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;
    use crate::advice::scene;
    use types::Device;

    #[test]
    fn a_large_model_should_be_smaller_and_a_small_one_is_fine() {
        let mut run = scene::run();
        assert!(said::beside(&WebDownload, &scene::facts(&run)).contains("page"));
        run.cell.device = Device::Wasm;
        // 200 MB take 80 s, the rest of the start 0.12 s.
        let advice = said::advice(&WebDownload, &scene::facts(&run));
        said::is_between(&advice, 80.12 / 40.12, 80.12 / (0.12 + 80.0 * QUARTER));
        run.model.size.0 = 1_000_000;
        assert_eq!(said::fine(&WebDownload, &scene::facts(&run)).value, 0.4);
        run.model.size.0 = 200_000_000;
        run.cell.precision = Precision::Int8;
        assert!(said::beside(&WebDownload, &scene::facts(&run)).contains("int8"));
    }
}
