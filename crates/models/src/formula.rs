//! Dimensions that are formulas: `past_sequence_length + sequence_length`, `floor(height / 32)`.

/// A formula over named dimensions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Formula {
    Number(i64),
    Symbol(String),
    Binary(char, Box<Formula>, Box<Formula>),
    Call(String, Vec<Formula>),
}

impl Formula {
    /// Reads a formula; text that is none becomes one symbol as it stands.
    pub(crate) fn parse(text: &str) -> Formula {
        let mut parser = Parser { rest: text.trim() };
        match parser.sum() {
            Some(formula) if parser.rest.trim().is_empty() => formula,
            _ => Formula::Symbol(text.trim().to_owned()),
        }
    }

    /// The names in it, in order.
    pub(crate) fn symbols(&self) -> Vec<&str> {
        match self {
            Formula::Number(_) => Vec::new(),
            Formula::Symbol(name) => vec![name],
            Formula::Binary(_, left, right) => [left.symbols(), right.symbols()].concat(),
            Formula::Call(_, arguments) => arguments.iter().flat_map(Formula::symbols).collect(),
        }
    }

    /// Its value; `None` if a symbol is unknown, a division has no answer or a function is not ours.
    pub(crate) fn value(&self, known: &impl Fn(&str) -> Option<usize>) -> Option<f64> {
        match self {
            Formula::Number(number) => Some(*number as f64),
            Formula::Symbol(name) => known(name).map(|value| value as f64),
            Formula::Binary(operator, left, right) => {
                let (left, right) = (left.value(known)?, right.value(known)?);
                match operator {
                    '+' => Some(left + right),
                    '-' => Some(left - right),
                    '*' => Some(left * right),
                    '/' if right != 0.0 => Some(left / right),
                    '%' if right != 0.0 => Some(left.rem_euclid(right)),
                    // `//`
                    'f' if right != 0.0 => Some((left / right).floor()),
                    _ => None,
                }
            }
            Formula::Call(name, arguments) => {
                let values: Vec<f64> = arguments
                    .iter()
                    .map(|argument| argument.value(known))
                    .collect::<Option<_>>()?;
                match (name.to_ascii_lowercase().as_str(), values.as_slice()) {
                    ("floor", &[value]) => Some(value.floor()),
                    ("ceil" | "ceiling", &[value]) => Some(value.ceil()),
                    ("max", values) => values.iter().copied().reduce(f64::max),
                    ("min", values) => values.iter().copied().reduce(f64::min),
                    _ => None,
                }
            }
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn sum(&mut self) -> Option<Formula> {
        let mut left = self.product()?;
        while let Some(operator) = self.operator(&["+", "-"]) {
            left = Formula::Binary(operator, Box::new(left), Box::new(self.product()?));
        }
        Some(left)
    }

    fn product(&mut self) -> Option<Formula> {
        let mut left = self.atom()?;
        while let Some(operator) = self.operator(&["//", "*", "/", "%"]) {
            left = Formula::Binary(operator, Box::new(left), Box::new(self.atom()?));
        }
        Some(left)
    }

    fn operator(&mut self, operators: &[&str]) -> Option<char> {
        let rest = self.rest.trim_start();
        let operator = operators.iter().find(|operator| rest.starts_with(**operator))?;
        self.rest = &rest[operator.len()..];
        if *operator == "//" { Some('f') } else { operator.chars().next() }
    }

    fn atom(&mut self) -> Option<Formula> {
        self.rest = self.rest.trim_start();
        if let Some(rest) = self.rest.strip_prefix('(') {
            self.rest = rest;
            let inner = self.sum()?;
            self.close()?;
            return Some(inner);
        }
        let word = self.word();
        if word.is_empty() {
            return None;
        }
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            return word.parse().ok().map(Formula::Number);
        }
        if !word.starts_with(|first: char| first.is_alphabetic() || first == '_') {
            return None;
        }
        let Some(rest) = self.rest.strip_prefix('(') else {
            return Some(Formula::Symbol(word));
        };
        self.rest = rest;
        let mut arguments = vec![self.sum()?];
        while self.operator(&[","]).is_some() {
            arguments.push(self.sum()?);
        }
        self.close()?;
        Some(Formula::Call(word, arguments))
    }

    fn close(&mut self) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(')')?;
        Some(())
    }

    /// Letters, digits, `_`, `.`, `:`; a hyphen between letters too, as in `batch-size`.
    fn word(&mut self) -> String {
        let mut end = 0;
        let characters: Vec<(usize, char)> = self.rest.char_indices().collect();
        for (index, &(place, character)) in characters.iter().enumerate() {
            let letter_follows =
                characters.get(index + 1).is_some_and(|next| next.1.is_alphabetic());
            let letter_before = index > 0 && characters[index - 1].1.is_alphabetic();
            let inside = character.is_alphanumeric()
                || matches!(character, '_' | '.' | ':')
                || (character == '-' && letter_before && letter_follows);
            if !inside {
                break;
            }
            end = place + character.len_utf8();
        }
        let (word, rest) = self.rest.split_at(end);
        let word = word.to_owned();
        self.rest = rest;
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<f64> {
        Formula::parse(text).value(&|name| match name {
            "past" => Some(3),
            "sequence" => Some(16),
            "batch-size" => Some(4),
            "unk__1" => Some(9),
            _ => None,
        })
    }

    #[test]
    fn formulas_keep_the_rules_of_arithmetic() {
        assert_eq!(value("past + sequence"), Some(19.0));
        assert_eq!(value("2*(past+1) - 1"), Some(7.0));
        assert_eq!(value("floor(sequence/3)"), Some(5.0));
        assert_eq!(value("sequence//3"), Some(5.0));
        assert_eq!(value("Max(past, sequence, 20)"), Some(20.0));
        assert_eq!(value("sequence - past - 1"), Some(12.0));
    }

    #[test]
    fn a_hyphenated_name_is_one_name() {
        assert_eq!(value("batch-size"), Some(4.0));
        assert_eq!(Formula::parse("batch-size").symbols(), ["batch-size"]);
    }

    #[test]
    fn what_is_no_formula_is_one_symbol() {
        assert_eq!(Formula::parse("?"), Formula::Symbol("?".into()));
        assert_eq!(Formula::parse("-1"), Formula::Symbol("-1".into()));
        assert_eq!(Formula::parse("a b"), Formula::Symbol("a b".into()));
        assert_eq!(value("nobody + 1"), None);
        assert_eq!(value("past / 0"), None);
    }
}
