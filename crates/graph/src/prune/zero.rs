//! Single numbers set to zero: the graph stays as it is.

use super::{
    PruneError, PruneMethod, PruneOptions, Pruning, Target,
    mask::{Factors, Mask},
    select::{Scored, Threshold, each_alone, thresholds},
    targets::{Candidate, choose, left_whole, not_zeroed},
};
use crate::{
    Model, Plan, Report, count_nonzeros,
    precision::{Made, Recast, with_constants_as_weights},
};
use std::collections::HashMap;
use types::{Precision, Remark, RemarkCode};

/// Plans which numbers of which weights become zero.
pub(super) fn plan<'m>(
    source: &'m Model,
    options: &PruneOptions,
) -> Result<Pruning<'m>, PruneError> {
    let model = with_constants_as_weights(source);
    let mut chosen = choose(&model, options)?;
    let mut remarks = Vec::new();
    if let PruneMethod::Groups { of, .. } = options.method {
        keep_grouped(&mut chosen, of, &mut remarks)?;
    }
    let bytes = chosen
        .iter()
        .map(|one| {
            let name = one.tensor.name.clone();
            source.bytes(&one.tensor).map_err(|source| PruneError::Read { name, source })
        })
        .collect::<Result<Vec<_>, _>>()?;
    let mut targets: Vec<Target> = chosen
        .iter()
        .zip(&bytes)
        .map(|(one, bytes)| {
            let numbers = one.tensor.elements() as u64;
            let zeros = numbers - count_nonzeros(one.tensor.dtype, bytes);
            let label = one.label.clone();
            Target { tensor: one.tensor.name.clone(), label, numbers, zeros, wanted: 0 }
        })
        .collect();
    let masks = masks(&chosen, &bytes, &mut targets, options);
    refuse_pruned(&targets)?;
    let masks: HashMap<&str, Mask> =
        chosen.iter().map(|one| one.tensor.name.as_str()).zip(masks).collect();
    let made =
        model.graph.initializers.iter().map(|tensor| match masks.get(tensor.name.as_str()) {
            Some(mask) => Made { recast: Recast::Zero(mask.clone()), ..Made::kept(tensor) },
            None => Made::kept(tensor),
        });
    let made = made.collect();
    // Whoever names layers knows what is left.
    if options.layers.is_empty() && options.exclude.is_empty() {
        let is_pruned = |name: &str| masks.contains_key(name);
        remarks.extend(left_whole(&model, &is_pruned, &not_zeroed));
    }
    let plan = Plan::new(source, model, made, Report::new(Precision::Fp32))?;
    Ok(Pruning { plan, targets, blocks: Vec::new(), uniform: Vec::new(), remarks })
}

/// Only matrices have groups, and only where the sum has enough numbers for one.
fn keep_grouped(
    chosen: &mut Vec<Candidate>,
    of: usize,
    remarks: &mut Vec<Remark>,
) -> Result<(), PruneError> {
    let fits = |one: &Candidate| {
        let summed = one.summed.filter(|_| one.tensor.dims.len() == 2);
        summed.is_some_and(|axis| one.tensor.dims[axis].is_multiple_of(of))
    };
    let left: Vec<String> =
        chosen.iter().filter(|one| !fits(one)).map(|one| format!("`{}`", one.label)).collect();
    chosen.retain(fits);
    if chosen.is_empty() {
        let why = format!("no weight is a matrix whose sums have a multiple of {of} numbers");
        return Err(PruneError::Nothing { why });
    }
    if let [first, rest @ ..] = left.as_slice() {
        let others =
            if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        remarks.push(Remark::new(
            RemarkCode::NotPruned,
            format!("not pruned, because groups of {of} do not fill it: {first}{others}"),
        ));
    }
    Ok(())
}

fn masks(
    chosen: &[Candidate],
    bytes: &[bytes::Bytes],
    targets: &mut [Target],
    options: &PruneOptions,
) -> Vec<Mask> {
    let count = |numbers: u64| (numbers as f64 * options.sparsity).round() as u64;
    let scored: Vec<Scored<'_>> = chosen
        .iter()
        .zip(bytes)
        .map(|(one, bytes)| Scored {
            bytes,
            columns: one.tensor.dims.last().copied().unwrap_or(1),
            factors: factors(one, options),
        })
        .collect();
    let below = |threshold: Threshold, part: &Scored<'_>| Mask::Below {
        threshold,
        factors: part.factors.clone(),
    };
    match options.method {
        PruneMethod::GlobalMagnitude => {
            let wanted = count(targets.iter().map(|target| target.numbers).sum());
            let found = thresholds(&scored, wanted);
            let all = targets.iter().map(|target| target.numbers).sum::<u64>().max(1);
            for target in targets.iter_mut() {
                // What each loses is seen when it is made; the share is that of all.
                target.wanted = (target.numbers as f64 * wanted as f64 / all as f64) as u64;
            }
            found.into_iter().zip(&scored).map(|(found, part)| below(found, part)).collect()
        }
        PruneMethod::Random => chosen
            .iter()
            .zip(targets)
            .map(|(one, target)| {
                target.wanted = count(target.numbers);
                let seed = seed_of(&one.tensor.name, options.seed);
                Mask::Random { seed, zeroed: target.wanted }
            })
            .collect(),
        PruneMethod::Groups { keep, of } => chosen
            .iter()
            .zip(targets)
            .map(|(one, target)| {
                target.wanted = target.numbers / of as u64 * (of - keep) as u64;
                Mask::Groups { keep, of, along: one.summed.unwrap_or(0) }
            })
            .collect(),
        PruneMethod::Magnitude | PruneMethod::Structured => {
            targets.iter_mut().for_each(|target| target.wanted = count(target.numbers));
            let wanted: Vec<u64> = targets.iter().map(|target| target.wanted).collect();
            let found = each_alone(&scored, &wanted);
            found.into_iter().zip(&scored).map(|(found, part)| below(found, part)).collect()
        }
    }
}

/// By how much a weight's numbers count: as much as the channel that they are multiplied with is strong.
fn factors(one: &Candidate, options: &PruneOptions) -> Factors {
    let Some((summed, scale)) = one
        .summed
        .zip(one.activation.as_ref().and_then(|activation| options.scales.get(activation)))
        .filter(|(summed, scale)| {
            one.tensor.dims.len() == 2 && one.tensor.dims[*summed] == scale.len()
        })
    else {
        return Factors::One;
    };
    let scale: std::sync::Arc<[f32]> = scale.as_slice().into();
    if summed == 0 { Factors::Rows(scale) } else { Factors::Columns(scale) }
}

/// A model that has as many zeros already would come out as it went in.
fn refuse_pruned(targets: &[Target]) -> Result<(), PruneError> {
    let sum = |of: fn(&Target) -> u64| targets.iter().map(of).sum::<u64>();
    let (numbers, zeros, wanted) = (sum(|t| t.numbers), sum(|t| t.zeros), sum(|t| t.wanted));
    if wanted > 0 && zeros >= wanted {
        let share = |count: u64| count as f64 / numbers.max(1) as f64;
        return Err(PruneError::AlreadySparse { share: share(zeros), asked: share(wanted) });
    }
    Ok(())
}

/// A weight's own seed, so that neither order nor neighbours change what is drawn.
fn seed_of(name: &str, seed: u64) -> u64 {
    types::stable_hash(name.bytes().chain(seed.to_le_bytes()))
}
