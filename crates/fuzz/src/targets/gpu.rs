//! Recordings of programs on GPUs: files that a program, or anybody, has written.

use crate::{
    Outcome, Random, Target, mutate,
    target::{ROOM, Reader},
};
use gpu::Recording;
use gpu_inject::format::{BLOCK_HEAD, HEAD, checksum};

/// Recordings.
pub(crate) const RECORDING: Target = Target {
    name: "gpu-recording",
    what: "recordings of programs on GPUs",
    one_of: 1,
    room: ROOM,
    seeds: || vec![include_bytes!("../../../gpu/tests/fixtures/h200-graph.mmgpu").to_vec()],
    mutate: damage,
    open: || -> Reader {
        Box::new(|bytes| {
            let Some(recording) = Recording::read(bytes) else { return Outcome::Refused };
            let is_whole = recording.is_whole();
            for run in recording.parted_runs() {
                let parts: u64 = run.parts.values().map(|part| part.device).sum();
                assert!(parts == run.busy && run.busy <= run.length, "{run:?}");
            }
            let _ = recording.last_turn(|number| Some(number.to_string()));
            let profile = gpu::analyse(std::slice::from_ref(&recording), Vec::new());
            hold(&profile);
            let (timeline, _) = gpu::timeline(&[recording]);
            let tracks = timeline.tracks.len() as u32;
            assert!(timeline.spans.iter().all(|span| span.track < tracks));
            if is_whole { Outcome::Accepted } else { Outcome::Refused }
        })
    },
    expected: &[],
};

/// Files of other profilers.
pub(crate) const FOREIGN: Target = Target {
    name: "gpu-foreign",
    what: "traces of PyTorch's profiler and of rocprofv3",
    one_of: 1,
    room: ROOM,
    seeds: || {
        vec![
            include_bytes!("../../../gpu/tests/fixtures/kineto.json").to_vec(),
            include_bytes!("../../../gpu/tests/fixtures/rocprof.json").to_vec(),
        ]
    },
    mutate: mutate::json,
    open: || -> Reader {
        Box::new(|bytes| {
            let Ok((_, recordings)) = gpu::foreign_text(bytes) else { return Outcome::Refused };
            hold(&gpu::analyse(&recordings, Vec::new()));
            let (timeline, _) = gpu::timeline(&recordings);
            let tracks = timeline.tracks.len() as u32;
            assert!(timeline.spans.iter().all(|span| span.track < tracks));
            Outcome::Accepted
        })
    },
    expected: &[],
};

/// What holds of every profile, whoever wrote the records.
fn hold(profile: &types::GpuProfile) {
    for device in profile.processes.iter().flat_map(|process| &process.devices) {
        let sum = device.compute + device.communication + device.copies + device.idle;
        assert!((sum - device.window).abs() <= device.window * 1e-9 + 1e-9, "{sum}");
        assert!(device.busy.iter().all(|share| (0.0..=1.0).contains(share)));
        let gaps: f64 = device.gaps.iter().map(|gap| gap.time).sum();
        assert!((gaps - device.idle).abs() <= device.idle * 1e-9 + 1e-9, "{gaps}");
    }
}

/// Blocks whose content is damaged under a correct checksum; sometimes any byte.
fn damage(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let Some(seed) = random.pick(seeds).cloned() else { return Vec::new() };
    if random.percent(10) {
        return mutate::bytes(random, seeds);
    }
    let mut blocks = blocks(&seed);
    for _ in 0..random.changes() {
        if blocks.is_empty() {
            break;
        }
        let at = random.below(blocks.len());
        match random.below(8) {
            0 => drop(blocks.remove(at)),
            1 => blocks.push(blocks[at].clone()),
            2 => {
                let other = random.below(blocks.len());
                blocks.swap(at, other);
            }
            3 => blocks[at][random.below(8)] ^= 1 << random.below(8),
            _ => {
                let content = blocks[at].len() - BLOCK_HEAD;
                if content > 0 {
                    let place = BLOCK_HEAD + random.below(content);
                    blocks[at][place] = random.number() as u8;
                }
            }
        }
    }
    let mut bytes = seed[..HEAD].to_vec();
    for mut block in blocks {
        let sum = checksum(&block[BLOCK_HEAD..]);
        block[12..16].copy_from_slice(&sum.to_le_bytes());
        bytes.extend_from_slice(&block);
    }
    bytes
}

/// The blocks of a whole file, each with its head.
fn blocks(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = &bytes[HEAD..];
    let mut blocks = Vec::new();
    while rest.len() >= BLOCK_HEAD {
        let length = u32::from_le_bytes([rest[8], rest[9], rest[10], rest[11]]) as usize;
        let (block, after) = rest.split_at((BLOCK_HEAD + length).min(rest.len()));
        blocks.push(block.to_vec());
        rest = after;
    }
    blocks
}
