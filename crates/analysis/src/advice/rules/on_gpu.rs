//! Rules over what a GPU did, asked of a run of ours.

use super::advise;
use crate::advice::{
    Facts, Judgement, Missing, Rule,
    gpu::{Fix, GpuRule},
    judgement::change,
};
use types::{Change, Device, EngineOptions, Proof};

/// One of [`crate::advice::GPU_RULES`].
pub(super) struct OnGpu(pub(super) &'static GpuRule);

impl Rule for OnGpu {
    fn id(&self) -> &'static str {
        self.0.id
    }

    fn about(&self) -> &'static str {
        self.0.about
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Judgement, Missing> {
        let cell = &facts.run.cell;
        if !matches!(cell.device, Device::Cuda(_)) {
            return Ok(Judgement::Beside(format!("the model runs on {}", cell.device)));
        }
        let missing =
            || super::super::command::without(cell, "the run has no records of the GPU", "--gpu");
        let profile = facts.run.gpu.as_deref().ok_or_else(missing)?;
        let found = self.0.judge(profile).ok_or_else(missing)?;
        let Some(gain) = found.gain else {
            let first = found.evidence.into_iter().next();
            return first.map(Judgement::Fine).ok_or_else(missing);
        };
        let compiled = self.0.fix.filter(|fix| *fix == Fix::Compile).and(compiled(facts));
        let proof = match compiled {
            Some(options) => change(Change { options: Some(options), ..Change::default() }),
            None => Proof::Elsewhere { why: "the program itself must change".into() },
        };
        Ok(advise(found.title, found.evidence, gain, proof, Some(found.caveat)))
    }
}

/// The options with which the engine of a run compiles the model, if it can and did not.
fn compiled(facts: &Facts<'_>) -> Option<EngineOptions> {
    let cell = &facts.run.cell;
    let all = facts.alternatives.as_ref().ok()?;
    let own = all.iter().find(|one| one.engine == cell.engine)?;
    let options = own.fusing.clone().filter(|options| options.compile.is_some())?;
    // One of the modes replays a CUDA graph, but not every version can with weights that change.
    Some(match facts.is_training() {
        true => options,
        false => EngineOptions { compile: Some("reduce-overhead".into()), ..options },
    })
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;
    use crate::advice::{GPU_RULES, scene};
    use types::{GpuDevice, GpuGap, GpuGapCause, GpuLaunches, GpuProcess, GpuProfile, Precision};

    #[test]
    fn a_run_that_waits_for_launches_is_compiled() {
        let rule = OnGpu(&GPU_RULES[0]);
        let mut run = scene::run();
        assert!(said::beside(&rule, &scene::facts(&run)).contains("cpu"));
        run.cell.device = Device::Cuda(0);
        run.cell.engine = "torch".into();
        assert!(said::missing(&rule, &scene::facts(&run)).hint.unwrap().contains("--gpu"));
        let late = GpuGap {
            cause: GpuGapCause::HostLate,
            count: 9,
            time: 0.8,
            longest: 0.1,
            places: Vec::new(),
        };
        let device = GpuDevice {
            window: 1.0,
            idle: 0.8,
            gaps: vec![late],
            launches: GpuLaunches { kernels: 9, short: 9, ..GpuLaunches::default() },
            ..GpuDevice::default()
        };
        let process = GpuProcess { devices: vec![device], ..GpuProcess::default() };
        let profile = GpuProfile { processes: vec![process], unread: Vec::new() };
        run.gpu = Some(Box::new(profile));
        let mut facts = scene::facts(&run);
        let mut own = scene::engine("torch", &[Precision::Fp32]);
        facts.alternatives = Ok(vec![own.clone()]);
        let cannot = said::advice(&rule, &facts);
        assert!(matches!(cannot.proof, Proof::Elsewhere { .. }), "{cannot:?}");
        own.fusing =
            Some(EngineOptions { compile: Some("default".into()), ..run.cell.options.clone() });
        facts.alternatives = Ok(vec![own]);
        let advice = said::advice(&rule, &facts);
        let Proof::Change { change } = &advice.proof else { panic!("{advice:?}") };
        assert_eq!(change.options.as_ref().unwrap().compile.as_deref(), Some("reduce-overhead"));
    }
}
