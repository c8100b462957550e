use super::*;
use gpu_inject::format::{HEAD, MAGIC, VERSION, put, put_block};

fn head() -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&0_u32.to_le_bytes());
    bytes
}

fn texts() -> Vec<u8> {
    let mut content = Vec::new();
    for (number, text) in [(1_u64, "gemm"), (2, "copy")] {
        put(&mut content, number);
        put(&mut content, text.len() as u64);
        content.extend_from_slice(text.as_bytes());
    }
    content
}

#[test]
fn a_file_of_another_kind_or_version_is_no_recording() {
    assert!(Recording::read(b"").is_none());
    assert!(Recording::read(b"MMGPUREC").is_none());
    assert!(Recording::read(&[0; 64]).is_none());
    let mut newer = head();
    newer[8] = 9;
    assert!(Recording::read(&newer).is_none());
    assert_eq!(head().len(), HEAD);
}

#[test]
fn a_file_that_was_cut_anywhere_is_good_up_to_its_last_whole_block() {
    let mut bytes = head();
    put_block(&mut bytes, gpu_inject::format::Kind::Texts, 2, &texts());
    let whole = bytes.len();
    put_block(&mut bytes, gpu_inject::format::Kind::End, 1, &[1, 0, 0]);
    for length in HEAD..bytes.len() {
        let recording = Recording::read(&bytes[..length]).unwrap();
        assert_eq!(recording.texts.len(), if length >= whole { 3 } else { 1 }, "{length}");
        assert_eq!(recording.problems.len(), 1, "{length}");
        assert_eq!(recording.problems[0].kind, GpuProblemKind::Killed);
    }
    let recording = Recording::read(&bytes).unwrap();
    assert!(recording.problems.is_empty());
    assert_eq!(recording.text(1), "gemm");
}

#[test]
fn a_number_that_leaves_a_gap_is_damage() {
    let mut content = Vec::new();
    put(&mut content, 1 << 40);
    put(&mut content, 1);
    content.push(b'a');
    let mut bytes = head();
    put_block(&mut bytes, gpu_inject::format::Kind::Texts, 1, &content);
    let recording = Recording::read(&bytes).unwrap();
    assert_eq!(recording.texts.len(), 1);
    assert_eq!(recording.problems.len(), 1);
}

#[test]
fn a_recording_that_reached_its_limit_was_not_killed() {
    let mut content = Vec::new();
    put(&mut content, 6);
    content.extend_from_slice(b"1000");
    let mut bytes = head();
    put_block(&mut bytes, gpu_inject::format::Kind::Troubles, 1, &content);
    let recording = Recording::read(&bytes).unwrap();
    let kinds: Vec<GpuProblemKind> = recording.problems.iter().map(|one| one.kind).collect();
    assert_eq!(kinds, [GpuProblemKind::Full]);
}

#[test]
fn a_disk_that_was_full_is_said() {
    let mut bytes = head();
    bytes[12..16].copy_from_slice(&28_i32.to_le_bytes());
    let recording = Recording::read(&bytes).unwrap();
    assert_eq!(recording.problems[0].kind, GpuProblemKind::Unwritten);
    assert!(recording.problems[0].text.contains("No space left"), "{:?}", recording.problems);
}
