//! Where the time of a run went: its layers as a flame graph, and as files for other viewers.
//!
//! The database keeps how long each layer took, not when each of its calls began; that is in the file of `profile --trace`.

use super::run::find;
use crate::{
    answer::{Answer, JSON, Refusal, SVG},
    app::App,
    query::encoded,
    request::Request,
};
use modelmeter::Run;
use page::{Html, Tab};
use trace::TraceInfo;
use types::LayerReport;

/// A file: what it is called in the address, at the end of its name, what opens it.
const FILES: [(&str, &str, &str); 3] = [
    ("flamegraph", "svg", "Flame graph, for any browser"),
    ("trace", "json", "Trace, for Perfetto"),
    ("speedscope", "json", "Profile, for speedscope"),
];

/// The part of the page of a run.
pub(crate) fn tab(app: &App, run: &Run, short: &str, command: Option<&str>) -> Tab {
    let mut html = Html::default();
    let again = |option: &str| match command {
        Some(command) => format!("{command} {option}"),
        None => format!("modelmeter profile MODEL {option}"),
    };
    match &run.layers {
        None => {
            html.open("p", &[("class", "missing")]);
            html.text("Not available: the layers were not profiled in this run. To get it: ");
            html.element("code", &[], &again("--layers"));
            html.text(".");
            html.close("p");
        }
        Some(layers) => drawn(&mut html, app, run, layers, short),
    }
    html.element("h3", &[], "When each operator ran");
    html.element(
        "p",
        &[],
        "The moments of every operator and kernel are not in the database. This writes them into a file that Perfetto opens:",
    );
    html.inside("pre", &[("class", "command"), ("tabindex", "0")], |html| {
        html.element("code", &[], &again("--trace trace.json"));
    });
    Tab { name: "Trace", body: html }
}

fn drawn(html: &mut Html, app: &App, run: &Run, layers: &LayerReport, short: &str) {
    html.element("h3", &[], "Flame graph");
    html.open("figure", &[("class", "card")]);
    let scroll = [("class", "scroll flames"), ("role", "region"), ("aria-label", "Flame graph")];
    html.open("div", &[&scroll[..], &[("tabindex", "0")]].concat());
    html.drawing(&draw::flamegraph_for_page(layers, &TraceInfo::of(run).title()));
    html.close("div");
    html.close("figure");
    html.element("h3", &[], "Files");
    html.open("ul", &[("class", "files")]);
    for (name, ending, what) in FILES {
        let link = app.link(&format!("/api/runs/{}/{name}", encoded(&run.id.0)));
        html.inside("li", &[], |html| {
            html.element("a", &[("href", &link), ("download", "")], what);
            html.text(&format!(" ({})", file_name(name, short, ending)));
        });
    }
    html.close("ul");
    html.element(
        "p",
        &[("class", "note")],
        "How long each layer took is known, not when. In these files the layers are laid end to end in the order in which they ran.",
    );
}

fn file_name(name: &str, short: &str, ending: &str) -> String {
    format!("{name}-{short}.{ending}")
}

/// One of the files.
pub(crate) fn file(app: &App, request: &Request) -> Result<Answer, Refusal> {
    let [.., id, wanted] = request.path.as_slice() else { return Err(Refusal::not_found()) };
    let known = FILES.iter().find(|(name, ..)| name == wanted);
    let (name, ending, _) = known.ok_or_else(Refusal::not_found)?;
    app.stores.with(|store| {
        let run = find(store, id)?;
        let short = store.short_id(&run.id)?;
        let layers = run.layers.as_deref().ok_or_else(|| {
            Refusal::new(404, format!("the layers of run `{short}` were not profiled"))
                .hint("`modelmeter profile MODEL --layers` does")
        })?;
        let info = TraceInfo::of(&run);
        let mut bytes = Vec::new();
        let (kind, written) = match *name {
            "flamegraph" => {
                bytes = draw::flamegraph(layers, &info.title(), &info.setting).into_bytes();
                (SVG, Ok(()))
            }
            "trace" => {
                let timeline = trace::layers_timeline(layers, &info, run.started_at);
                (JSON, trace::write_chrome_trace(&timeline, &info, &mut bytes))
            }
            _ => (JSON, trace::write_speedscope(Some(layers), None, &info, &mut bytes)),
        };
        written.map_err(|error| Refusal::new(500, format!("could not write the file: {error}")))?;
        let download = Some(file_name(name, &short, ending));
        Ok(Answer { download, ..Answer::new(kind, bytes) })
    })
}
