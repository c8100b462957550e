//! Forms whose state is the address, and what their fields mean.

use crate::{answer::Refusal, query::Query};
use modelmeter::{Mode, Precision, Survey};
use page::Html;
use std::str::FromStr;
use types::Device;

/// A field for a few words.
pub(crate) fn words(html: &mut Html, query: &Query, label: &str, name: &str, example: &str) {
    html.open("label", &[]);
    html.element("span", &[], label);
    let value = query.get(name).unwrap_or_default();
    html.open(
        "input",
        &[("name", name), ("value", value), ("placeholder", example), ("autocomplete", "off")],
    );
    html.close("label");
}

/// A choice; the first option is none.
pub(crate) fn choice<S: AsRef<str>>(
    html: &mut Html,
    query: &Query,
    label: &str,
    name: &str,
    options: &[(S, S)],
) {
    html.open("label", &[]);
    html.element("span", &[], label);
    html.open("select", &[("name", name)]);
    let chosen = query.get(name).unwrap_or_default();
    for (value, text) in options {
        let value = value.as_ref();
        let mut attributes = vec![("value", value)];
        if value == chosen {
            attributes.push(("selected", ""));
        }
        html.element("option", &attributes, text.as_ref());
    }
    html.close("select");
    html.close("label");
}

/// Names as options, after one for all of them.
pub(crate) fn named(all: &str, names: impl IntoIterator<Item = String>) -> Vec<(String, String)> {
    let names = names.into_iter().map(|name| (name.clone(), name));
    std::iter::once((String::new(), all.to_owned())).chain(names).collect()
}

/// Every mode as an option.
pub(crate) fn modes() -> Vec<(String, String)> {
    named("all", Mode::ALL.iter().map(|mode| mode.name().to_owned()))
}

/// The parameter that is `--include-invalid` of the command line.
pub(crate) const INCLUDE_INVALID: &str = "include-invalid";

/// Whether a box of this name is checked.
fn is_set(query: &Query, name: &str) -> bool {
    query.get(name).is_some_and(|text| text != "0")
}

/// A box that is checked or not.
fn checkbox(html: &mut Html, query: &Query, label: &str, name: &str) {
    html.open("label", &[("class", "box")]);
    let mut attributes = vec![("type", "checkbox"), ("name", name), ("value", "1")];
    if is_set(query, name) {
        attributes.push(("checked", ""));
    }
    html.open("input", &attributes);
    html.text(" ");
    html.text(label);
    html.close("label");
}

/// The button that shows what was asked for; a script asks by itself.
pub(crate) fn show(html: &mut Html) {
    html.element("button", &[("class", "show")], "Show");
}

/// A value that must be understood where there is one.
pub(crate) fn parsed<T: FromStr>(query: &Query, name: &str) -> Result<Option<T>, Refusal>
where
    T::Err: std::fmt::Display,
{
    let read = |text: &str| {
        text.parse()
            .map_err(|why| Refusal::bad(format!("`{name}={text}` is not understood: {why}")))
    };
    query.get(name).map(read).transpose()
}

pub(crate) fn mode(query: &Query) -> Result<Option<Mode>, Refusal> {
    let read = |text: &str| {
        let names = Mode::ALL.map(Mode::name).join(", ");
        Mode::named(text)
            .ok_or_else(|| Refusal::bad(format!("`mode={text}` is not one of {names}")))
    };
    query.get("mode").map(read).transpose()
}

/// `2h` or `7d` as the moment so long ago.
pub(crate) fn since(query: &Query) -> Result<Option<i64>, Refusal> {
    let read = |text: &str| {
        let wrong = || {
            Refusal::bad(format!("`since={text}` is not understood")).hint("`since=2h`, `since=7d`")
        };
        if let Some(moment) = clock::parse(text) {
            return Ok(moment);
        }
        let (number, unit) =
            text.split_at(text.len() - text.chars().last().map_or(0, char::len_utf8));
        let number: f64 = number.trim().parse().map_err(|_| wrong())?;
        let seconds = match unit {
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86400.0,
            "w" => 7.0 * 86400.0,
            _ => return Err(wrong()),
        };
        let span = number * seconds * 1e6;
        if !(0.0..1e17).contains(&span) {
            return Err(wrong());
        }
        Ok(clock::now() - span as i64)
    };
    query.get("since").map(read).transpose()
}

/// What `analyze`, `trend` and `recommend` look at.
pub(crate) fn survey(query: &Query) -> Result<Survey, Refusal> {
    let owned = |name| query.all(name).map(str::to_owned).collect::<Vec<_>>();
    Ok(Survey {
        models: owned("model"),
        machines: owned("machine"),
        devices: parsed::<Device>(query, "device")?.into_iter().collect(),
        engines: owned("engine"),
        precisions: parsed::<Precision>(query, "precision")?.into_iter().collect(),
        modes: mode(query)?.into_iter().collect(),
        tag: query.get("tag").map(str::to_owned),
        since: since(query)?,
        include_invalid: is_set(query, INCLUDE_INVALID),
        ..Survey::default()
    })
}

/// The fields of what `analyze`, `trend` and `recommend` look at.
pub(crate) fn survey_fields(html: &mut Html, query: &Query, engines: Vec<String>) {
    words(html, query, "Model", "model", "bert");
    choice(html, query, "Engine", "engine", &named("all", engines));
    words(html, query, "Device", "device", "cpu");
    choice(html, query, "Mode", "mode", &modes());
    words(html, query, "Label", "tag", "");
    words(html, query, "Since", "since", "7d");
    checkbox(html, query, "Include invalid runs", INCLUDE_INVALID);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_understood_is_said_and_harms_nobody() {
        let query = |text: &str| Query::parse(text);
        assert_eq!(since(&query("")).unwrap(), None);
        let day = since(&query("since=1d")).unwrap().unwrap();
        assert!((clock::now() - day - 86_400_000_000).abs() < 60_000_000);
        for wrong in ["since=d", "since=7", "since=é", "since=-1d", "since=1e99d", "since=NaNd"] {
            assert_eq!(since(&query(wrong)).unwrap_err().status, 400, "{wrong}");
        }
        assert_eq!(mode(&query("mode=x")).unwrap_err().status, 400);
        assert_eq!(survey(&query("device=toaster")).unwrap_err().status, 400);
        assert_eq!(survey(&query("model=a&model=b")).unwrap().models, ["a", "b"]);
        for (text, is_included) in
            [("", false), ("include-invalid=0", false), ("include-invalid=1", true)]
        {
            assert_eq!(survey(&query(text)).unwrap().include_invalid, is_included, "{text}");
        }
    }
}
