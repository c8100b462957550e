//! The steps that the plugin averages over: our samples, or the inferences where the timeline knows no samples.

use crate::rows::end;
use types::{Span, SpanKind};

/// The phase that stands for a step where there are no steps.
const INFERENCE: &str = "inference";

/// Which spans are steps.
#[derive(Debug)]
pub(super) struct Steps {
    /// The spans that are steps, sorted, and the number of each in the order they began.
    numbers: Vec<(u32, usize)>,
    /// The begin and the end of everything, where no span is a step.
    whole: Option<(u64, u64)>,
}

impl Steps {
    pub(super) fn of(spans: &[Span]) -> Steps {
        let chosen = |wanted: &dyn Fn(&Span) -> bool| {
            let indices = (0..spans.len() as u32).filter(|index| wanted(&spans[*index as usize]));
            let mut indices: Vec<u32> = indices.collect();
            indices.sort_by_key(|index| spans[*index as usize].start);
            indices
        };
        let mut steps = chosen(&|span| span.kind == SpanKind::Step);
        if steps.is_empty() {
            steps = chosen(&|span| span.kind == SpanKind::Phase && span.name == INFERENCE);
        }
        let begin = spans.iter().map(|span| span.start).min();
        let whole = begin.zip(spans.iter().map(end).max()).filter(|_| steps.is_empty());
        let mut numbers: Vec<_> =
            steps.into_iter().enumerate().map(|(number, span)| (span, number)).collect();
        numbers.sort_unstable();
        Steps { numbers, whole }
    }

    /// The number of the step that a span is.
    pub(super) fn number(&self, span: u32) -> Option<usize> {
        let at = self.numbers.binary_search_by_key(&span, |step| step.0).ok()?;
        Some(self.numbers[at].1)
    }

    /// Begin and end of the one step that stands for all, where the timeline has none.
    pub(super) fn whole(&self) -> Option<(u64, u64)> {
        self.whole
    }

    /// What there is to say of steps that the timeline does not have.
    pub(super) fn remark(&self) -> Option<&'static str> {
        self.whole.map(|_| "the timeline has no steps; one step covers all of it")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(kind: SpanKind, name: &str, start: u64) -> Span {
        let path = String::new();
        Span { name: name.into(), kind, track: 0, start, length: 5, path, flow: None }
    }

    #[test]
    fn steps_come_before_inferences_and_inferences_before_the_whole() {
        let late = span(SpanKind::Step, "sample", 50);
        let early = span(SpanKind::Step, "sample", 10);
        let inference = span(SpanKind::Phase, "inference", 20);
        let tokens = span(SpanKind::Phase, "tokenise", 5);

        let steps = Steps::of(&[late, early, inference.clone()]);
        assert_eq!([0, 1, 2].map(|span| steps.number(span)), [Some(1), Some(0), None]);
        assert_eq!(steps.whole(), None);

        let steps = Steps::of(&[tokens.clone(), inference]);
        assert_eq!([0, 1].map(|span| steps.number(span)), [None, Some(0)]);

        let steps = Steps::of(&[tokens]);
        assert_eq!(steps.whole(), Some((5, 10)));
        assert_eq!(Steps::of(&[]).whole(), None);
    }
}
