//! Reads the engine's log of a run: which node ran when, how long it took, and which nodes ran inside it.
//!
//! A node is told in a block when it has finished: `#3 MatMul (encoder.dense.MatMul)`, a line for each input and output,
//! `  time: 1.234ms`. The numbers count the nodes of one graph. The nodes in the body of an `If` or a `Loop` come before
//! it, numbered from 0 in every round. Behind the last block stands how long all nodes took with printing.

use std::ops::Range;

/// One call of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// Its place in its graph.
    step: usize,
    /// The operator.
    pub(crate) operator: String,
    /// The node's name; empty if it has none.
    pub(crate) name: String,
    /// The first value it makes, which no other node of its graph makes.
    pub(crate) output: String,
    /// Time with everything inside it, in nanoseconds; the engine rounds to microseconds.
    pub(crate) nanos: u64,
    /// The calls directly inside it, as places in [`Log::calls`].
    pub(crate) inner: Vec<usize>,
}

impl Call {
    /// Whether nodes may run inside it; the engine has no other such operators.
    pub(crate) fn has_body(&self) -> bool {
        matches!(self.operator.as_str(), "If" | "Loop")
    }
}

/// A run as the engine told it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Log {
    /// The calls in the order they ended.
    pub(crate) calls: Vec<Call>,
    /// The calls that lie in no other.
    pub(crate) outermost: Vec<usize>,
    /// How many nodes ran, and the time from the end of one to the end of the next, summed, in nanoseconds; both over all
    /// but those with a body.
    evaluated: Option<(usize, u64)>,
}

impl Log {
    /// Reads what the engine printed; lines that are not the engine's are skipped. `is_outermost` knows the values of
    /// the model's own graph; those of bodies are not among them.
    pub(crate) fn read(text: &str, is_outermost: impl Fn(&str) -> bool) -> Log {
        let mut log = Log::default();
        let mut open: Option<Call> = None;
        // Calls that no other has claimed yet.
        let mut free: Vec<usize> = Vec::new();
        let mut floor = 0;
        for line in text.lines() {
            if let Some(call) = begin(line) {
                open = Some(call);
            } else if let Some(output) = line.strip_prefix("  output 0: ") {
                let name = output.rsplit_once(" (").map_or(output, |(name, _)| name);
                if let Some(call) = &mut open {
                    name.clone_into(&mut call.output);
                }
            } else if let Some(nanos) = line.strip_prefix("  time: ").and_then(nanos) {
                let Some(mut call) = open.take() else { continue };
                call.nanos = nanos;
                let is_outermost = is_outermost(&call.output);
                if call.has_body() {
                    let start = match is_outermost {
                        true => floor,
                        false => log.body(&free, floor..free.len(), &call),
                    };
                    call.inner = free.split_off(start);
                }
                free.push(log.calls.len());
                if is_outermost {
                    floor = free.len();
                }
                log.calls.push(call);
            } else if let Some((count, time)) = line.split_once(" ops evaluated in ") {
                log.evaluated = count.parse().ok().zip(nanos(time));
            }
        }
        log.outermost = free;
        log
    }

    /// Where in `free` the body of a call begins that has one.
    fn body(&self, free: &[usize], range: Range<usize>, outer: &Call) -> usize {
        let is_neighbour = |&at: &usize| self.calls[free[at]].step + 1 == outer.step;
        let starts: Vec<usize> = match outer.step {
            0 => range.clone().collect(),
            // Behind the node that ran before it in the same graph.
            _ => range.clone().filter(is_neighbour).map(|at| at + 1).collect(),
        };
        let mut starts = starts.into_iter();
        starts.find(|&start| self.is_body(&free[start..range.end], outer)).unwrap_or(range.end)
    }

