//! Dimensions that are names or formulas: `batch`, `2*batch + 1`, `floor(height/2)`.

use crate::{Dim, ValueInfo};
use std::collections::HashMap;

/// The sizes that names stand for.
pub(crate) type Symbols = HashMap<String, i64>;

/// The names that declared inputs give to the dims they were fed with; a name with two sizes stands for nothing (`?`).
pub(crate) fn bind<'a>(fed: impl Iterator<Item = (&'a ValueInfo, &'a [usize])>) -> Symbols {
    let mut sizes: HashMap<&str, Option<i64>> = HashMap::new();
    for (declared, dims) in fed {
        let shape = declared.shape.as_deref().unwrap_or_default();
        if shape.len() != dims.len() {
            continue;
        }
        for (dim, size) in shape.iter().zip(dims) {
            if let Dim::Symbol(name) = dim {
                let size = i64::try_from(*size).ok();
                let known = sizes.entry(name).or_insert(size);
                *known = known.filter(|known| Some(*known) == size);
            }
        }
    }
    sizes.into_iter().filter_map(|(name, size)| Some((name.to_string(), size?))).collect()
}

/// The dims a declaration stands for; `None` if one of them cannot be told.
pub(crate) fn evaluate_shape(symbols: &Symbols, shape: &[Dim]) -> Option<Vec<usize>> {
    shape
        .iter()
        .map(|dim| match dim {
            Dim::Fixed(size) => Some(*size),
            Dim::Symbol(text) => usize::try_from(evaluate(symbols, text)?).ok(),
            Dim::Unknown => None,
        })
        .collect()
}

/// The number a formula stands for; `None` if a name is free or the text is no formula.
pub(crate) fn evaluate(symbols: &Symbols, text: &str) -> Option<i64> {
    // A name may hold anything, also what looks like a formula.
    if let Some(value) = symbols.get(text) {
        return Some(*value);
    }
    let mut parser = Parser { symbols, text: text.as_bytes(), at: 0, depth: 0 };
    let value = parser.sum()?;
    parser.skip_space();
    (parser.at == parser.text.len()).then_some(value)
}

struct Parser<'a> {
    symbols: &'a Symbols,
    text: &'a [u8],
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn skip_space(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        let found = self.text[self.at..].starts_with(token.as_bytes());
        if found {
            self.at += token.len();
        }
        found
    }

    fn sum(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        loop {
            if self.eat("+") {
                value = value.checked_add(self.product()?)?;
            } else if self.eat("-") {
                value = value.checked_sub(self.product()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.factor()?;
        loop {
            if self.eat("//") {
                value = value.checked_div_euclid(self.factor()?)?;
            } else if self.eat("*") {
                value = value.checked_mul(self.factor()?)?;
            } else if self.eat("/") {
                let divisor = self.factor()?;
                // Only inside `floor(…)` could a remainder mean something; there it is dropped as here.
                value = value.checked_div_euclid(divisor)?;
            } else if self.eat("%") {
                value = value.checked_rem_euclid(self.factor()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn factor(&mut self) -> Option<i64> {
        self.depth += 1;
        if self.depth > 64 {
            return None;
        }
        let value = self.atom();
        self.depth -= 1;
        value
    }

    fn atom(&mut self) -> Option<i64> {
        if self.eat("-") {
            return self.factor()?.checked_neg();
        }
        if self.eat("(") {
            let value = self.sum()?;
            return self.eat(")").then_some(value);
        }
        self.skip_space();
        let start = self.at;
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
        while self.text.get(self.at).is_some_and(is_word) {
            self.at += 1;
        }
        let word = std::str::from_utf8(&self.text[start..self.at]).ok()?;
        if let Ok(number) = word.parse() {
            return Some(number);
        }
        if word.is_empty() || !self.eat("(") {
            return self.symbols.get(word).copied();
        }
        let mut arguments = vec![self.sum()?];
        while self.eat(",") {
            arguments.push(self.sum()?);
        }
        if !self.eat(")") {
            return None;
        }
        match (word.to_ascii_lowercase().as_str(), arguments.as_slice()) {
            ("floor", [value]) => Some(*value),
            ("max", values) => values.iter().copied().max(),
            ("min", values) => values.iter().copied().min(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_evaluated_with_bound_names() {
        let symbols = Symbols::from([("batch".to_string(), 4), ("seq_len".to_string(), 9)]);
        let value = |text| evaluate(&symbols, text);
        assert_eq!(value("batch"), Some(4));
        assert_eq!(value("2*batch + 1"), Some(9));
        assert_eq!(value("floor(seq_len/2) - 1"), Some(3));
        assert_eq!(value("Max(1, batch*(seq_len - 1))"), Some(32));
        assert_eq!(value("-(-batch // 3)"), Some(2));
        assert_eq!(value("heads + 1"), None);
        assert_eq!(value("batch +"), None);
        assert_eq!(value("batch / 0"), None);
        assert_eq!(value(&"(".repeat(5000)), None);
    }

    #[test]
    fn a_name_with_two_sizes_stands_for_nothing() {
        let value = ValueInfo {
            name: "x".to_string(),
            dtype: crate::DataType::Float,
            shape: Some(vec!["n".into(), "?".into(), "?".into()]),
        };
        let symbols = bind([(&value, &[1usize, 2, 3][..])].into_iter());
        assert_eq!(symbols, Symbols::from([("n".to_string(), 1)]));
    }

    #[test]
    fn a_name_that_looks_like_a_formula_is_a_name_first() {
        let symbols = Symbols::from([("past + 1".to_string(), 7)]);
        assert_eq!(evaluate(&symbols, "past + 1"), Some(7));
    }
}
