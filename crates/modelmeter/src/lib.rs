//! Profiles and benchmarks neural models: how fast, how much memory, how sure.
//!
//! ```no_run
//! use modelmeter::{Device, Precision, Profiler};
//!
//! fn main() -> Result<(), modelmeter::Error> {
//!     modelmeter::serve_if_worker();
//!     let profile = Profiler::new("bert-base-uncased")
//!         .device(Device::Auto)
//!         .precision(Precision::Fp32)
//!         .profile()?;
//!     println!("{} ms", profile.latency().median * 1e3);
//!     Ok(())
//! }
//! ```
//!
//! A measurement happens in a worker process. A program that uses this library becomes its own worker when its `main`
//! begins with [`serve_if_worker`]; otherwise an installed `modelmeter` is used.
//!
//! This crate is the library's door: it holds the lists [`ENGINES`], [`PROBES`], [`FORMATS`] and [`PICTURES`] and connects
//! the others. It prints nothing; [`Event`]s tell what is going on.

mod above_ceiling;
mod advise;
mod agreement;
mod alternatives;
mod calibrate;
mod capacity;
mod changed_graph;
mod choose;
mod database;
mod dossier;
mod duel;
mod engines;
mod error;
mod export;
mod first_divergence;
mod fit;
mod folders;
mod forecast;
mod formats;
mod gate;
mod generate;
mod given;
mod inside;
mod install;
mod interim;
mod largest;
mod layers;
mod load_test;
mod memory;
mod notice;
mod observe;
mod optimise;
mod parity;
mod pickle;
mod plans;
mod predict;
mod prepare;
mod profile;
mod profiler;
mod rounding;
mod run_list;
mod scratch;
mod session;
mod sides;
mod suite;
mod survey;
mod tokeniser;
mod training;
mod trend;
mod trial;
mod visualize;
mod worker;

pub use advise::{Advisor, Proofs};
pub use calibrate::{Calibration, Calibrator, Keep};
pub use capacity::{CapacityPlan, ProofPlan, ReplicaCost};
pub use choose::{Choice, Instead, has_usual_device};
pub use database::{look_into_database, open_database};
pub use dossier::{About, dossier, dossier_of, dossier_page, dossier_part};
pub use duel::Duel;
pub use engines::{ENGINES, Engines, engine_id};
pub use error::Error;
pub use export::Exporter;
pub use fit::Fitter;
pub use folders::Folders;
pub use formats::{FORMATS, RUN_FORMATS, ResultFormat};
pub use gate::{Gate, GateBaseline, NoiseTest};
pub use generate::{Generated, GenerationTests, RefusedTest, growth_block};
pub use given::GivenValues;
pub use inside::Inside;
pub use install::install_engine;
pub use largest::{BatchTry, LargestBatch, largest_batch};
pub use load_test::{
    ComparedLoads, FoundRate, GENERATOR_ARGUMENT, LoadTarget, LoadTest, RateQuestion,
};
pub use memory::Memory;
pub use notice::Notice;
pub use optimise::{
    Changed, Optimizer, Prover, Pruner, PruningConfig, QuantizationConfig, Quantizer, Schedule,
};
pub use plans::{CellMeasurer, EngineHere, Host, HostExecutor, HostOptions, serve_host};
pub use predict::{Experience, Fits, Question, Target, anchor};
pub use profile::{Profile, latency_of};
pub use profiler::{EngineChoice, Isolation, Profiler};
pub use run_list::run_lines;
pub use session::Session;
pub use suite::{BenchmarkSuite, Outcome, outcomes_csv};
pub use survey::{Survey, read_prices};
pub use training::TrainingRequest;
pub use worker::{WORKER_ARGUMENT, serve_if_worker, serve_standard_streams};

// What results are made of, and how they are shown: whoever has a result needs both.
pub use ::{report, types};

pub use ::draw::{Material, PICTURES};
pub use analysis::TrendQuestion;
pub use engine::{Engine, Places};
pub use graph::{Also, PruneMethod as PruningMethod};
pub use meter::MeterError;
pub use models::{ModelError, PRESETS};
pub use page::Pictures;
pub use plan::{
    CellReport, CellStanding, Control, Expansion, Interruption, PlanError, PlanFile, PlanReport,
    PlanRunner, PlanSpec, Resume, Shard, SkipEntry, shard_of_environment,
};
pub use probe::PROBES;
pub use store::{Store, StoreError};
pub use types::{
    Bytes, CellFailure, Device, EngineOptions, Event, FailureKind, Goal, InputShape, LimitedBy,
    MemoryLimit, Mode, Phase, PlanLeftOut, Precision, Run, RunId, Stage, StoppingRule, Summary,
    Task, Text, ValueRange, Verdict, WaitReason, Warmup,
};

/// This program's version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
