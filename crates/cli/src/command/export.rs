//! `modelmeter export`: a model as one ONNX file, loaded again and compared.

use crate::{
    Exit, Failure, Sinks,
    arguments::{Export, Global, Workload},
    command::{
        folders,
        measurement::{Settings, measurement},
    },
    interrupt,
    places::places,
    progress::Progress,
};
use modelmeter::Exporter;
use std::path::Path;

pub(crate) fn run(arguments: &Export, global: &Global) -> Result<Exit, Failure> {
    arguments.result.check([&arguments.output])?;
    if arguments.output == Path::new("-") {
        return Err(Failure::new(Exit::Wrong, "a model is written to a file, which is read again")
            .hint("`-o model.onnx`"));
    }
    let exporter = exporter(arguments, global)?;
    interrupt::watch_files("the export")?;
    let mut progress = Progress::new(global.quiet);
    let outcome = exporter.write(&arguments.output, &mut |event| progress.hear(&event));
    progress.clear();
    let found = outcome?;
    let exit = match (found.differs(), found.holds()) {
        (true, _) => Exit::Failed,
        (false, true) => Exit::Fine,
        (false, false) => Exit::Untold,
    };
    let mut sinks = Sinks::new(global);
    sinks.result(&report::export_document(&found), &arguments.result, exit);
    Ok(sinks.finish(exit))
}

fn exporter(arguments: &Export, global: &Global) -> Result<Exporter, Failure> {
    let model = arguments.model.name().unwrap_or_default();
    let (batch, inputs) = (arguments.batch.clone(), arguments.inputs.clone());
    let workload = Workload { batch, inputs, ..Workload::default() };
    let profiler = measurement(model, &workload, &arguments.origin, places(global))?;
    let profiler = arguments.timeout.apply(profiler.folders(folders(global)?));
    let mut exporter = Exporter::new(profiler)
        .engines(arguments.engines.engines.clone())
        .weights_beside(arguments.external_data)
        .replace(arguments.force);
    if let Some(opset) = arguments.opset {
        exporter = exporter.opset(opset);
    }
    if let Some(precision) = arguments.precision.precision {
        exporter = exporter.precision(precision);
    }
    Ok(exporter)
}
