//! Served models, and the generator of load that speaks to them.
//!
//! One thread, one clock. A read is stamped when it returns, before anything is parsed; a request is stamped when its first
//! byte is handed to the system. Who asks when, and what the times say, is decided in the crate `load`; nothing here judges.

mod address;
mod answer;
mod body;
mod clock;
mod connection;
mod exchange;
mod fetch;
mod generator;
mod inspect;
mod job;
mod kserve;
mod openai;
mod pacer;
mod prometheus;
mod replicas;
mod response;
mod signal;
mod sse;
#[cfg_attr(not(feature = "network"), path = "tls_absent.rs")]
mod tls;

pub use address::{Address, AddressError, is_local};
pub use body::{Bodies, BodyError, Prompts};
pub use fetch::{FetchError, Fetched, fetch};
pub use generator::{ServeError, serve};
pub use inspect::{InspectError, Inspection, Service, inspect};
pub use job::{Content, Job, Message, Target};
pub use kserve::{Shape, TensorError};
pub use prometheus::{parse as parse_metrics, server_metrics};
pub use replicas::{ReplicaScript, Replicas};
pub use response::{Head, HttpError, ResponseDecoder};
pub use sse::{ServerEvent, SseSplitter};

/// Lets sleeps of this thread end when they should: by default the kernel puts wakings within 50 microseconds together.
fn precise_timers() {
    #[cfg(target_os = "linux")]
    // SAFETY: prctl takes numbers and touches no memory of ours; where it is refused, sleeps stay coarse.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1usize, 0usize, 0usize, 0usize);
    }
}
