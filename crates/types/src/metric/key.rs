//! The keys of metrics that several crates ask for. Each means one thing everywhere; who writes a key as text again may give
//! it a second meaning.

/// Samples a second.
pub const THROUGHPUT_SAMPLES: &str = "throughput.samples";
/// Tokens a second.
pub const THROUGHPUT_TOKENS: &str = "throughput.tokens";
/// Time to first token: from the prompt, as text or tokens, to the first token that was chosen.
pub const FIRST_TOKEN: &str = "generate.first_token";
/// Bytes of the cache of the whole batch, at the depth at which sampling ended.
pub const CACHE: &str = "generate.cache";
/// Bytes of the cache a token and row.
pub const CACHE_PER_TOKEN: &str = "generate.cache.per_token";
/// Weights and cache that a step reads, per second of the median step.
pub const STEP_BANDWIDTH: &str = "generate.bandwidth";
/// The same ÷ the measured bandwidth of the memory.
pub const STEP_BANDWIDTH_SHARE: &str = "generate.bandwidth_share";
/// Images a second.
pub const THROUGHPUT_IMAGES: &str = "throughput.images";
/// Floating point operations per second.
pub const FLOPS_PER_SECOND: &str = "compute.flops_per_second";
/// Operations a second ÷ the machine's ceiling.
pub const CEILING_SHARE: &str = "compute.ceiling_share";

/// Peak memory of the worker where the model computes: of a device with its own memory, otherwise of the host.
pub const MEMORY_PEAK: &str = "memory.peak";
/// Peak memory during loading, where the model computes.
pub const MEMORY_PEAK_LOADING: &str = "memory.peak.loading";
/// Peak memory during sampling, where the model computes.
pub const MEMORY_PEAK_SAMPLING: &str = "memory.peak.sampling";
/// Peak memory since the probe started, where the model computes.
pub const MEMORY_PEAK_WINDOW: &str = "memory.peak.window";
/// Average memory during sampling, where the model computes.
pub const MEMORY_AVERAGE: &str = "memory.average";
/// The largest host memory of a worker that computes on a device with its own memory.
pub const MEMORY_HOST_PEAK: &str = "memory.host.peak";
/// The average host memory of a worker that computes on a device with its own memory.
pub const MEMORY_HOST_AVERAGE: &str = "memory.host.average";
/// The largest memory of the worker on the GPU, as the driver says.
pub const GPU_MEMORY_PROCESS: &str = "gpu.memory.process";
/// The largest memory in use on the GPU, by whomever.
pub const GPU_MEMORY_USED: &str = "gpu.memory.used";

/// Energy of the processors above idle.
pub const CPU_ENERGY: &str = "cpu.energy";
/// Energy of the GPU above idle.
pub const GPU_ENERGY: &str = "gpu.energy";
/// The share of the machine that other work used.
pub const OTHERS_UTILISATION: &str = "cpu.others.utilisation";

/// Bytes that the worker made the storage read while it was sampled.
pub const DISK_READ: &str = "disk.read";
/// Bytes that the worker made the storage write while it was sampled.
pub const DISK_WRITTEN: &str = "disk.written";
/// Bytes that the worker made the storage read while the model was loaded.
pub const DISK_READ_LOADING: &str = "disk.read.loading";
/// Bytes that the worker made the storage write while the model was loaded.
pub const DISK_WRITTEN_LOADING: &str = "disk.written.loading";
/// Bytes that came over the network while the worker was sampled, to whatever runs beside it.
pub const NETWORK_RECEIVED: &str = "network.namespace.received";
/// Bytes that went over the network while the worker was sampled, from whatever runs beside it.
pub const NETWORK_SENT: &str = "network.namespace.sent";
/// Bytes that came over the network while the model was loaded.
pub const NETWORK_RECEIVED_LOADING: &str = "network.namespace.received.loading";
/// Bytes that went over the network while the model was loaded.
pub const NETWORK_SENT_LOADING: &str = "network.namespace.sent.loading";