    /// Whether these calls can be the rounds of one body: each counts from 0, and all have the same nodes.
    fn is_body(&self, calls: &[usize], outer: &Call) -> bool {
        let call = |at: &usize| &self.calls[*at];
        let is_itself = |at: &usize| !outer.name.is_empty() && call(at).name == outer.name;
        let begins: Vec<usize> =
            (0..calls.len()).filter(|&at| call(&calls[at]).step == 0).collect();
        let Some(first) = begins.first() else { return calls.is_empty() };
        let length = begins.get(1).map_or(calls.len(), |next| *next) - first;
        let is_round = |round: &[usize]| {
            round.len() == length
                && round.iter().zip(calls).enumerate().all(|(step, (this, like))| {
                    let (this, like) = (call(this), call(like));
                    this.step == step && this.operator == like.operator && this.name == like.name
                })
        };
        *first == 0
            && (outer.operator == "Loop" || begins.len() == 1)
            && !calls.iter().any(is_itself)
            && calls.chunks(length).all(is_round)
    }

    /// Whether every node that the engine counted was read. What somebody else printed meanwhile can spoil a line.
    pub(crate) fn is_whole(&self) -> bool {
        let plain = self.calls.iter().filter(|call| !call.has_body());
        self.evaluated.is_some_and(|(count, _)| count == plain.count())
    }

    /// The calls in the order they began.
    pub(crate) fn in_order(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.calls.len());
        let mut open: Vec<usize> = self.outermost.iter().rev().copied().collect();
        while let Some(at) = open.pop() {
            order.push(at);
            open.extend(self.calls[at].inner.iter().rev());
        }
        order
    }

    /// Each call's time with everything inside it, without the printing.
    pub(crate) fn lengths(&self) -> Vec<u64> {
        let mut lengths = self.own();
        // What runs inside a call ended before it, so its length is known.
        for at in 0..lengths.len() {
            lengths[at] += self.calls[at].inner.iter().map(|&inner| lengths[inner]).sum::<u64>();
        }
        lengths
    }

    /// Each call's time without that of calls inside it and without their share of the printing, in nanoseconds.
    pub(crate) fn own(&self) -> Vec<u64> {
        let printing = self.printing();
        let own = |call: &Call| {
            let inside: u64 = call.inner.iter().map(|&at| self.calls[at].nanos + printing).sum();
            call.nanos.saturating_sub(inside)
        };
        self.calls.iter().map(own).collect()
    }

    /// What printing one block took, on average: the sum that the engine tells has it, the blocks do not.
    fn printing(&self) -> u64 {
        let plain = self.calls.iter().filter(|call| !call.has_body());
        let (count, told) = plain.fold((0, 0), |(count, sum), call| (count + 1, sum + call.nanos));
        match self.evaluated {
            Some((_, evaluated)) if count > 0 => evaluated.saturating_sub(told) / count,
            _ => 0,
        }
    }
}

/// `#3 MatMul (encoder.dense.MatMul)`
fn begin(line: &str) -> Option<Call> {
    let (step, rest) = line.strip_prefix('#')?.split_once(' ')?;
    let (operator, name) = rest.strip_suffix(')')?.split_once(" (")?;
    // An operator that took in a transposition of its inputs.
    let plain = operator.strip_prefix("TransformInputs(").and_then(|rest| rest.strip_suffix(')'));
    let operator = plain.unwrap_or(operator);
    Some(Call {
        step: step.parse().ok()?,
        operator: operator.to_owned(),
        name: name.to_owned(),
        output: String::new(),
        nanos: 0,
        inner: Vec::new(),
    })
}

