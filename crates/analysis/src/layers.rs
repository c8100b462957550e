//! Time by layer on several sides, joined on the modules that all of them know.
//!
//! Sides cut a model differently: a framework times modules, a runtime times nodes and fuses some of them. A row is a
//! module in which every side has time of its own. What only some sides tell apart rolls up to the nearest such module
//! around it, and where there is none, to the nearest module that every side has anything in. Only what is left then is
//! unjoined.

use std::collections::{HashMap, HashSet};
use types::{
    LayerCell, LayerJoin, LayerProfile, LayerRow, LayerSide, LayerTime, Names, Phase, Pooling,
    Seconds, ancestry, common_module, module_of, step_path,
};

const NANOS: f64 = 1e9;

/// Joins profiles on their modules; ratios are compared with the first. Empty without profiles.
#[must_use]
pub fn join_layers(profiles: &[LayerProfile]) -> LayerJoin {
    let placed: Vec<Placed> = profiles.iter().map(Placed::of).collect();
    let own: Vec<HashSet<&str>> = placed.iter().map(Placed::modules).collect();
    let known: Vec<HashSet<&str>> = own
        .iter()
        .map(|modules| modules.iter().flat_map(|module| ancestry(module)).collect())
        .collect();
    let in_all = |sets: &[HashSet<&str>], module: &str| sets.iter().all(|set| set.contains(module));
    let key = |module: &str| -> Option<String> {
        let own = ancestry(module).find(|module| in_all(&own, module));
        own.or_else(|| ancestry(module).find(|module| in_all(&known, module))).map(str::to_owned)
    };
    let mut rows: Vec<(String, Vec<f64>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut unjoined = vec![0.0; placed.len()];
    for (side, profile) in placed.iter().enumerate() {
        for (module, seconds) in &profile.times {
            match key(module) {
                Some(key) => {
                    let place = *places.entry(key.clone()).or_insert_with(|| {
                        rows.push((key, vec![0.0; placed.len()]));
                        rows.len() - 1
                    });
                    rows[place].1[side] += seconds;
                }
                None => unjoined[side] += seconds,
            }
        }
    }
    let totals: Vec<f64> = placed.iter().map(Placed::total).collect();
    let sides = placed.iter().enumerate().map(|(at, side)| {
        let joined = rows.iter().map(|(_, times)| times[at]).sum();
        LayerSide {
            label: side.label.clone(),
            total: Seconds(totals[at] + 0.0),
            outside: Seconds(side.outside),
            joined: LayerCell::new(joined, totals[at]),
            unjoined: LayerCell::new(unjoined[at], totals[at]),
            placed: LayerCell::new(side.by_neighbours, totals[at]).share,
            cost: profiles[at].cost,
        }
    });
    let sides = sides.collect();
    let row = |(path, times): (String, Vec<f64>)| LayerRow::new(path, 1, &times, &totals);
    LayerJoin { sides, rows: rows.into_iter().map(row).collect(), pooling: Pooling::default() }
}

/// A profile whose times stand beside their modules, in seconds of one inference.
struct Placed {
    label: String,
    times: Vec<(String, f64)>,
    outside: f64,
    by_neighbours: f64,
}

impl Placed {
    fn of(profile: &LayerProfile) -> Placed {
        let runs = profile.runs.max(1) as f64;
        let seconds = |nanos: u64| nanos as f64 / NANOS / runs;
        let (modules, found) = place(&profile.layers);
        let by_neighbours = found.iter().map(|at| seconds(profile.layers[*at].nanos)).sum();
        let times = profile.layers.iter().map(|layer| seconds(layer.nanos));
        let times = modules.into_iter().zip(times).collect();
        let label = profile.label.clone();
        Placed { label, times, outside: seconds(profile.total_nanos), by_neighbours }
    }

    /// The modules that have time of their own.
    fn modules(&self) -> HashSet<&str> {
        let own =
            self.times.iter().filter(|(module, seconds)| !module.is_empty() && *seconds > 0.0);
        own.map(|(module, _)| module.as_str()).collect()
    }

    fn total(&self) -> f64 {
        self.times.iter().map(|(_, seconds)| seconds).sum()
    }
}

/// The module of every node or module, and which of them were placed by their neighbours.
pub(crate) fn place(layers: &[LayerTime]) -> (Vec<String>, Vec<usize>) {
    let names = Names::of(layers);
    let mut modules: Vec<String> =
        layers.iter().map(|layer| module_of(&layer.path, &layer.kind, names)).collect();
    let mut placed = Vec::new();
    // What runs before the backward pass is no neighbour of what runs in it.
    for phase in phases(layers) {
        let of_phase: Vec<usize> =
            (0..layers.len()).filter(|at| layers[*at].phase == phase).collect();
        let own: Vec<String> = of_phase.iter().map(|at| modules[*at].clone()).collect();
        for (place, module) in neighbours(&own) {
            modules[of_phase[place]] = module;
            placed.push(of_phase[place]);
        }
        if let Some(phase) = phase {
            of_phase.iter().for_each(|at| modules[*at] = step_path(phase, &modules[*at]));
        }
    }
    (modules, placed)
}

/// The parts of a step that were seen, each once; one `None` for inferences.
fn phases(layers: &[LayerTime]) -> Vec<Option<Phase>> {
    let mut phases: Vec<Option<Phase>> = Vec::new();
    for layer in layers {
        if !phases.contains(&layer.phase) {
            phases.push(layer.phase);
        }
    }
    phases
}

/// Modules for nodes whose name says none: the innermost that the nodes before and after, which have one, both lie in.
///
/// A runtime that fuses nodes may give the result a name of its own (`BiasGelu_token_12`), but it still runs between its
/// neighbours. What comes before the first or after the last that has a module stays without, as a framework's outermost
/// module does.
fn neighbours(modules: &[String]) -> Vec<(usize, String)> {
    let named = |&at: &usize| !modules[at].is_empty();
    let place = |at: usize| {
        let before = (0..at).rev().find(named)?;
        let after = (at + 1..modules.len()).find(named)?;
        let module = common_module(&modules[before], &modules[after]);
        (!module.is_empty()).then(|| (at, module.to_owned()))
    };
    (0..modules.len()).filter(|at| !named(at)).filter_map(place).collect()
}
