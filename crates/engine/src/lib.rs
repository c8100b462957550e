//! The socket every engine plugs into.
//!
//! An engine is three types because the three steps cost differently: [`Engine`] (is it here, what can it do),
//! [`LoadedModel`] (the weights are in), [`Session`] (inputs are bound, run it). Optional abilities are
//! `Option<&mut dyn …>`, never methods that refuse. Here also live the worker protocol, the scripted
//! [`FakeEngine`], the conformance suite and what engines [found] on this machine share. No real engine is named here, and nothing here measures.

mod allocations;
mod answering;
mod child;
pub mod conformance;
mod descriptors;
mod draw;
mod encoder;
mod engine;
mod error;
mod fake;
pub mod found;
mod generation;
mod generator;
mod graph_trainer;
mod inherited;
mod media;
mod memory;
mod network;
pub mod parts;
mod picture;
mod places;
mod postprocess;
pub mod private;
mod protocol;
mod reading;
mod runner;
mod serving;
mod socket;
mod spectrogram;
mod tensors;
mod timeline;
mod training;
mod training_traits;
mod view;
mod watched;
mod worker;

pub use allocations::{read_allocations, write_allocations};
pub use child::{DEVICE_MEMORY, become_expendable};
pub use descriptors::{Channel, claim_standard_streams};
pub use draw::draw;
use encoder::Encoder;
pub use engine::{
    Availability, CacheFormat, Engine, Host, InstallProgress, Installer, Starter, Takes,
    WorkerCommand,
};
pub use error::{EngineError, EngineErrorKind};
pub use fake::{Act, FakeEngine, ParseScriptError};
pub use generation::{DECODER, DECODER_FUSED, DECODER_STANDARD};
pub use generator::{
    CacheState, FeedLog, Generator, GeneratorLoader, GeneratorRequest, OpenProfiled,
};
pub use graph_trainer::{GraphTrainer, StepInputs, StepTaken, TrainerLoader};
pub use inherited::{INHERITED, inherited, inherited_beside, keep_secrets};
pub use media::{Media, picture_size, size_of, sound_length};
pub use memory::{AllocationTracker, EventCount, MemoryRecord, MemoryReporter, Untracked};
pub use places::{PageAddress, Places};
pub use postprocess::{Answer, postprocess};
pub use protocol::{
    DropoutMask, Failure, FirstReport, GenerationJob, Greeting, LONGEST_MESSAGE, LoadJob,
    LoadReport, PROTOCOL, PreparedValue, ProgramCount, ProgramWork, Reply, Request, ServedReport,
    ServedTexts, ServingJob, TextJob, TextPadding, TextReport, TrainedParameter, TrainingFiles,
    TrainingJob, Window, read_message, read_message_within, write_message,
};
pub use runner::{
    Arena, GraphRunner, NodeCall, ProfiledRunner, RunOutputs, RunRecord, RunnerLoader,
};
pub use socket::{
    Detail, LoadRequest, LoadStep, LoadedModel, Loader, NodeProfile, NodeProfiler, NodeTime,
    Session, ShapeObserver, Signature, SignatureValue,
};
pub use tensors::{read_tensors, view_of, write_tensors};
pub use timeline::TimelineWriter;
pub use training::{UpdateFactors, first_values};
pub use training_traits::TrainingTraits;
pub use view::{ElementsView, OutputView};
pub use watched::{Watched, watch_runs};
pub use worker::{Encoded, OpenTokeniser, Tokeniser, serve, serve_tracked};
