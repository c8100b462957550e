//! The tracking allocator against scripts whose allocations are known.
//!
//! Other tests run beside these, so every script uses sizes that nobody else asks for.

use modelmeter_probe::{Recording, TrackerError};
use std::{
    hint::black_box,
    sync::{Mutex, PoisonError, mpsc},
    thread,
};
use types::{AllocationEvent, Recorded};

/// One recording at a time; the tests of this file wait for each other.
static TURN: Mutex<()> = Mutex::new(());

fn record(room: usize, mark: fn() -> u64, work: impl FnOnce()) -> Recorded {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let recording = Recording::start(room, mark).unwrap();
    work();
    recording.stop()
}

/// The events of blocks with one of these sizes, in their order.
fn of_sizes(recorded: &Recorded, sizes: &[i64]) -> Vec<AllocationEvent> {
    let wanted = |event: &&AllocationEvent| sizes.contains(&event.bytes.abs());
    recorded.events.iter().filter(wanted).copied().collect()
}

const ROOM: usize = 1 << 20;

#[test]
fn a_script_of_vectors_is_recorded_exactly() {
    let recorded = record(
        ROOM,
        || 7,
        || {
            let mut grown: Vec<u8> = black_box(Vec::with_capacity(100_003));
            grown.reserve_exact(200_003);
            let zeroed = black_box(vec![0u8; 300_007]);
            drop(grown);
            drop(zeroed);
        },
    );
    let events = of_sizes(&recorded, &[100_003, 200_003, 300_007]);
    let sizes: Vec<i64> = events.iter().map(|event| event.bytes).collect();
    // Growing is a free and an allocation.
    assert_eq!(sizes, [100_003, -100_003, 200_003, 300_007, -200_003, -300_007]);
    assert_eq!(events[0].address, events[1].address);
    assert_eq!(events[2].address, events[4].address);
    assert_eq!(events[3].address, events[5].address);
    assert!(events.iter().all(|event| event.mark == 7 && event.thread == events[0].thread));
    assert!(events.is_sorted_by_key(|event| event.at));
    assert_eq!(recorded.dropped, 0);
}

#[test]
fn a_block_freed_by_another_thread_is_the_same_block() {
    let (give, take) = mpsc::channel::<Vec<u8>>();
    let other = thread::spawn(move || take.recv().unwrap().len());
    let recorded = record(
        ROOM,
        || 0,
        || {
            give.send(black_box(vec![1u8; 400_009])).unwrap();
            assert_eq!(other.join().unwrap(), 400_009);
        },
    );
    let events = of_sizes(&recorded, &[400_009]);
    let [made, freed] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((made.bytes, freed.bytes), (400_009, -400_009));
    assert_eq!(made.address, freed.address);
    assert_ne!(made.thread, freed.thread);
}

#[test]
fn several_threads_lose_nothing() {
    const EACH: usize = 5000;
    let recorded = record(
        ROOM,
        || 0,
        || {
            thread::scope(|scope| {
                for size in [601, 607, 613, 617] {
                    scope.spawn(move || {
                        for _ in 0..EACH {
                            drop(black_box(vec![1u8; size * 64]));
                        }
                    });
                }
            });
        },
    );
    for size in [601, 607, 613, 617] {
        let events = of_sizes(&recorded, &[size * 64]);
        assert_eq!(events.len(), 2 * EACH, "{size}");
        assert!(events.chunks(2).all(|pair| pair[0].bytes == -pair[1].bytes), "{size}");
    }
}

#[test]
fn nothing_is_recorded_before_and_after() {
    let before = black_box(vec![1u8; 500_009]);
    let recorded = record(
        ROOM,
        || 0,
        || {
            drop(black_box(vec![1u8; 500_029]));
        },
    );
    drop(black_box(vec![1u8; 500_041]));
    drop(before);
    let sizes: Vec<i64> =
        of_sizes(&recorded, &[500_009, 500_029, 500_041]).iter().map(|event| event.bytes).collect();
    assert_eq!(sizes, [500_029, -500_029]);
}

#[test]
fn what_finds_no_room_is_counted() {
    let recorded = record(
        10,
        || 0,
        || {
            for _ in 0..100 {
                drop(black_box(vec![1u8; 700_001]));
            }
        },
    );
    assert_eq!(recorded.events.len(), 10);
    assert!(recorded.dropped >= 190, "{}", recorded.dropped);
}

#[test]
fn one_recording_goes_on_at_a_time() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let recording = Recording::start(ROOM, || 0).unwrap();
    assert_eq!(Recording::start(ROOM, || 0).err(), Some(TrackerError::Busy));
    drop(recording);
    let again = Recording::start(ROOM, || 0).unwrap();
    assert!(again.count() > 0);
}
