//! Takes the network and the way to more rights away from a worker before it opens a model.
//!
//! The worker does it itself, between its greeting and loading: until then it runs only our own code, and nothing that
//! is timed contains it. It takes a namespace of its own with nothing but a loopback device, which ranks that train
//! together need. Where the system does not let it, the worker runs as it is.

use crate::LoadJob;
use std::sync::atomic::{AtomicBool, Ordering};
use types::{Device, Module};

/// Whether this process is a worker and nothing else; a thread of somebody's program must not take its network away.
static IS_WORKER: AtomicBool = AtomicBool::new(false);

/// Notes that this process is a worker and nothing else.
pub(crate) fn this_is_a_worker() {
    IS_WORKER.store(true, Ordering::Relaxed);
}

/// Takes the network away unless the job has a right to it.
pub(crate) fn leave_for(job: &LoadJob) {
    if IS_WORKER.load(Ordering::Relaxed) && !may_use_network(job) {
        // A system that does not allow it must not stop a measurement.
        let _ = leave();
    }
}

/// Drivers of GPUs start helpers that need the rights of the user outside a namespace, and a function that the user wrote
/// may fetch its weights. Everything else is a file.
fn may_use_network(job: &LoadJob) -> bool {
    let request = &job.request;
    if request.places.page.is_some() {
        // A browser elsewhere opens its page.
        return true;
    }
    let on_processors = request.device.bounded_by() == Some(Device::Cpu);
    // A browser needs the loopback device, and calls home where it can.
    let in_browser = matches!(request.device, Device::Webgpu | Device::Webnn);
    !(on_processors || in_browser) || matches!(job.request.module, Some(Module::Factory { .. }))
}

#[cfg(not(target_os = "linux"))]
fn leave() -> std::io::Result<()> {
    Ok(())
}

/// Root needs no namespace of users; anybody else gets one in which their own number stays what it is.
#[cfg(target_os = "linux")]
fn leave() -> std::io::Result<()> {
    use std::{fs, io};
    // SAFETY: these take nothing, touch no memory and cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    let is_root = user == 0;
    // Programs that run with more rights than their caller, such as `sudo`, have nothing to do for a model either.
    // SAFETY: prctl with PR_SET_NO_NEW_PRIVS takes numbers and touches no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // Where AppArmor restricts such namespaces, making one changes the rules for this process and helps nothing.
    let restricted = || {
        let setting = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";
        fs::read_to_string(setting).is_ok_and(|text| text.trim() != "0")
    };
    if !is_root && restricted() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let users = if is_root { 0 } else { libc::CLONE_NEWUSER };
    // SAFETY: unshare takes flags and touches no memory of ours.
    if unsafe { libc::unshare(libc::CLONE_NEWNET | users) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if !is_root {
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1\n"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1\n"))?;
    }
    raise_loopback()
}

#[cfg(target_os = "linux")]
fn raise_loopback() -> std::io::Result<()> {
    use std::{io, net::UdpSocket, os::fd::AsRawFd};
    // Any socket will do to ask through; this one is bound to nothing that could be reached.
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    // SAFETY: the request is plain numbers; all zero is a valid one.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l' as libc::c_char;
    request.ifr_name[1] = b'o' as libc::c_char;
    request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    // SAFETY: the socket is open, and the request lives for the call.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LoadRequest;
    use types::{Postprocess, Precision};

    fn job(device: Device, module: Option<Module>) -> LoadJob {
        let request = LoadRequest::of_onnx("model.onnx", device, Precision::Fp32, 1);
        LoadJob {
            engine: "fake".into(),
            request: LoadRequest { module, ..request },
            inputs: vec![],
            inputs_file: None,
            seed: 0,
            text: None,
            media: None,
            postprocess: Postprocess::None,
            training: None,
            generation: None,
        }
    }

    #[test]
    fn a_model_file_on_processors_needs_no_network_and_a_function_of_the_user_may() {
        assert!(!may_use_network(&job(Device::Cpu, None)));
        let archive = Module::Archive { path: "model.pt".into() };
        assert!(!may_use_network(&job(Device::Cpu, Some(archive))));
        let factory = Module::Factory { file: "mine.py".into(), function: "make".into() };
        assert!(may_use_network(&job(Device::Cpu, Some(factory))));
        assert!(may_use_network(&job(Device::Cuda(0), None)));
        assert!(!may_use_network(&job(Device::Wasm, None)));
    }

    #[test]
    fn a_thread_of_a_program_keeps_the_network() {
        let before = std::fs::read_link("/proc/self/ns/net").ok();
        leave_for(&job(Device::Cpu, None));
        assert_eq!(std::fs::read_link("/proc/self/ns/net").ok(), before);
    }
}
