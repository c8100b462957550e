//! NVIDIA's management library, opened once when first asked for.

pub use nvml_wrapper::Nvml;

use std::{ffi::OsStr, sync::OnceLock};
use types::{Bytes, Gpu};

/// The name that comes with the driver; the plain `libnvidia-ml.so` comes only with developers' packages.
const LIBRARY: &str = if cfg!(windows) { "nvml.dll" } else { "libnvidia-ml.so.1" };

/// The driver, or why none answers.
///
/// # Errors
/// A sentence that says why no driver answers.
pub fn driver() -> Result<&'static Nvml, String> {
    static DRIVER: OnceLock<Result<Nvml, String>> = OnceLock::new();
    let driver = DRIVER.get_or_init(|| {
        Nvml::builder().lib_path(OsStr::new(LIBRARY)).init().map_err(|error| match error {
            nvml_wrapper::error::NvmlError::LibloadingError(_) => {
                format!("no NVIDIA driver answers (`{LIBRARY}` not found)")
            }
            other => format!("the NVIDIA driver does not answer ({other})"),
        })
    });
    driver.as_ref().map_err(Clone::clone)
}

/// The GPUs that the driver lists; none where no driver answers.
pub(crate) fn gpus() -> Vec<Gpu> {
    let Ok(driver) = driver() else { return Vec::new() };
    (0..driver.device_count().unwrap_or(0))
        .filter_map(|index| {
            let device = driver.device_by_index(index).ok()?;
            Some(Gpu {
                index,
                name: device.name().ok()?,
                uuid: device.uuid().ok()?,
                memory: Bytes(device.memory_info().ok()?.total),
            })
        })
        .collect()
}
