//! WebAssembly, WebGPU or WebNN.

use super::advise;
use crate::advice::{
    Facts, Judgement, Missing, Rule,
    judgement::{WORTH_IT, evidence, gain},
};
use types::{Device, Goal, PooledCell, Proof, Unit};

/// The devices of a page.
const DEVICES: [Device; 3] = [Device::Wasm, Device::Webgpu, Device::Webnn];

/// How far the same machine drifts between stored runs, as a factor.
const DRIFT: f64 = 1.3;

/// Whether models run in a page on this device.
pub(super) fn is_of_a_page(device: Device) -> bool {
    DEVICES.contains(&device)
}

pub(super) struct WebDevice;

impl Rule for WebDevice {
    fn id(&self) -> &'static str {
        "web-device"
    }

    fn about(&self) -> &'static str {
        "WebAssembly, WebGPU or WebNN in a page"
    }

    fn beside_training(&self) -> Option<&'static str> {
        Some("pages do not train here")
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Judgement, Missing> {
        let run = facts.run;
        let own = run.cell.device;
        if !is_of_a_page(own) {
            return Ok(Judgement::Beside("the model does not run in a page".into()));
        }
        let now = run.summaries.get(&run.main_phase()).map(|summary| summary.median);
        let now = now.ok_or_else(|| Missing::because("the run has no times"))?;
        let is_comparable = |cell: &&PooledCell| {
            let key = &cell.key;
            key.device != own
                && is_of_a_page(key.device)
                && key.mode == run.cell.mode
                && key.precision == run.cell.precision
                && key.batch_size == run.cell.batch_size as u64
                && key.sequence_length == run.cell.sequence_length.map(|length| length as u64)
                && cell.invalid.is_none()
        };
        let others = facts.measured.iter().filter(is_comparable);
        let best = others.min_by(|a, b| a.latency.value.total_cmp(&b.latency.value));
        let best = best.ok_or_else(|| {
            let other = if own == Device::Wasm { "webgpu" } else { "wasm" };
            Missing::because("no other device of a page was measured on this machine").with_hint(
                format!("`modelmeter profile {} --device {other}` measures one", facts.subject),
            )
        })?;
        let (device, time) = (best.key.device, best.latency.value);
        let factor = now / time;
        let number = evidence(
            format!("time on {own} ÷ time on {device}, the best other device"),
            "web.factor",
            factor,
            Unit::Ratio,
        );
        if factor < WORTH_IT {
            return Ok(Judgement::Fine(number));
        }
        let numbers = vec![
            number,
            evidence(format!("time on {own}"), "web.now", now, Unit::Seconds),
            evidence(format!("time on {device}"), "web.other", time, Unit::Seconds),
        ];
        let basis = "stored runs of both; the same machine drifts by 30 % between them";
        let gain = gain(Goal::Latency, (factor / DRIFT).max(1.0), factor * DRIFT, basis);
        let engine = &run.cell.engine;
        let why = format!(
            "it is another device: `modelmeter compare {} --engines {engine}:{own},{engine}:{device}` measures both, interleaved",
            run.cell.model
        );
        let caveat = "a page must ask what the visitor's browser has, and fall back to wasm";
        let title = format!("run on {device} instead of {own}");
        Ok(advise(title, numbers, gain, Proof::Elsewhere { why }, Some(caveat)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;
    use crate::{advice::scene, survey::key_of};
    use types::{Measured, Pooled};

    #[test]
    fn the_device_that_was_faster_is_advised_with_the_number() {
        let mut run = scene::run();
        assert!(said::beside(&WebDevice, &scene::facts(&run)).contains("page"));
        run.cell.device = Device::Wasm;
        let missing = said::missing(&WebDevice, &scene::facts(&run));
        assert!(missing.hint.unwrap().contains("--device webgpu"));
        // 10 ms on wasm.
        let with = |seconds: f64| {
            let mut facts = scene::facts(&run);
            let mut other = run.clone();
            other.cell.device = Device::Webgpu;
            let key = key_of(&Measured::from(&other));
            let latency = Pooled { value: seconds, interval: None };
            facts.measured = vec![scene::pooled(key, latency, 1)];
            said::by(&WebDevice, &facts)
        };
        let Judgement::Advice(advice) = with(0.002) else { panic!("no advice") };
        assert_eq!(advice.title, "run on webgpu instead of wasm");
        said::is_between(&advice, 5.0 / DRIFT, 5.0 * DRIFT);
        let Judgement::Fine(number) = with(0.020) else { panic!("not fine") };
        assert_eq!(number.value, 0.5);
    }
}
