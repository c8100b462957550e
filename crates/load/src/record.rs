//! What became of one request.

use serde::{Deserialize, Serialize};
use types::RequestOutcome;

/// An event that carries text, reasoning, arguments of a tool call or token ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentEvent {
    /// When its last byte came, in nanoseconds from the start of the load.
    pub at: u64,
    /// Whether people see it: reasoning is content, but not visible.
    pub visible: bool,
    /// How much of the text it holds, in characters: what tokens are estimated by where an event holds several.
    pub size: u32,
}

/// Tokens as the server counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TokenCounts {
    /// Of the prompt.
    pub prompt: Option<u64>,
    /// Of the prompt, taken from a cache.
    pub cached: Option<u64>,
    /// Generated.
    pub completion: Option<u64>,
}

/// What became of one request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its place in the schedule.
    pub request: u32,
    /// When the schedule wanted it, in nanoseconds from the start of the load.
    pub scheduled: u64,
    /// When its first byte was handed to the system.
    pub sent: Option<u64>,
    /// How late the generator took it up, in nanoseconds: after the schedule, or after a place among the requests in flight
    /// became free, whichever was later. Opening a connection is not part of it.
    pub lag: Option<u64>,
    /// Events with content; a single one where the answer comes whole.
    pub events: Vec<ContentEvent>,
    /// When the answer was complete, or had failed.
    pub ended: Option<u64>,
    /// What became of it.
    pub outcome: RequestOutcome,
    /// What went wrong, in words.
    pub why: Option<String>,
    /// Tokens.
    pub tokens: TokenCounts,
}

impl Record {
    /// A request that was never sent.
    #[must_use]
    pub fn not_sent(request: u32, scheduled: u64) -> Record {
        Record {
            request,
            scheduled,
            sent: None,
            lag: None,
            events: Vec::new(),
            ended: None,
            outcome: RequestOutcome::NotSent,
            why: None,
            tokens: TokenCounts::default(),
        }
    }

    /// Whether it was answered whole.
    #[must_use]
    pub fn is_completed(&self) -> bool {
        self.outcome == RequestOutcome::Completed
    }

    /// Its first event with content.
    #[must_use]
    pub fn first(&self) -> Option<u64> {
        self.events.first().map(|event| event.at)
    }

    /// Its first event that people see.
    #[must_use]
    pub fn first_visible(&self) -> Option<u64> {
        self.events.iter().find(|event| event.visible).map(|event| event.at)
    }

    /// Its last event with content; the end of the answer where it had none.
    #[must_use]
    pub fn last(&self) -> Option<u64> {
        self.events.last().map(|event| event.at).or(self.ended.filter(|_| self.is_completed()))
    }

    /// The mean time between tokens in nanoseconds, and whether the tokens of the first event had to be estimated.
    ///
    /// Events are not tokens: one can hold several. So the time is divided by the tokens that came after the first event, by
    /// the server's own count.
    #[must_use]
    pub fn token_interval(&self) -> Option<(u64, bool)> {
        let (first, last) = (self.first()?, self.last()?);
        let tokens = self.tokens.completion?;
        if self.events.len() < 2 {
            return None;
        }
        let (in_first, estimated) = self.tokens_in_first_event(tokens)?;
        let after = tokens.checked_sub(in_first).filter(|after| *after > 0)?;
        Some(((last - first) / after, estimated))
    }

    fn tokens_in_first_event(&self, tokens: u64) -> Option<(u64, bool)> {
        // One token an event is the rule; servers send none for half of a character, so there may be fewer events.
        if tokens <= self.events.len() as u64 {
            return Some((1, false));
        }
        let whole: u64 = self.events.iter().map(|event| u64::from(event.size)).sum();
        let share = f64::from(self.events.first()?.size) / whole.max(1) as f64;
        Some((((tokens as f64 * share).round() as u64).max(1), true))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A request that was sent when it was wanted, with events of ten characters at these milliseconds.
    pub(crate) fn answered(scheduled: u64, at: &[u64], tokens: u64) -> Record {
        let ms = |value: u64| value * 1_000_000;
        let event = |at: &u64| ContentEvent { at: ms(*at), visible: true, size: 10 };
        Record {
            sent: Some(ms(scheduled)),
            lag: Some(0),
            events: at.iter().map(event).collect(),
            ended: at.last().map(|at| ms(*at) + 1),
            outcome: RequestOutcome::Completed,
            tokens: TokenCounts { completion: Some(tokens), ..TokenCounts::default() },
            ..Record::not_sent(0, ms(scheduled))
        }
    }

    #[test]
    fn a_time_between_tokens_is_not_one_between_events() {
        // Eight tokens in eight events: seven gaps.
        let plain = answered(0, &[100, 110, 120, 130, 140, 150, 160, 170], 8);
        assert_eq!(plain.token_interval(), Some((10_000_000, false)));
        // Sixteen tokens in the same events: two in the first one, by its share of the text.
        let double = answered(0, &[100, 110, 120, 130, 140, 150, 160, 170], 16);
        assert_eq!(double.token_interval(), Some((5_000_000, true)));
    }

    #[test]
    fn one_event_has_no_time_between_tokens_and_no_division_by_zero() {
        assert_eq!(answered(0, &[100], 1).token_interval(), None);
        assert_eq!(answered(0, &[100], 5).token_interval(), None);
        assert_eq!(answered(0, &[], 0).token_interval(), None);
        assert_eq!(answered(0, &[100, 120], 1).token_interval(), None);
    }

    #[test]
    fn reasoning_is_content_but_not_visible() {
        let mut record = answered(0, &[100, 110, 120], 3);
        record.events[0].visible = false;
        assert_eq!(
            (record.first(), record.first_visible()),
            (Some(100_000_000), Some(110_000_000))
        );
    }
}