/// `1.234ms`; three digits behind the point, so every printed number is a whole number of microseconds.
fn nanos(text: &str) -> Option<u64> {
    let (whole, part) = text.trim().strip_suffix("ms")?.split_once('.')?;
    if part.len() != 3 {
        return None;
    }
    let (whole, part): (u64, u64) = (whole.parse().ok()?, part.parse().ok()?);
    Some((whole * 1000 + part) * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(step: usize, operator: &str, name: &str, output: &str, time: &str) -> String {
        format!(
            "#{step} {operator} ({name})\n  input 0: a (b) (f32 [1, 2])\n  output 0: {output} ([1])\n  time: {time}\n"
        )
    }

    fn read(text: &str) -> Log {
        Log::read(text, |value| value.starts_with("top"))
    }

    #[test]
    fn a_block_is_read_whole_and_other_lines_are_skipped() {
        let text = block(0, "MatMul", "dense.MatMul", "top (with a bracket)", "1.234ms");
        let log = read(&format!("hello\n{text}1 ops evaluated in 1.240ms\nMatMul 1.23ms (100%)\n"));
        assert_eq!(log.calls.len(), 1);
        assert_eq!(log.calls[0].operator, "MatMul");
        let text = block(0, "TransformInputs(MatMul)", "dense.MatMul", "top", "1.234ms");
        assert_eq!(read(&text).calls[0].operator, "MatMul");
        assert_eq!(log.calls[0].name, "dense.MatMul");
        assert_eq!(log.calls[0].output, "top (with a bracket)");
        assert_eq!(log.calls[0].nanos, 1_234_000);
        assert_eq!(log.evaluated, Some((1, 1_240_000)));
        assert_eq!(log.printing(), 6000);
    }

    #[test]
    fn a_line_that_another_spoilt_is_missed() {
        let text = block(0, "MatMul", "dense.MatMul", "top", "1.234ms");
        let end = "1 ops evaluated in 1.240ms\n";
        assert!(read(&format!("{text}{end}")).is_whole());
        assert!(!read(&text).is_whole());
        assert!(!read(&format!("somebody's {text}{end}")).is_whole());
    }

    #[test]
    fn a_loop_owns_only_what_its_rounds_do_not_have() {
        let round = [block(0, "Mul", "m", "a", "0.010ms"), block(1, "Add", "n", "b", "0.020ms")];
        let round = round.concat();
        let text = [
            &block(0, "Neg", "first", "top0", "0.005ms"),
            &round,
            &round,
            &block(1, "Loop", "l", "top1", "0.100ms"),
            "5 ops evaluated in 0.075ms\n",
        ];
        let log = read(&text.map(ToOwned::to_owned).concat());
        assert_eq!(log.outermost, [0, 5]);
        assert_eq!(log.calls[5].inner, [1, 2, 3, 4]);
        // 100 less 60 in the rounds, less 2 for each of the four blocks printed meanwhile.
        assert_eq!(log.printing(), 2000);
        assert_eq!(log.own()[5], 32_000);
        assert_eq!(log.lengths()[5], 92_000);
        assert_eq!(log.in_order(), [0, 5, 1, 2, 3, 4]);
    }

    #[test]
    fn bodies_inside_bodies_are_told_apart_by_their_numbers() {
        // A loop of two rounds: a node, a branch with one node, a branch without any.
        let round = [
            block(0, "Neg", "", "x", "0.001ms"),
            block(0, "Abs", "", "y", "0.002ms"),
            block(1, "If", "full", "z", "0.003ms"),
            block(2, "If", "empty", "w", "0.001ms"),
        ]
        .concat();
        let log = read(&format!("{round}{round}{}", block(0, "Loop", "l", "top", "0.020ms")));
        assert_eq!(log.outermost, [8]);
        assert_eq!(log.calls[8].inner, [0, 2, 3, 4, 6, 7]);
        for (branch, inner) in [(2, vec![1]), (3, vec![]), (6, vec![5]), (7, vec![])] {
            assert_eq!(log.calls[branch].inner, inner, "{branch}");
        }
        assert_eq!(log.own().iter().sum::<u64>(), 20_000);
    }

    #[test]
    fn a_loop_in_a_branch_claims_its_rounds_and_no_more() {
        let text = [
            block(0, "Neg", "", "x", "0.001ms"),
            block(0, "Abs", "", "y", "0.001ms"),
            block(0, "Abs", "", "y", "0.001ms"),
            block(1, "Loop", "", "z", "0.003ms"),
            block(0, "If", "", "top", "0.005ms"),
        ];
        let log = read(&text.concat());
        assert_eq!(log.calls[3].inner, [1, 2]);
        assert_eq!(log.calls[4].inner, [0, 3]);
    }
}
