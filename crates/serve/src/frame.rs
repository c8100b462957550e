//! The document around every view: what leads to the others, style and script.

use crate::{answer::Refusal, app::App};
use page::Html;

/// What a view follows while it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follows {
    /// Nothing.
    Nothing,
    /// What is stored.
    Data,
    /// What is measured.
    Now,
}

/// A view, before the document is around it.
#[derive(Debug)]
pub(crate) struct View {
    /// The name of the view in [`VIEWS`].
    pub(crate) name: &'static str,
    pub(crate) title: String,
    pub(crate) body: Html,
    pub(crate) follows: Follows,
}

/// Every view with its path and name, in the order in which they are offered.
pub(crate) const VIEWS: [(&str, &str); 8] = [
    ("/", "Now"),
    ("/plans", "Plans"),
    ("/runs", "Runs"),
    ("/compare", "Compare"),
    ("/trend", "Trend"),
    ("/recommend", "Recommend"),
    ("/load", "Load"),
    ("/machines", "Machines"),
];

/// The whole document.
pub(crate) fn frame(app: &App, view: View) -> String {
    let View { name, title, body, follows } = view;
    let mut html = Html::default();
    head(&mut html, app, &title, false);
    html.raw("<body>\n<a class=\"skip\" href=\"#numbers\">Skip to the numbers</a>\n<header class=\"top\">");
    html.inside("p", &[("class", "brand")], |html| {
        html.inside("a", &[("href", &app.link("/"))], |html| {
            html.raw("<span aria-hidden=\"true\">◔</span> Modelmeter");
        });
    });
    html.open("nav", &[("class", "views"), ("aria-label", "Views")]);
    for (path, known) in VIEWS {
        let link = app.link(path);
        let mut attributes = vec![("href", link.as_str())];
        if known == name {
            attributes.push(("aria-current", "page"));
        }
        html.element("a", &attributes, known);
    }
    html.close("nav");
    html.raw("<div id=\"tools\"></div></header>\n");
    // The script says here that the server is away.
    html.raw("<p id=\"state\" class=\"state\" role=\"status\"></p>\n");
    let follows = match follows {
        Follows::Nothing => "nothing",
        Follows::Data => "data",
        Follows::Now => "now",
    };
    html.open(
        "main",
        &[("id", "numbers"), ("data-view", name), ("data-follows", follows), ("tabindex", "-1")],
    );
    html.append(body);
    html.close("main");
    html.raw("\n<footer><p>Modelmeter ");
    html.text(modelmeter::VERSION);
    html.raw(". This page asks nobody but this server. It works without scripts; they only follow what happens.</p></footer>\n");
    html.raw("</body>\n</html>\n");
    html.finish()
}

fn head(html: &mut Html, app: &App, title: &str, asks_again: bool) {
    html.raw("<!DOCTYPE html>\n");
    html.open(
        "html",
        &[("lang", "en"), ("data-base", &app.base), ("data-cookie", &app.cookie_path())],
    );
    html.raw("\n<head>\n<meta charset=\"utf-8\">\n");
    html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    // No picture of its own; without this line browsers ask for one.
    html.raw("<link rel=\"icon\" href=\"data:,\">\n");
    html.raw("<meta name=\"color-scheme\" content=\"light dark\">\n");
    if asks_again {
        html.raw("<meta http-equiv=\"refresh\" content=\"0\">\n");
    }
    html.element("title", &[], &format!("{title} · Modelmeter"));
    let style = app.link(&format!("/assets/{}", app.assets.style_name));
    let script = app.link(&format!("/assets/{}", app.assets.script_name));
    html.open("link", &[("rel", "stylesheet"), ("href", &style)]);
    html.inside("script", &[("src", &script), ("defer", "")], |_| {});
    html.raw("</head>\n");
}

/// What stands on the page instead of a view. Who comes by a link of another site has no cookie with it: the page then
/// asks once more by itself, which the browser counts as ours.
pub(crate) fn refusal(app: &App, refusal: &Refusal, is_linked_elsewhere: bool) -> String {
    let title = match refusal.status {
        401 => "Token needed",
        404 => "Not found",
        503 => "Not now",
        _ => "Refused",
    };
    let mut html = Html::default();
    if refusal.status == 401 || refusal.status == 421 {
        // Whoever is not let in learns nothing, not even the names of the views.
        head(&mut html, app, title, refusal.status == 401 && is_linked_elsewhere);
        html.raw("<body>\n<header class=\"top\"><p class=\"brand\"><span aria-hidden=\"true\">◔</span> Modelmeter</p>");
        html.raw("<div id=\"tools\"></div></header>\n<p id=\"state\" class=\"state\" role=\"status\"></p>\n<main id=\"numbers\">\n");
        said(&mut html, title, refusal);
        if refusal.status == 401 {
            html.raw("<form method=\"get\" class=\"filters\"><label>Token <input name=\"token\" type=\"password\" autocomplete=\"current-password\" required></label> ");
            html.raw("<button>Open</button></form>\n");
        }
        html.raw("</main>\n</body>\n</html>\n");
        return html.finish();
    }
    said(&mut html, title, refusal);
    let follows = if refusal.status == 503 { Follows::Data } else { Follows::Nothing };
    frame(app, View { name: "", title: title.into(), body: html, follows })
}

fn said(html: &mut Html, title: &str, refusal: &Refusal) {
    html.inside("div", &[("class", "hero")], |html| {
        html.element("h1", &[("class", "model")], title)
    });
    html.open("div", &[("class", "verdict bad")]);
    html.inside("p", &[("class", "verdict-words")], |html| {
        html.raw("<span class=\"sign\" aria-hidden=\"true\">✕</span>");
        html.inside("strong", &[], |html| html.prose(&report::clean(&refusal.why)));
    });
    if let Some(hint) = &refusal.hint {
        html.inside("p", &[], |html| html.prose(&report::clean(hint)));
    }
    html.close("div");
}

/// The head of a view.
pub(crate) fn hero(html: &mut Html, title: &str, about: &str) {
    html.open("div", &[("class", "hero")]);
    html.element("h1", &[("class", "model")], title);
    if !about.is_empty() {
        html.inside("p", &[("class", "eyebrow")], |html| html.prose(about));
    }
    html.close("div");
}

/// That there is nothing, and what would bring it.
pub(crate) fn nothing(html: &mut Html, what: &str, hint: &str) {
    html.inside("p", &[("class", "missing")], |html| {
        html.text(what);
        html.text(" ");
        html.prose(hint);
    });
}
