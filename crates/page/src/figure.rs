//! Pictures with what stands above and below them, or why there is none.

use crate::{
    html::{Attributes, Html},
    tabs::Level,
};
use draw::{Absent, Drawn};

/// Where the title of a picture stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Title {
    /// Above it.
    Shown,
    /// In the picture itself; those who cannot see it hear it all the same.
    InThePicture,
}

/// A picture in its frame; `narrow` is the same one for phones, in a frame of its own.
pub(crate) fn figure(
    html: &mut Html,
    (title, place): (&str, Title),
    level: Level,
    picture: Result<&Drawn, &Absent>,
    narrow: Option<&Drawn>,
) {
    let heading: Attributes<'_> = match place {
        Title::Shown => &[],
        Title::InThePicture => &[("class", "unseen")],
    };
    let class = if narrow.is_some() { "card for-screens" } else { "card" };
    let narrow = narrow.map(|narrow| ("card for-phones", Ok(narrow)));
    for (class, picture) in std::iter::once((class, picture)).chain(narrow) {
        html.open("figure", &[("class", class)]);
        html.element(level.name(), heading, title);
        match picture {
            Ok(drawn) => {
                let scroll =
                    [("class", "scroll picture"), ("role", "region"), ("aria-label", title)];
                html.open("div", &[&scroll[..], &[("tabindex", "0")]].concat());
                html.picture(drawn);
                html.close("div");
                if !drawn.notes.is_empty() {
                    html.inside("figcaption", &[], |html| html.prose(&drawn.notes.join(" ")));
                }
            }
            Err(Absent { why, hint }) => missing(html, why, hint),
        }
        html.close("figure");
    }
}

/// What is not there, why, and what would bring it.
pub(crate) fn missing(html: &mut Html, why: &str, hint: &str) {
    html.inside("p", &[("class", "missing")], |html| {
        html.text("Not available: ");
        html.prose(why);
        html.text(".");
        if !hint.is_empty() {
            html.text(" To get it: ");
            html.element("code", &[], hint);
            html.text(".");
        }
    });
}
