use super::*;
use types::{CopyDirection, CopyMemory, GpuDevice};

/// One launch at 10 µs, its kernel from 20 to 60 µs, a copy from 70 to 80 µs, all inside a range of the program.
const KINETO: &str = include_str!("../../tests/fixtures/kineto.json");

/// The same as rocprofv3 writes it, by its documentation; no AMD GPU was at hand.
const ROCPROF: &str = include_str!("../../tests/fixtures/rocprof.json");

/// The same as an export of Nsight Systems; some columns of other versions are left out.
fn nsys(path: &Path) {
    let process = 9_i64 << 24;
    let thread = process | 9;
    let database = rusqlite::Connection::open(path).unwrap();
    let text = format!(
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
         INSERT INTO StringIds VALUES (1, 'void gemm<float>(float*)'), (2, 'cudaLaunchKernel_v7000'), (3, 'step');
         CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT, streamId INT,
          correlationId INT, globalPid INT, demangledName INT, shortName INT, gridX INT, gridY INT, gridZ INT, blockX INT,
          blockY INT, blockZ INT);
         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (20000, 60000, 0, 1, 7, 7, {process}, 1, 1, 4, 2, 1, 128, 1, 1);
         CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, contextId INT, streamId INT,
          correlationId INT, globalPid INT, bytes INT, copyKind INT, srcKind INT, dstKind INT);
         INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (70000, 80000, 0, 1, 7, 8, {process}, 4096, 1, 0, 2);
         CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, nameId INT);
         INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10000, 14500, {thread}, 7, 2);
         CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, textId INT, globalTid INT);
         INSERT INTO NVTX_EVENTS VALUES (5000, 55000, 59, NULL, 3, {thread}), (6000, NULL, 34, 'a mark', NULL, {thread});"
    );
    database.execute_batch(&text).unwrap();
}

fn device(path: &Path) -> GpuDevice {
    let (_, recordings) = foreign(path).unwrap();
    let profile = crate::analyse(&recordings, Vec::new());
    assert_eq!(profile.processes.len(), 1);
    assert_eq!((profile.processes[0].process, profile.processes[0].calls), (9, 1));
    profile.processes[0].devices[0].clone()
}

#[test]
fn three_tools_tell_the_same_of_the_same_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("kineto.json"), KINETO).unwrap();
    std::fs::write(path("rocprof.json"), ROCPROF).unwrap();
    nsys(&path("report.sqlite"));
    for name in ["kineto.json", "rocprof.json", "report.sqlite"] {
        let device = device(&path(name));
        let micros = |time: f64| (time * 1e6).round();
        assert_eq!((micros(device.window), micros(device.compute)), (60.0, 40.0), "{name}");
        assert_eq!((micros(device.copies), micros(device.idle)), (10.0, 10.0), "{name}");
        assert_eq!(
            (device.kernels[0].name.as_str(), device.kernels[0].count),
            ("gemm", 1),
            "{name}"
        );
        assert_eq!(
            (device.ranges[0].path.as_str(), device.ranges[0].kernels),
            ("step", 1),
            "{name}"
        );
        let copies = &device.copy_kinds[0];
        assert_eq!((copies.direction, copies.bytes), (CopyDirection::HostToDevice, 4096), "{name}");
        // Rocprofv3 does not say whether memory was pinned.
        let memory =
            if name == "rocprof.json" { CopyMemory::Unknown } else { CopyMemory::Pageable };
        assert_eq!((copies.from, copies.to), (memory, CopyMemory::Device), "{name}");
    }
}

#[test]
fn graphs_that_were_recorded_as_a_whole_spoil_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.sqlite");
    nsys(&path);
    let process = 9_i64 << 24;
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch(&format!(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INT, end INT, deviceId INT, graphId INT, globalPid INT);
             INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (100000, 1800000, 0, 1, {process}),
              (2000000, 3700000, 0, 1, {process});"
        ))
        .unwrap();
    let (_, recordings) = foreign(&path).unwrap();
    let profile = crate::analyse(&recordings, Vec::new());
    let problems = &profile.processes[0].problems;
    assert_eq!(problems.len(), 1);
    assert!(problems[0].text.contains("--cuda-graph-trace=node"), "{problems:?}");
    assert!(!profile.processes[0].is_valid());
}

#[test]
fn one_odd_event_does_not_refuse_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kineto.json");
    for odd in [
        r#"{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 9, "tid": 9, "ts": 1000009, "dur": 1, "args": null}"#,
        r#"{"ph": "X", "cat": "cpu_op", "name": null, "pid": 9, "tid": 9, "ts": 1000009, "args": [1, "two"]}"#,
        r#"{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 9, "tid": 9, "ts": 1000009, "args": {"correlation": -1}}"#,
        r#"{"ph": "X", "cat": "cpu_op", "name": "a", "pid": {}, "tid": 9, "ts": "soon", "dur": "long"}"#,
        r#"{"ph": 5, "cat": ["b"], "name": "a"}"#,
    ] {
        let text = KINETO.replacen('[', &format!("[{odd},"), 1);
        std::fs::write(&path, text.replace("\"device\": 0", "\"device\": \"cuda:0\"")).unwrap();
        let device = device(&path);
        assert_eq!((device.device, device.kernels[0].count), (0, 1), "{odd}");
        assert_eq!((device.window * 1e6).round(), 60.0, "{odd}");
    }
    // The list alone.
    let list = &KINETO[KINETO.find('[').unwrap()..=KINETO.rfind(']').unwrap()];
    std::fs::write(&path, list.replace("\"device\": 0", "\"device\": \"cuda:3\"")).unwrap();
    assert_eq!(device(&path).device, 3);
}

#[test]
fn what_is_no_recording_is_said_and_nothing_panics() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let refuse = |bytes: &[u8], words: &str| {
        std::fs::write(&path, bytes).unwrap();
        let error = foreign(&path).unwrap_err();
        let text = match &error {
            ForeignError::Unknown { why, .. } => why.clone(),
            other => other.to_string(),
        };
        assert!(text.contains(words), "{text}");
    };
    refuse(b"", "neither JSON nor SQLite");
    refuse(b"no recording", "neither JSON nor SQLite");
    refuse(b"\x1f\x8b\x08 packed", "gunzip");
    refuse(br#"{"traceEvents": []}"#, "no work of a GPU");
    refuse(b"{}", "without a list `traceEvents`");
    refuse(b"[]", "no work of a GPU");
    refuse(b"MMGPUREC and more of it", "give its folder");
    refuse(br#"{"rocprofiler-sdk-tool": [{}]}"#, "no work of a GPU");
    refuse(&KINETO.as_bytes()[..300], "no trace of PyTorch's profiler");
    refuse(&ROCPROF.as_bytes()[..300], "no file of rocprofv3");
    refuse(b"SQLite format 3\0 and then nothing of it", "no export of Nsight Systems");
    let other = folder.path().join("other.sqlite");
    rusqlite::Connection::open(&other).unwrap().execute_batch("CREATE TABLE a (b INT);").unwrap();
    let bytes = std::fs::read(&other).unwrap();
    refuse(&bytes, "no export of Nsight Systems");
    // Numbers that no tool writes.
    let odd = KINETO
        .replace("1000070.0", "-1e300")
        .replace("4096", "-5")
        .replace("\"dur\": 40", "\"dur\": -40");
    std::fs::write(&path, odd).unwrap();
    let _ = foreign(&path).map(|(_, recordings)| crate::analyse(&recordings, Vec::new()));
}
