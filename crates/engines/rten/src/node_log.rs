//! The engine's log as places: what was printed when says what ran when.
//!
//! Whatever happens after the block of one node was printed and before the block of the next belongs to that next node.

/// How much was printed so far; quick enough to be asked at every allocation.
pub(crate) fn printed() -> u64 {
    // SAFETY: lseek by nothing from where it is touches no memory of ours.
    let place = unsafe { libc::lseek(libc::STDOUT_FILENO, 0, libc::SEEK_CUR) };
    u64::try_from(place).unwrap_or(0)
}

/// What the engine printed of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoggedNode<'a> {
    /// Where its block begins in the log.
    pub(crate) begin: u64,
    /// Where it ends.
    pub(crate) end: u64,
    /// Its place in the plan; 0 begins a run or a body.
    pub(crate) step: usize,
    /// Its operator.
    pub(crate) operator: &'a str,
    /// Its name; empty if it has none.
    pub(crate) name: &'a str,
    /// What it read, with the bytes of each.
    pub(crate) inputs: Vec<(&'a str, u64)>,
    /// What it made, with the elements of each.
    pub(crate) outputs: Vec<(&'a str, u64)>,
}

/// The nodes of a log, in the order they ran.
pub(crate) fn nodes(log: &str) -> Vec<LoggedNode<'_>> {
    let mut nodes: Vec<LoggedNode<'_>> = Vec::new();
    let mut place = 0;
    let mut is_inside = false;
    for line in log.split_inclusive('\n') {
        let begin = place as u64;
        place += line.len();
        let end = place as u64;
        let text = line.trim_end();
        if let Some((step, operator, name)) = heading(text) {
            let (inputs, outputs) = (Vec::new(), Vec::new());
            nodes.push(LoggedNode { begin, end, step, operator, name, inputs, outputs });
            is_inside = true;
        } else if let Some(node) = nodes.last_mut().filter(|_| is_inside) {
            match text.strip_prefix("  ").and_then(detail) {
                Some(("input", name, rest)) => node.inputs.push((name, bytes_of(rest))),
                Some(("output", name, dims)) => node.outputs.push((name, elements(dims))),
                _ => is_inside = text.starts_with("  time: "),
            }
            if is_inside {
                node.end = end;
            }
            is_inside &= !text.starts_with("  time: ");
        }
    }
    nodes
}

/// `#12 MatMul (encoder.layer.0.MatMul)`.
fn heading(line: &str) -> Option<(usize, &str, &str)> {
    let (step, rest) = line.strip_prefix('#')?.split_once(' ')?;
    let (operator, name) = rest.split_once(" (")?;
    Some((step.parse().ok()?, operator, name.strip_suffix(')')?))
}

/// `input 0: hidden (f32 [1, 2])` and `output 0: hidden ([1, 2])`.
fn detail(line: &str) -> Option<(&str, &str, &str)> {
    let (head, rest) = line.split_once(": ")?;
    let (role, _) = head.split_once(' ')?;
    let (name, rest) = rest.rsplit_once(" (")?;
    Some((role, name, rest.strip_suffix(')')?))
}

/// The bytes of `f32 [1, 2]`.
fn bytes_of(text: &str) -> u64 {
    let (dtype, dims) = text.split_once(' ').unwrap_or((text, "[]"));
    let size = match dtype {
        "i8" | "u8" => 1,
        // The engine has no other types than 32-bit floats and integers.
        _ => 4,
    };
    elements(dims).saturating_mul(size)
}

/// The elements of `[1, 2]`.
fn elements(dims: &str) -> u64 {
    let dims = dims.trim_matches(['[', ']']).split(", ").filter(|dim| !dim.is_empty());
    dims.fold(1, |count, dim| count.saturating_mul(dim.parse().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
somebody printed this
#0 MatMul (encoder.dense.MatMul)
  input 0: x (f32 [2, 3])
  input 1: a name (with a bracket) (i8 [3, 4])
  output 0: h ([2, 4])
  time: 0.012ms
#1 Relu ()
  input 0: h (f32 [2, 4])
  output 0: y ([])
  time: 0.001ms
2 ops evaluated in 0.100ms
";

    #[test]
    fn a_log_is_read_node_by_node() {
        let nodes = nodes(LOG);
        let [product, relu] = nodes.as_slice() else { panic!("{nodes:?}") };
        assert_eq!((product.operator, product.name), ("MatMul", "encoder.dense.MatMul"));
        assert_eq!(product.inputs, [("x", 24), ("a name (with a bracket)", 12)]);
        assert_eq!(product.outputs, [("h", 8)]);
        assert_eq!((relu.step, relu.name, relu.outputs[0]), (1, "", ("y", 1)));
        let block = |node: &LoggedNode<'_>| &LOG[node.begin as usize..node.end as usize];
        assert!(block(product).starts_with("#0 MatMul") && block(product).ends_with("0.012ms\n"));
        assert_eq!(product.end, relu.begin);
        assert!(LOG[relu.end as usize..].starts_with("2 ops"));
    }
}
