//! Allocations come out equal to what went in, and a million of them are small.

use crate::{
    place::{Place, on_both},
    sample,
};
use modelmeter_store::StoreError;
use types::{Allocations, LayerName};

on_both!(
    a_million_allocations_take_at_most_20_megabytes,
    allocations_need_a_run_and_columns_that_fit,
);

/// Inferences of a model with this many layers: each allocates an activation, some scratch and frees what came before,
/// with clocks that jitter.
fn inferences(events: usize) -> Allocations {
    let names = (0..250).map(|layer| LayerName {
        name: format!("encoder.layer.{}.output.dense.MatMul", layer / 20),
        kind: "MatMul".into(),
    });
    let mut all = Allocations { names: names.collect(), ..Allocations::default() };
    let (mut time, mut noise) = (0u64, 7u64);
    let mut draw = |below: u64| {
        noise =
            noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (noise >> 33) % below
    };
    let mut live: Vec<(u64, i64)> = Vec::new();
    let mut next = 0;
    while all.len() < events {
        time += 40 + draw(30_000);
        let layer = (all.len() / 17) as u64 % 250;
        let frees = !live.is_empty() && (live.len() > 40 || draw(2) == 0);
        let (block, size) = if frees {
            let (block, size) = live.swap_remove(draw(live.len() as u64) as usize);
            (block, -size)
        } else {
            let size = 64 << draw(17);
            next = (next + 1) % 997;
            live.push((next, size));
            (next, size)
        };
        all.times.push(time);
        all.blocks.push(block);
        all.sizes.push(size);
        all.layers.push(layer);
        all.threads.push(1 + draw(2));
        if all.len().is_multiple_of(4250) {
            all.ends.push(all.len() as u64);
        }
    }
    all
}

fn a_million_allocations_take_at_most_20_megabytes(place: &Place) {
    let store = place.open();
    let run = sample::run(1);
    store.insert_run(&run).unwrap();
    assert_eq!(store.allocations(&run.id).unwrap(), None);
    let all = inferences(1_000_000);
    let size = || store.status().unwrap().size.0;
    let before = size();
    store.save_allocations(&run.id, &all).unwrap();
    store.vacuum().unwrap();
    let grown = size().saturating_sub(before);
    assert!(grown <= 20_000_000, "{grown} bytes");
    assert_eq!(store.allocations(&run.id).unwrap(), Some(all));
    let few = inferences(10);
    store.save_allocations(&run.id, &few).unwrap();
    assert_eq!(store.allocations(&run.id).unwrap(), Some(few), "the last ones count");
    store.delete(std::slice::from_ref(&run.id)).unwrap();
    assert_eq!(store.allocations(&run.id).unwrap(), None, "they go with their run");
}

fn allocations_need_a_run_and_columns_that_fit(place: &Place) {
    let store = place.open();
    let run = sample::run(1);
    assert!(store.save_allocations(&run.id, &inferences(10)).is_err(), "there is no such run");
    store.insert_run(&run).unwrap();
    let mut short = inferences(10);
    short.sizes.pop();
    let error = store.save_allocations(&run.id, &short).unwrap_err();
    assert!(matches!(error, StoreError::Unstorable { .. }), "{error}");
    assert_eq!(store.allocations(&run.id).unwrap(), None);
}
