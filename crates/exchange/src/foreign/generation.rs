//! Text generation in optimum-benchmark: three of its faults are here.

use super::{mean, median, optimum, same};
use crate::{Problem, draft::Draft, node::Node};
use types::Phase;

type Taken<T> = Result<T, Problem>;

/// The run is the whole generation; prefill, decode and the single token stand beside it as metrics.
pub(super) fn generate(
    draft: &mut Draft,
    report: &Node<'_>,
    config: Option<&Node<'_>>,
) -> Taken<()> {
    let target = report.need("generate")?;
    let values = optimum::latencies(&target)?;
    if values.is_empty() {
        return Err(target.complain("has no latency; run it with `scenario.latency=true`"));
    }
    draft.sample(Phase::Inference, &values);
    let prefill = part(draft, report, "prefill")?;
    part(draft, report, "decode")?;
    if let Some(first) = report.maybe("first_generate")
        && let Some(stated) = optimum::latencies(&first)?.first()
    {
        let why = "optimum-benchmark runs a whole generation before it times the first one, so it is not cold";
        draft.correct("cold.first_inference", *stated, None, why);
    }
    if draft.batch_size.is_none()
        && let (Some(prefill), Some(node)) = (prefill, report.maybe("prefill"))
        && let Some(rate) = optimum::throughput(&node)?
    {
        draft.batch_size = Some((rate * prefill).round() as u64).filter(|batch| *batch > 0);
    }
    samples_a_second(draft, &target, mean(&values))?;
    let decode = report.maybe("decode");
    if let Some(rate) = decode.map(|decode| optimum::throughput(&decode)).transpose()?.flatten() {
        draft.rate("throughput.tokens", rate);
    }
    per_token(draft, report, values.len())?;
    new_tokens(draft, config)?;
    optimum::memory(draft, &target)
}

/// The median of a part, as a metric; its mean for the caller.
fn part(draft: &mut Draft, report: &Node<'_>, name: &str) -> Taken<Option<f64>> {
    let Some(target) = report.maybe(name) else { return Ok(None) };
    let values = optimum::latencies(&target)?;
    if values.is_empty() {
        return Ok(None);
    }
    draft.time(&format!("{name}.latency"), median(&values));
    Ok(Some(mean(&values)))
}

/// Where single tokens are timed, the rate is of tokens but called one of samples.
fn samples_a_second(draft: &mut Draft, target: &Node<'_>, mean: f64) -> Taken<()> {
    let stated = optimum::throughput(target)?;
    match (draft.batch_size, stated) {
        (Some(batch), stated) => {
            let rate = batch as f64 / mean;
            draft.rate("throughput.samples", rate);
            if let Some(stated) = stated.filter(|stated| !same(*stated, rate)) {
                let why = "optimum-benchmark counts generated tokens here and calls them samples";
                draft.correct("throughput.samples", stated, Some(rate), why);
            }
        }
        (None, Some(stated)) => {
            let why = "it is in tokens or samples per second; the batch size, which would decide, is not in the file";
            draft.correct("throughput.samples", stated, None, why);
        }
        (None, None) => {}
    }
    Ok(())
}

/// The list of token times repeats: after every generation all tokens of the session are added again, with the pause
/// between two generations as one more token.
fn per_token(draft: &mut Draft, report: &Node<'_>, generations: usize) -> Taken<()> {
    let Some(target) = report.maybe("per_token") else { return Ok(()) };
    let values = optimum::latencies(&target)?;
    if values.is_empty() {
        return Ok(());
    }
    let stated = median(&values);
    let own = last_pass(&values, generations);
    let right = own.as_deref().map_or(stated, median);
    draft.time("per_token.latency", right);
    if own.is_some_and(|own| own.len() != values.len()) {
        let why = "optimum-benchmark adds the tokens of earlier generations again, and the pauses between them";
        draft.correct("per_token.latency", stated, Some(right), why);
    }
    Ok(())
}

/// The times of every token once; `None` if the list is not of that making.
///
/// With `n` tokens a generation the k-th pass adds `k·n − 1` times; the last pass holds them all, and every n-th of it is a
/// pause.
fn last_pass(values: &[f64], generations: usize) -> Option<Vec<f64>> {
    let doubled = 2 * (values.len() + generations);
    let passes = generations * (generations + 1);
    if generations == 0 || !doubled.is_multiple_of(passes) {
        return None;
    }
    let tokens = doubled / passes;
    let last = values.len().checked_sub((generations * tokens).checked_sub(1)?)?;
    let is_token = |(at, _): &(usize, &f64)| (at + 1) % tokens != 0;
    Some(values[last..].iter().enumerate().filter(is_token).map(|(_, value)| *value).collect())
}

/// How many tokens were asked for, since it changes the numbers.
fn new_tokens(draft: &mut Draft, config: Option<&Node<'_>>) -> Taken<()> {
    let arguments = config.and_then(|config| config.maybe("scenario")?.maybe("generate_kwargs"));
    if let Some(count) =
        arguments.map(|node| node.whole_of("max_new_tokens")).transpose()?.flatten()
    {
        draft.options.settings.insert("new_tokens".into(), count.to_string());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_times_are_taken_once_and_pauses_left_out() {
        // Three generations of four tokens: times 1, 2, 3, then a pause of 90, and so on.
        let all = [1.0, 2.0, 3.0, 90.0, 4.0, 5.0, 6.0, 91.0, 7.0, 8.0, 9.0];
        let values: Vec<f64> = [&all[..3], &all[..7], &all[..]].concat();
        let own: Vec<f64> = (1..=9).map(f64::from).collect();
        assert_eq!(last_pass(&values, 3), Some(own));
        assert_eq!(last_pass(&all[..3], 1), Some(vec![1.0, 2.0, 3.0]));
        assert_eq!(last_pass(&values[1..], 3), None);
        assert_eq!(last_pass(&[], 0), None);
    }
}
