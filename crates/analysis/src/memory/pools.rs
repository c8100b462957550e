//! The same place in every layer put together: what it allocated, and what a training step holds there.

use types::{Bytes, LayerMemory, ModuleMemory, TrainingMemory, pooled_path};

/// Layers that are the same place, the path with `*` for every number.
#[must_use]
pub fn pool_layer_memory(layers: &[LayerMemory]) -> Vec<LayerMemory> {
    let mut pools: Vec<LayerMemory> = Vec::new();
    for layer in layers {
        let path = pooled_path(&layer.path);
        match pools.iter_mut().find(|pool| pool.path == path) {
            Some(pool) => add(pool, layer),
            None => pools.push(LayerMemory { path, ..layer.clone() }),
        }
    }
    pools.sort_by_key(|pool| std::cmp::Reverse((pool.at_peak, pool.allocated)));
    pools
}

/// All of them together; without a path.
#[must_use]
pub fn layer_memory_sum(layers: &[LayerMemory]) -> LayerMemory {
    let nothing =
        LayerMemory { path: String::new(), at_peak: Bytes(0), allocated: Bytes(0), count: 0 };
    layers.iter().fold(nothing, |mut sum, layer| {
        add(&mut sum, layer);
        sum
    })
}

fn add(sum: &mut LayerMemory, layer: &LayerMemory) {
    sum.at_peak = sum.at_peak.saturating_add(layer.at_peak);
    sum.allocated = sum.allocated.saturating_add(layer.allocated);
    sum.count += layer.count;
}

/// Modules that are the same place, those that hold the most first.
#[must_use]
pub fn pool_step_memory(modules: &[ModuleMemory]) -> Vec<ModuleMemory> {
    let mut pools: Vec<ModuleMemory> = Vec::new();
    for module in modules {
        let path = pooled_path(&module.path);
        match pools.iter_mut().find(|pool| pool.path == path) {
            Some(pool) => pool.held = pool.held.plus(module.held),
            None => pools.push(ModuleMemory { path, held: module.held }),
        }
    }
    pools.sort_by_key(|pool| std::cmp::Reverse(pool.held.all()));
    pools
}

/// What all of them hold together.
#[must_use]
pub fn step_memory_sum(modules: &[ModuleMemory]) -> TrainingMemory {
    modules.iter().fold(TrainingMemory::default(), |sum, module| sum.plus(module.held))
}
