//! A graph that runs on values which the caller holds: inputs are read where they lie, outputs stay where the library
//! put them.

use crate::{
    convert::{raw_value, view_of},
    explain, load, recorded,
    runtime::{self, Runtime, checked},
    statistics,
};
use engine::{
    Arena, EngineError, EngineErrorKind, GraphRunner, LoadRequest, OutputView, ProfiledRunner,
    RunOutputs, RunRecord,
};
use ort::{
    AsPointer,
    memory::Allocator,
    session::{Session, builder::SessionBuilder},
    value::DynValue,
};
use std::{
    ffi::CString,
    ptr::{self, NonNull},
    sync::Arc,
};
use tempfile::TempDir;

/// Settings of a session that is one of several which take turns; milliseconds a step of DistilBERT on two processors.
///
/// A session's threads wait busily for 40 ms after a run, on the processors that the next graph and the optimiser need:
/// 1,100 become 1,017. A matrix that the graph turns in a pass of its own must stay so, for as part of the product it is
/// turned once for every panel: 930. And a bias that is part of a product is spread by one thread first: 4 % less.
const USUAL: [(&str, &str); 2] = [
    ("session.force_spinning_stop", "1"),
    ("optimization.disable_specified_optimizers", "GemmTransposeFusion;MatMulAddFusion"),
];

pub(crate) struct OrtRunner {
    session: Arc<Session>,
    inputs: Vec<String>,
    outputs: Arc<[String]>,
    output_names: Vec<CString>,
    threads: u32,
    runtime: &'static Runtime,
}

impl OrtRunner {
    pub(crate) fn new(request: &LoadRequest) -> Result<OrtRunner, EngineError> {
        OrtRunner::with(request, Ok)
    }

    /// As [`OrtRunner::new`], with a session that was set up further.
    fn with(
        request: &LoadRequest,
        set_up: impl FnOnce(SessionBuilder) -> Result<SessionBuilder, EngineError>,
    ) -> Result<OrtRunner, EngineError> {
        let library = crate::locate::locate(&request.places)?;
        let runtime = runtime::load(&library)?;
        let builder = set_up(load::builder(runtime, request, &USUAL)?)?;
        let session = load::commit(builder, request)?;
        let names = |outlets: &[ort::value::Outlet]| -> Vec<String> {
            outlets.iter().map(|outlet| outlet.name().to_owned()).collect()
        };
        let outputs = names(session.outputs());
        let output_names = outputs.iter().map(|name| c_name(name)).collect::<Result<_, _>>()?;
        Ok(OrtRunner {
            inputs: names(session.inputs()),
            outputs: outputs.into(),
            output_names,
            threads: request.threads.max(1),
            session: Arc::new(session),
            runtime,
        })
    }
}

fn c_name(name: &str) -> Result<CString, EngineError> {
    CString::new(name).map_err(|_| {
        EngineError::new(
            EngineErrorKind::BadModel,
            format!("`{name:?}` is not the name of a value"),
        )
    })
}

impl GraphRunner for OrtRunner {
    fn inputs(&self) -> &[String] {
        &self.inputs
    }

    fn placement(&self) -> String {
        let plural = if self.threads == 1 { "" } else { "s" };
        format!("CPUExecutionProvider, {} thread{plural}", self.threads)
    }

    fn run(&self, inputs: &[OutputView<'_>]) -> Result<Box<dyn RunOutputs>, EngineError> {
        let failed = |error: ort::Error| explain::other("could not bind the inputs", &error);
        let mut values = Vec::with_capacity(inputs.len());
        let mut names = Vec::with_capacity(inputs.len());
        for view in inputs {
            names.push(c_name(view.name)?);
            // SAFETY: the view's memory is borrowed until this run is over, and the values go before that.
            values.push(unsafe { raw_value(&view.elements, &view.dims) }.map_err(failed)?);
        }
        let input_names: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
        let input_values: Vec<_> = values.iter().map(|value| value.ptr()).collect();
        let output_names: Vec<_> = self.output_names.iter().map(|name| name.as_ptr()).collect();
        let mut found = vec![ptr::null_mut(); output_names.len()];
        // SAFETY: names and values live during the call; the outputs are ours to release.
        unsafe {
            checked((ort::api().Run)(
                self.session.ptr().cast_mut(),
                ptr::null(),
                input_names.as_ptr(),
                input_values.as_ptr(),
                input_values.len(),
                output_names.as_ptr(),
                output_names.len(),
                found.as_mut_ptr(),
            ))
            .map_err(|error| explain::of_running(&error))?;
        }
        let allocator = Allocator::default();
        let mut outputs = Vec::with_capacity(found.len());
        for value in found {
            let value = NonNull::new(value).ok_or_else(|| {
                EngineError::new(
                    EngineErrorKind::Failed,
                    "the library gave an output without a value",
                )
            })?;
            // SAFETY: the value is ours, and nobody else releases it.
            outputs.push(unsafe { DynValue::from_ptr(value, Some(&allocator)) });
        }
        let (names, session) = (Arc::clone(&self.outputs), Arc::clone(&self.session));
        Ok(Box::new(Outputs { outputs, names, _session: session }))
    }

    fn arena(&self) -> Option<Result<Arena, String>> {
        Some(statistics::arena(self.runtime, &self.session))
    }
}

/// A graph whose runs the library's own profiler writes down.
pub(crate) struct ProfiledOrt {
    runner: OrtRunner,
    _folder: TempDir,
}

impl ProfiledOrt {
    pub(crate) fn new(request: &LoadRequest) -> Result<ProfiledOrt, EngineError> {
        let unwritten = |why: String| {
            EngineError::new(EngineErrorKind::Failed, "could not write a profile").with_source(why)
        };
        let folder = tempfile::tempdir().map_err(|error| unwritten(error.to_string()))?;
        let path = folder.path().join("profile");
        let runner = OrtRunner::with(request, |builder| {
            builder.with_profiling(path).map_err(|error| unwritten(error.to_string()))
        })?;
        Ok(ProfiledOrt { runner, _folder: folder })
    }
}

impl GraphRunner for ProfiledOrt {
    fn inputs(&self) -> &[String] {
        self.runner.inputs()
    }

    fn placement(&self) -> String {
        self.runner.placement()
    }

    fn run(&self, inputs: &[OutputView<'_>]) -> Result<Box<dyn RunOutputs>, EngineError> {
        self.runner.run(inputs)
    }
}

impl ProfiledRunner for ProfiledOrt {
    fn finish(mut self: Box<Self>, count: usize) -> Result<Vec<RunRecord>, EngineError> {
        let session = Arc::get_mut(&mut self.runner.session).ok_or_else(|| {
            let why = "an output of the last run still lives";
            EngineError::new(EngineErrorKind::Failed, why)
        })?;
        recorded::records(session, count)
    }
}

/// The outputs of a run; they lie in the session's arena, which must not go before them.
struct Outputs {
    outputs: Vec<DynValue>,
    names: Arc<[String]>,
    _session: Arc<Session>,
}

impl RunOutputs for Outputs {
    fn views(&self) -> Result<Vec<OutputView<'_>>, EngineError> {
        let failed = |error: ort::Error| explain::other("could not read the outputs", &error);
        let mut views = Vec::with_capacity(self.outputs.len());
        for (name, value) in self.names.iter().zip(&self.outputs) {
            // SAFETY: the memory belongs to the value, which lives as long as the view.
            if let Some((dims, elements)) = unsafe { view_of(value) }.map_err(failed)? {
                views.push(OutputView { name, dims, elements });
            }
        }
        Ok(views)
    }
}
