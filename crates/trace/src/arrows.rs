//! Arrows from a launch on the host to its work on a device.

use types::{Span, SpanKind};

/// Arrows, each with a number of its own; one launch may have several.
#[derive(Debug, Default)]
pub(crate) struct Arrows {
    /// The causing span and the arrow's number, sorted.
    tails: Vec<(u32, u32)>,
    /// The caused span, the arrow's number and the causing span, sorted.
    heads: Vec<(u32, u32, u32)>,
    /// Kernels that began before their launch, by the clocks we were given; no viewer takes such an arrow.
    backwards: usize,
}

impl Arrows {
    /// The arrows between spans that share a `flow`.
    pub(crate) fn of(spans: &[Span]) -> Arrows {
        let mut members: Vec<(u64, u8, u64, u32)> = spans
            .iter()
            .enumerate()
            .filter_map(|(index, span)| Some((span.flow?, rank(span), span.start, index as u32)))
            .collect();
        members.sort_unstable();
        let mut arrows = Arrows::default();
        for flow in members.chunk_by(|a, b| a.0 == b.0) {
            let (_, first, begin, cause) = flow[0];
            if first == KERNEL {
                continue;
            }
            for (_, _, start, effect) in flow.iter().filter(|(_, rank, ..)| *rank == KERNEL) {
                if *start < begin {
                    arrows.backwards += 1;
                    continue;
                }
                let number = arrows.tails.len() as u32 + 1;
                arrows.tails.push((cause, number));
                arrows.heads.push((*effect, number, cause));
            }
        }
        arrows.tails.sort_unstable();
        arrows.heads.sort_unstable();
        arrows
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.tails.len()
    }

    /// The numbers of the arrows that begin at a span.
    pub(crate) fn at_tail(&self, span: u32) -> impl Iterator<Item = u32> {
        let begin = self.tails.partition_point(|(cause, _)| *cause < span);
        self.tails[begin..].iter().take_while(move |tail| tail.0 == span).map(|tail| tail.1)
    }

    /// The number of the arrow that ends at a span, and the span it comes from.
    pub(crate) fn at_head(&self, span: u32) -> Option<(u32, u32)> {
        let at = self.heads.binary_search_by_key(&span, |head| head.0).ok()?;
        Some((self.heads[at].1, self.heads[at].2))
    }

    /// What there is to say of arrows that could not be drawn.
    pub(crate) fn remarks(&self) -> Vec<String> {
        match self.backwards {
            0 => Vec::new(),
            1 => vec!["1 kernel begins before its launch and has no arrow".into()],
            count => {
                vec![format!("{count} kernels begin before their launches and have no arrows")]
            }
        }
    }
}

const KERNEL: u8 = 2;

/// A launch is the cause before any other span of the host; work on a device is the effect.
fn rank(span: &Span) -> u8 {
    match span.kind {
        SpanKind::Launch => 0,
        SpanKind::Kernel => KERNEL,
        SpanKind::Step | SpanKind::Phase | SpanKind::Module | SpanKind::Operator => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(kind: SpanKind, start: u64, flow: Option<u64>) -> Span {
        Span { name: "a".into(), kind, track: 0, start, length: 1, path: String::new(), flow }
    }

    #[test]
    fn every_kernel_has_the_arrow_of_its_launch() {
        use SpanKind::{Kernel, Launch, Operator};
        let spans = [
            span(Kernel, 30, Some(7)),
            span(Operator, 0, Some(7)),
            span(Launch, 10, Some(7)),
            span(Kernel, 20, Some(7)),
            span(Kernel, 40, Some(8)),
            span(Launch, 50, Some(9)),
            span(Kernel, 45, Some(9)),
            span(Kernel, 60, None),
        ];
        let arrows = Arrows::of(&spans);
        assert_eq!(arrows.count(), 2);
        assert_eq!(arrows.at_tail(2).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(arrows.at_tail(1).count() + arrows.at_tail(5).count(), 0);
        assert_eq!(arrows.at_head(3), Some((1, 2)));
        assert_eq!(arrows.at_head(0), Some((2, 2)));
        assert_eq!([4, 6, 7].map(|span| arrows.at_head(span)), [None; 3]);
        assert_eq!(arrows.remarks(), ["1 kernel begins before its launch and has no arrow"]);
    }
}
