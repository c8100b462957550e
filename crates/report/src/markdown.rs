//! Tables for documents and pull requests, as GitHub draws them.

use crate::clean::clean;

pub(crate) use crate::sheet::Side;

/// A table; columns in which no row says anything are left out.
pub(crate) fn table(columns: &[(&str, Side)], rows: &[Vec<String>]) -> String {
    let says = |at: usize| rows.iter().any(|row| row.get(at).is_some_and(|cell| !cell.is_empty()));
    let shown: Vec<usize> = (0..columns.len()).filter(|at| says(*at)).collect();
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(shown.iter().map(|at| plain(columns[*at].0)).collect());
    text.push_str(&line(
        shown
            .iter()
            .map(|at| match columns[*at].1 {
                Side::Left => "---".into(),
                Side::Right => "---:".into(),
            })
            .collect(),
    ));
    for row in rows {
        let cell = |at: &usize| row.get(*at).map(|cell| plain(cell)).unwrap_or_default();
        text.push_str(&line(shown.iter().map(cell).collect()));
    }
    text
}

/// Text that means nothing but itself.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '|' | '*' | '_' | '\\' | '[' | ']' | '~' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_leaves_out_what_nobody_says_and_escapes_what_means_something() {
        let columns = [("model", Side::Left), ("energy", Side::Right), ("median", Side::Right)];
        let rows = [vec!["a|b_<i>".to_owned(), String::new(), "1 ms".into()]];
        assert_eq!(
            table(&columns, &rows),
            "| model | median |\n| --- | ---: |\n| a\\|b\\_&lt;i> | 1 ms |\n"
        );
    }
}
