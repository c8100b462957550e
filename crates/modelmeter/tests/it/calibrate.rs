//! Ceilings of a device that only an engine's own program can measure: a shell speaks the protocol here.

use crate::scene::Scene;
use engine::{
    Availability, Engine, EngineError, Host, PROTOCOL, Places, Reply, Starter, WorkerCommand,
};
use modelmeter::{Calibrator, Device, Engines, Error, Event, Keep, MeterError, Precision, Stage};
use types::{Ceiling, Ceilings, Interval};

const GPU: Device = Device::Cuda(3);

/// Greets, hears the request, answers with its last argument, and waits for the end.
const WORKER: &str = r#"printf '{"answer":"hello","protocol":%s,"pid":%s}\n' "$1" "$$"
read -r asked
case $asked in *calibrate*cuda:3*) printf '%s\n' "$2" ;; *) exit 9 ;; esac
read -r end"#;

/// An engine that measures one GPU and finds what it is told.
struct Gauge {
    finds: Ceilings,
    absent: Option<&'static str>,
}

impl Engine for Gauge {
    fn id(&self) -> &'static str {
        "gauge"
    }

    fn describe(&self) -> &'static str {
        "measures what the test says"
    }

    fn availability(&self, _places: &Places) -> Availability {
        match self.absent {
            Some(why) => Availability::Unavailable { why: why.into(), hint: "no way".into() },
            None => Availability::Available { version: "1".into() },
        }
    }

    fn devices(&self, _places: &Places) -> Vec<Device> {
        vec![Device::Cpu, GPU]
    }

    fn precisions(&self, _places: &Places, _device: Device) -> Vec<Precision> {
        vec![Precision::Fp32]
    }

    fn calibrates(&self) -> bool {
        true
    }

    fn host(&self) -> Host<'_> {
        Host::Program(self)
    }
}

impl Starter for Gauge {
    fn command(&self, _places: &Places) -> Result<WorkerCommand, EngineError> {
        let answer = Reply::Calibrated { ceilings: Box::new(self.finds.clone()) };
        let answer = serde_json::to_string(&answer).unwrap();
        let arguments = ["-c", WORKER, "gauge", &PROTOCOL.to_string(), &answer];
        Ok(WorkerCommand {
            program: "/bin/sh".into(),
            arguments: arguments.iter().map(Into::into).collect(),
            environment: Vec::new(),
        })
    }
}

fn ceilings(device: Device, flops: f64) -> Ceilings {
    let value = Ceiling { value: flops, interval: Interval { low: flops, high: flops } };
    Ceilings { flops: vec![(Precision::Bf16, value)], ..Ceilings::of(device, 0) }
}

fn calibrator(gauge: Gauge) -> Calibrator {
    let engines: Vec<&'static dyn Engine> = vec![Box::leak(Box::new(gauge))];
    Calibrator::new().device(GPU).engines(Engines::of(engines.leak()))
}

fn finding(flops: f64) -> Calibrator {
    calibrator(Gauge { finds: ceilings(GPU, flops), absent: None })
}

#[test]
fn a_gpu_is_measured_by_the_program_of_an_engine_and_the_higher_number_stands() {
    let scene = Scene::new();
    let mut session = scene.session();
    assert_eq!(finding(1.0).known_in(&mut session).unwrap(), None);
    let mut stages = Vec::new();
    let mut hear = |event: Event| {
        if let Event::StageStarted { stage, .. } = event {
            stages.push(stage);
        }
    };
    let first = finding(9e14).calibrate_in(&mut session, &mut hear).unwrap();
    assert_eq!(first.measured, ceilings(GPU, 9e14));
    assert_eq!(stages, [Stage::Start, Stage::Calibrate]);
    // A busy device measures too little, never too much.
    let busy = finding(5e14).calibrate_in(&mut scene.session(), &mut |_| {}).unwrap();
    assert_eq!((busy.measured, busy.standing), (ceilings(GPU, 5e14), ceilings(GPU, 9e14)));
    let newer = finding(5e14).keep(Keep::Newer).calibrate_in(&mut session, &mut |_| {}).unwrap();
    assert_eq!(newer.standing, ceilings(GPU, 5e14));
    assert_eq!(finding(1.0).known_in(&mut scene.session()).unwrap(), Some(newer.standing));
}

#[test]
fn an_answer_about_another_device_is_refused_and_nothing_is_kept() {
    let scene = Scene::new();
    let wrong = calibrator(Gauge { finds: ceilings(Device::Cuda(0), 9e14), absent: None });
    let error = wrong.calibrate_in(&mut scene.session(), &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::Meter(MeterError::Protocol { .. })), "{error}");
    assert_eq!(wrong.known_in(&mut scene.session()).unwrap(), None);
}

#[test]
fn every_engine_that_could_measure_says_why_it_does_not() {
    let scene = Scene::new();
    let absent = calibrator(Gauge { finds: ceilings(GPU, 1.0), absent: Some("its driver is old") });
    let elsewhere = finding(1.0).device(Device::Cuda(0));
    // Engines that do not measure ceilings are not asked.
    let unable = finding(1.0).engines(crate::scene::engines());
    let expected = [
        (absent, vec![("gauge".to_owned(), "its driver is old".to_owned())]),
        (elsewhere, vec![("gauge".to_owned(), "does not run on `cuda:0`".to_owned())]),
        (unable, Vec::new()),
    ];
    for (calibrator, reasons) in expected {
        let error = calibrator.calibrate_in(&mut scene.session(), &mut |_| {}).unwrap_err();
        let Error::NoCalibration { why, .. } = error else { panic!("{error}") };
        assert_eq!(why, reasons);
    }
}
