//! What is kept with checkpointing: the values between repeated modules. The rest is computed again when it is needed.

use super::tape::Tape;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Which values lie inside a repeated module and are needed nowhere else.
#[derive(Debug)]
pub(super) struct Boundaries {
    inside: HashSet<String>,
}

impl Boundaries {
    pub(super) fn new(tape: &Tape) -> Boundaries {
        let mut lists: BTreeMap<&str, HashSet<&str>> = BTreeMap::new();
        for step in &tape.steps {
            if let Some((list, block)) = block(&step.path) {
                lists.entry(list).or_default().insert(block);
            }
        }
        // One module of a list alone repeats nothing.
        let repeated = |path: &str| block(path).is_some_and(|(list, _)| lists[list].len() > 1);
        let of = |at: usize| {
            let path = tape.steps[at].path.as_str();
            block(path).filter(|_| repeated(path)).map(|(_, block)| block)
        };
        let mut crosses: HashMap<&str, bool> = HashMap::new();
        for (at, step) in tape.steps.iter().enumerate() {
            for name in step.reads() {
                if let Some(maker) = tape.maker.get(name) {
                    *crosses.entry(name).or_default() |= of(*maker) != of(at);
                }
            }
        }
        let mut inside = HashSet::new();
        for (at, step) in tape.steps.iter().enumerate() {
            if of(at).is_some() {
                let hidden = step.makes().filter(|name| {
                    *name != tape.output && !crosses.get(name).copied().unwrap_or(false)
                });
                inside.extend(hidden.map(str::to_string));
            }
        }
        Boundaries { inside }
    }

    /// Whether a value is computed again instead of kept.
    pub(super) fn is_inside(&self, name: &str) -> bool {
        self.inside.contains(name)
    }
}

/// The list of modules and the module of that list that a path lies in: `encoder.layer` and `encoder.layer.3`.
fn block(path: &str) -> Option<(&str, &str)> {
    let mut end = 0;
    for part in path.split('.') {
        let start = end;
        end += part.len();
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if is_number && start > 0 {
            return Some((&path[..start - 1], &path[..end]));
        }
        end += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_the_outermost_numbered_module() {
        assert_eq!(
            block("bert.encoder.layer.3.attention"),
            Some(("bert.encoder.layer", "bert.encoder.layer.3"))
        );
        assert_eq!(block("h.11"), Some(("h", "h.11")));
        assert_eq!(block("encoder.block.0.layer.1.wo"), Some(("encoder.block", "encoder.block.0")));
        assert_eq!(block("embeddings.word_embeddings"), None);
        assert_eq!(block("0"), None);
        assert_eq!(block(""), None);
    }
}
