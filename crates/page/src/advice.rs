//! What to do about a run.

use crate::{html::Html, table, tabs::Level};
use report::{Subject, advice_sheet};

pub(crate) fn advice(html: &mut Html, subject: &Subject, level: Level) {
    if let Some(import) = &subject.run.imported {
        html.inside("p", &[("class", "missing")], |html| {
            html.text("Not available: advice needs a measurement by Modelmeter, and this run was measured by ");
            html.text(&report::clean(&import.tool));
            html.text(".");
        });
        return;
    }
    if subject.advice.is_empty() {
        html.element("p", &[], "No advice from the stored numbers.");
    }
    html.open("ol", &[("class", "advice")]);
    for one in &subject.advice {
        let sheet = advice_sheet(one);
        html.open("li", &[("class", "card")]);
        html.element(level.name(), &[], &crate::hero::capital(&sheet.title));
        html.inside("p", &[("class", "gain")], |html| html.text(&sheet.gain));
        let mut rows = vec![("why", sheet.why.join("; ")), ("expected", sheet.basis)];
        rows.extend(sheet.caveats.into_iter().map(|caveat| ("but", caveat)));
        table::facts(html, rows.into_iter());
        if let Some(command) = &sheet.command {
            html.element("p", &[("class", "label")], "Prove it");
            html.inside("pre", &[("tabindex", "0")], |html| html.element("code", &[], command));
        }
        html.close("li");
    }
    html.close("ol");
    if !subject.fine.is_empty() {
        html.element(level.name(), &[], "Checked, no problem found");
        let rows = subject.fine.iter().map(|fine| {
            let number = report::value(fine.evidence.value, fine.evidence.unit);
            (fine.rule.as_str(), format!("{}: {number}", report::clean(&fine.evidence.text)))
        });
        table::facts(html, rows);
    }
    if !subject.not_judged.is_empty() {
        html.element(level.name(), &[], "Could not be judged");
        let rows = subject.not_judged.iter().map(|one| {
            let hint = one.hint.as_ref().map(|hint| format!("; {}", report::clean(hint)));
            let text = format!("{}{}", report::clean(&one.why), hint.unwrap_or_default());
            (one.rule.as_str(), text)
        });
        table::facts(html, rows);
    }
    let name = report::clean(&subject.name);
    html.inside("p", &[("class", "note")], |html| {
        html.text("This advice uses stored numbers only. ");
        html.element("code", &[], &format!("modelmeter advise {name}"));
        html.text(" also measures other batch sizes, and tries each change with ");
        html.element("code", &[], "--try");
        html.text(".");
    });
}
