//! However a browser ends: the error says so, and no process stays.

use crate::{alone, dense, input, load, write};
use std::{fs, thread, time::Duration};
use types::Device;

/// The processes that this one started and that they started, with their command lines.
fn started() -> Vec<(i32, String)> {
    let parent_of = |pid: i32| -> Option<i32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        (fields.next()? != "Z").then(|| fields.next()?.parse().ok()).flatten()
    };
    let own = std::process::id() as i32;
    let is_ours = |mut pid: i32| {
        while let Some(parent) = parent_of(pid) {
            if parent == own {
                return true;
            }
            pid = parent;
        }
        false
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|pid| is_ours(*pid))
        .map(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            (pid, String::from_utf8_lossy(&line).replace('\0', " "))
        })
        .collect()
}

fn end(pid: i32) {
    // SAFETY: kill takes two numbers; the process is one that this test has started.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

fn wait_until_nothing_runs() {
    for _ in 0..100 {
        if started().is_empty() {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("still there: {:?}", started());
}

fn ends_with(kind: &str, said: &str) {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let onnx = write(folder.path(), &dense());
    let model = load(&onnx, Device::Wasm).unwrap();
    let mut session = model.session().unwrap();
    session.bind(&input()).unwrap();
    session.infer().unwrap();
    let processes = started();
    let victim = processes.iter().find(|(_, line)| match kind {
        "" => !line.contains("--type="),
        kind => line.contains(kind),
    });
    end(victim.unwrap_or_else(|| panic!("no {kind} in {processes:?}")).0);
    let error = loop {
        // What was under way may still be answered.
        if let Err(error) = session.infer() {
            break error;
        }
    };
    assert!(error.to_string().contains(said), "{error}");
    drop(session);
    drop(model);
    wait_until_nothing_runs();
}

#[test]
fn a_killed_renderer_is_an_error_and_leaves_nothing() {
    ends_with("--type=renderer", "the page crashed");
}

#[test]
fn a_killed_browser_is_an_error_and_leaves_nothing() {
    ends_with("", "the browser ended");
}
