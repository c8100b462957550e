//! Compares the outputs of an engine with those of a native one before it is measured, where the engine asks for that.

use crate::{
    EngineChoice, Error, Profiler, choose,
    parity::{Sides, hold_against},
    prepare::{self, Prepared},
    scratch::Scratch,
};
use engine::{Engine, EngineError, EngineErrorKind, Takes};
use meter::{Depth, Launch, MeterError, outputs_of};
use number::scientific;
use types::{
    Device, EngineOptions, Event, HostTensor, Mode, OutputParity, Parity, Remark, RemarkCode,
};

/// One of the two.
struct Side {
    profiler: Profiler,
    ready: Prepared,
    launch: Launch,
    outputs: Vec<HostTensor>,
}

/// What the comparison says; `None` where the engine asks for none, or the model is not run as it is.
pub(crate) fn check(
    profiler: &Profiler,
    prepared: &Prepared,
    sink: &mut dyn FnMut(Event),
) -> Result<Option<Remark>, Error> {
    if !prepared.engine.needs_reference() || prepared.cell.mode != Mode::Inference {
        return Ok(None);
    }
    let not_compared = |why: String| {
        let text = format!("the outputs were not compared with those of a native engine: {why}");
        Ok(Some(Remark::new(RemarkCode::OutputsNotCompared, text)))
    };
    let Some(reference) = reference(profiler, prepared) else {
        return not_compared("none is here".to_owned());
    };
    let folder = Scratch::make("the outputs", 0)?;
    let native = Profiler {
        engine: EngineChoice::Named(reference.id().to_owned()),
        device: Device::Cpu,
        options: EngineOptions::default(),
        program: None,
        ..profiler.clone()
    };
    let side = |profiler: &Profiler, sink: &mut dyn FnMut(Event)| -> Result<Side, Error> {
        let ready = prepare::prepare(profiler, sink)?;
        let launch = profiler.launch(&ready)?;
        let refine = |seen: &[(String, Vec<usize>)]| ready.count_again(seen);
        let timeout = profiler.rule.timeout;
        let outputs =
            outputs_of(&ready.job(&refine), &launch, timeout, folder.path(), Depth::Outputs)?;
        Ok(Side { profiler: profiler.clone(), ready, launch, outputs })
    };
    let native = match side(&native, sink) {
        Ok(native) => native,
        // An engine that does not run the model cannot say what its answers are.
        Err(error) => return not_compared(format!("`{}` failed: {error}", reference.id())),
    };
    let measured = side(profiler, sink)?;
    let parity = compare(native, measured, folder.path());
    judge(reference.id(), prepared.engine.id(), &parity)
}

fn compare(native: Side, measured: Side, folder: &std::path::Path) -> Vec<Parity> {
    let labels = [native.ready.cell.engine.clone(), measured.ready.cell.engine.clone()];
    let timeout = measured.profiler.rule.timeout;
    let sides = Sides {
        profilers: &[&native.profiler, &measured.profiler],
        prepared: &[native.ready, measured.ready],
        labels: &labels,
        launches: &[native.launch, measured.launch],
        baseline: 0,
        rows: &[],
        timeout,
        folder,
    };
    hold_against(&sides, &[Some(native.outputs), Some(measured.outputs)])
}

/// The first engine in the list that runs this model on the processor.
fn reference(profiler: &Profiler, prepared: &Prepared) -> Option<&'static dyn Engine> {
    let precision = prepared.cell.precision;
    let runs = |engine: &&'static dyn Engine| {
        engine.id() != prepared.engine.id()
            && engine.takes() == Takes::Onnx
            && choose::refusal(*engine, Device::Cpu, precision, &profiler.places).is_none()
    };
    profiler.engines.iter().find(runs)
}

/// A remark with the largest difference, or the error that nothing was measured for.
fn judge(reference: &str, engine: &str, parity: &[Parity]) -> Result<Option<Remark>, Error> {
    let outputs: Vec<&OutputParity> = parity.iter().flat_map(|one| &one.outputs).collect();
    if let Some(broken) = outputs.iter().find(|output| !output.holds) {
        let message = format!(
            "engine `{engine}` gives other outputs than `{reference}`, so it was not timed"
        );
        let why = broken.why.clone().unwrap_or_default();
        let error = EngineError::new(EngineErrorKind::Failed, message)
            .with_source(format!("`{}`: {why}", broken.output))
            .with_hint("`modelmeter compare` with `--outputs-may-differ` measures it all the same");
        return Err(MeterError::from(error).into());
    }
    let largest = outputs.iter().filter_map(|output| output.max_abs).fold(0.0, f64::max);
    let text = format!("its outputs equal those of `{reference}` (max {})", scientific(largest));
    Ok(Some(Remark::new(RemarkCode::OutputsCompared, text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parity(holds: bool) -> Parity {
        let output = OutputParity {
            output: "y".into(),
            max_abs: Some(2e-6),
            cosine: None,
            error: None,
            tolerance: None,
            rounding: None,
            holds,
            undecided: false,
            why: (!holds).then(|| "it differs by 0.5".to_owned()),
            note: None,
        };
        Parity {
            side: "page".into(),
            reference: "native".into(),
            holds,
            outputs: vec![output],
            first_difference: None,
        }
    }

    #[test]
    fn equal_outputs_are_a_remark_and_others_an_error() {
        let remark = judge("native", "page", &[parity(true)]).unwrap().unwrap();
        assert_eq!(remark.code, RemarkCode::OutputsCompared);
        assert!(remark.text.contains("`native` (max 2"), "{}", remark.text);
        let error = judge("native", "page", &[parity(false)]).unwrap_err();
        assert!(error.to_string().contains("was not timed"), "{error}");
    }
}
