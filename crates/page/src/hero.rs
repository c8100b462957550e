//! What stands first: the model, how it ran, whether to believe it, and the numbers people ask for.

use crate::{html::Html, tabs::Level};
use report::{Sheet, Subject};

/// The head of a run with its name as a heading.
pub(crate) fn hero(html: &mut Html, subject: &Subject, sheet: &Sheet, title: &str, level: Level) {
    html.open("div", &[("class", "hero")]);
    let mut above = vec![format!("Run {}", report::clean(&subject.name))];
    above.extend(sheet.when.clone());
    above.extend(sheet.tags.iter().map(|tag| format!("#{tag}")));
    html.element("p", &[("class", "eyebrow")], &above.join(" · "));
    html.inside(level.name(), &[("class", "model")], |html| html.element("bdi", &[], title));
    about(html, sheet, title != sheet.model);
    html.close("div");
    verdict(html, sheet);
    figures(html, sheet);
}

fn about(html: &mut Html, sheet: &Sheet, with_name: bool) {
    html.open("ul", &[("class", "chips"), ("aria-label", "Setting")]);
    if with_name {
        html.element("li", &[], &sheet.model);
    }
    for fact in sheet.setting.iter().chain(&sheet.size) {
        html.element("li", &[], fact);
    }
    if sheet.is_random {
        html.element("li", &[("class", "warn")], "random weights");
    }
    html.close("ul");
}

/// Whether to believe it, with every reason.
pub(crate) fn verdict(html: &mut Html, sheet: &Sheet) {
    let class = if sheet.is_valid { "verdict good" } else { "verdict bad" };
    html.open("div", &[("class", class)]);
    html.inside("p", &[("class", "verdict-words")], |html| {
        html.raw(if sheet.is_valid {
            "<span class=\"sign\" aria-hidden=\"true\">✓</span>"
        } else {
            "<span class=\"sign\" aria-hidden=\"true\">✕</span>"
        });
        html.element("strong", &[], &capital(&sheet.verdict.replace("NOT VALID", "Not valid")));
    });
    if !sheet.reasons.is_empty() {
        html.open("ul", &[]);
        for reason in &sheet.reasons {
            let class = if reason.invalidates { "against" } else { "remark" };
            html.inside("li", &[("class", class)], |html| {
                let word = match (reason.invalidates, reason.is_star) {
                    (true, _) => "Reason",
                    (false, true) => "Remark *",
                    (false, false) => "Remark",
                };
                html.element("span", &[("class", "kind")], word);
                html.inside("span", &[], |html| {
                    html.prose(&reason.text);
                    if let Some(hint) = &reason.hint {
                        html.text("; ");
                        html.prose(hint);
                    }
                });
            });
        }
        html.close("ul");
    }
    html.close("div");
}

fn figures(html: &mut Html, sheet: &Sheet) {
    if sheet.figures.is_empty() {
        return;
    }
    html.open("dl", &[("class", "figures")]);
    for figure in &sheet.figures {
        html.open("div", &[]);
        html.element("dt", &[], &capital(&figure.name));
        html.inside("dd", &[("class", "value")], |html| match figure.value.rsplit_once(' ') {
            Some((number, unit)) => {
                html.text(number);
                html.text(" ");
                html.element("span", &[("class", "unit")], unit);
            }
            None => html.text(&figure.value),
        });
        html.element("dd", &[("class", "note")], &figure.note);
        html.close("div");
    }
    html.close("dl");
}

/// The words with a capital at the beginning.
pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    first + chars.as_str()
}
