//! Runs the model before and after on the same inputs and holds their answers against each other.

use crate::{
    Error, Profiler,
    first_divergence::{Seen, look_inside},
    prepare::{self, Prepared},
    scratch::{Scratch, output_bytes},
    worker,
};
use analysis::proof::{drifts, pool, similarities};
use types::{Drift, Event, OutputDrift, Postprocess, Similarity};

/// How far the answers moved, layer by layer.
pub(super) fn drift(
    before: &Profiler,
    after: &Profiler,
    sink: &mut dyn FnMut(Event),
) -> Result<Drift, Error> {
    let mut look = |side: &Profiler| -> Result<(Prepared, Seen), Error> {
        let ready = prepare::prepare(side, sink)?;
        let launch = worker::launch_for(side, ready.engine)?;
        let folder = Scratch::make("the outputs of every layer", output_bytes(&ready))?;
        let seen = look_inside(&ready, &launch, side.rule.timeout, folder.path())?;
        Ok((ready, seen))
    };
    let (ready, first) = look(before)?;
    let (_, second) = look(after)?;
    let layers: Vec<OutputDrift> = drifts(&first.modules, &second.modules)
        .into_iter()
        .filter(|one| one.cosine.is_some())
        .map(|one| OutputDrift { top1: None, ..one })
        .collect();
    Ok(Drift {
        engine: ready.cell.engine.clone(),
        samples: ready.cell.batch_size,
        given: ready.cell.text.is_some(),
        outputs: drifts(&first.outputs, &second.outputs),
        layers,
        similarities: alike(&ready, &first, &second).unwrap_or_default(),
    })
}

/// How alike the texts are to the model, where it makes sentence vectors.
fn alike(ready: &Prepared, before: &Seen, after: &Seen) -> Option<Vec<Similarity>> {
    if ready.resolved().postprocess != Postprocess::MeanPool {
        return None;
    }
    let text = ready.cell.text.as_ref()?;
    let tokeniser = ready.resolved().tokeniser().ok()?;
    let length = ready.cell.sequence_length;
    let encoded = tokeniser.encode(&text.lines, ready.cell.batch_size, length).ok()?;
    let pooled = |seen: &Seen| seen.outputs.iter().find_map(|output| pool(output, &encoded.mask));
    Some(similarities(&text.lines, &pooled(before)?, &pooled(after)?))
}
