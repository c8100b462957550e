//! The section of one run: its head, and its parts behind tabs.

use crate::{
    Pictures, advice,
    figure::{Title, figure, missing},
    hero::{capital, hero},
    html::Html,
    table::{self, Extras},
    tabs::{Level, Tab, tabs},
};
use draw::{Paper, RunMaterial, RunPicture};
use report::{Grid, Inner, Sheet, Subject};
use types::{GenerationTest, Mode};

/// How much of a run is told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Depth<'a> {
    pub(crate) pictures: Pictures,
    /// Layers, memory, environment and samples.
    pub(crate) details: bool,
    /// One more part, behind the layers.
    pub(crate) more: Option<&'a Tab>,
}

/// Writes the section of a run; `group` makes names unique in the page.
pub(crate) fn run(
    html: &mut Html,
    subject: &Subject,
    title: &str,
    group: &str,
    depth: Depth<'_>,
    level: Level,
) {
    let sheet = Sheet::of(&subject.run);
    hero(html, subject, &sheet, title, level);
    let writer = Writer { subject, sheet: &sheet, depth, level: level.below() };
    let mut parts = vec![writer.tab("Latency", Writer::latency)];
    if depth.details {
        if subject.run.cell.mode == Mode::Training {
            parts.push(writer.tab("Training", Writer::training));
        }
        if subject.run.cell.mode == Mode::Generate {
            parts.push(writer.tab("Generation", Writer::generation));
        }
        parts.push(writer.tab("Layers", Writer::layers));
        parts.extend(depth.more.cloned());
        parts.push(writer.tab("Memory", Writer::memory));
    }
    parts.push(writer.tab("Advice", Writer::advice));
    if depth.details {
        parts.push(writer.tab("Environment", Writer::environment));
    }
    parts.push(writer.tab("Reproduce", Writer::reproduce));
    let about = format!("Parts of run {}", report::clean(&subject.name));
    tabs(html, group, &about, level.below(), parts);
}

struct Writer<'a> {
    subject: &'a Subject,
    sheet: &'a Sheet,
    depth: Depth<'a>,
    /// The level of a part's heading.
    level: Level,
}

impl Writer<'_> {
    fn tab(&self, name: &'static str, fill: fn(&Self, &mut Html)) -> Tab {
        let mut body = Html::default();
        fill(self, &mut body);
        Tab { name, body }
    }

    fn heading(&self, html: &mut Html, text: &str) {
        html.element(self.level.below().name(), &[], text);
    }

    fn pictures(&self, html: &mut Html, names: &[&str]) {
        if self.depth.pictures == Pictures::LeftOut {
            return;
        }
        let on = |paper| RunMaterial {
            run: &self.subject.run,
            ceilings: self.subject.ceilings.as_ref(),
            paper,
        };
        html.open("div", &[("class", "pictures")]);
        for picture in names.iter().filter_map(|name| RunPicture::by_name(name)) {
            let [drawn, narrow] = [Paper::Screen, Paper::Phone].map(|it| picture.draw(&on(it)));
            let title = (picture.title, Title::Shown);
            figure(html, title, self.level.below(), drawn.as_ref(), narrow.as_ref().ok());
        }
        html.close("div");
    }

    fn latency(&self, html: &mut Html) {
        if self.depth.details {
            self.pictures(html, &["histogram", "order"]);
        } else {
            self.pictures(html, &["histogram"]);
        }
        let sheet = self.sheet;
        if !sheet.percentiles.rows.is_empty() {
            self.heading(html, "Percentiles and their support");
            let name = "Percentiles and their support";
            table::table(html, name, &sheet.percentiles, &Extras::default());
            html.element(
                "p",
                &[("class", "note")],
                "A percentile is supported if, with 99 % confidence, at least two samples lie above it; those marked \
                 with * are not.",
            );
        }
        self.heading(html, "Phases");
        match sheet.phases.rows.is_empty() {
            true => missing(html, "the run has no times", ""),
            false => table::table(html, "Phases", &sheet.phases, &Extras::default()),
        }
        self.heading(html, "In short");
        let facts = sheet.facts.iter().map(|(label, facts)| (*label, facts.join(" · ")));
        table::facts(html, facts);
    }

    fn training(&self, html: &mut Html) {
        self.pictures(html, &["phases", "loss"]);
        let wanted = ["phases", "training", "held", "world"];
        let facts = self.sheet.facts.iter().filter(|(label, _)| wanted.contains(label));
        table::facts(html, facts.map(|(label, facts)| (*label, facts.join(" · "))));
    }

    fn generation(&self, html: &mut Html) {
        let generation = self.subject.run.cell.generation;
        if generation.is_some_and(|one| one.test == GenerationTest::Decode) {
            self.pictures(html, &["steps"]);
        }
        let wanted = ["cache", "growth"];
        let facts = self.sheet.facts.iter().filter(|(label, _)| wanted.contains(label));
        table::facts(html, facts.map(|(label, facts)| (*label, facts.join(" · "))));
    }

    fn layers(&self, html: &mut Html) {
        match &self.sheet.layers {
            Some(inner) => {
                self.pictures(html, &["layer-roofline"]);
                self.inner(html, inner, &["Layers", "By kind", "By operator"]);
            }
            None => {
                let hint = self.with("--layers");
                missing(html, "the layers were not profiled in this run", &hint);
            }
        }
        if let Some(inner) = &self.sheet.gpu {
            self.pictures(html, &["gpu-busy"]);
            self.inner(html, inner, &["What the GPU did", "Idle time by cause", "Kernels"]);
        }
        if let Some(inner) = &self.sheet.critical_path {
            self.inner(html, inner, &["Critical path"]);
        }
    }

    fn memory(&self, html: &mut Html) {
        let Some(inner) = &self.sheet.memory else {
            let known = self.sheet.facts.iter().filter(|(label, _)| *label == "memory");
            table::facts(html, known.map(|(label, facts)| (*label, facts.join(" · "))));
            let hint = self.with("--memory");
            return missing(html, "the allocations were not recorded in this run", &hint);
        };
        self.pictures(html, &["memory-timeline"]);
        self.inner(html, inner, &["Predicted, allocated and observed", "By layer"]);
    }

    fn inner(&self, html: &mut Html, inner: &Inner, names: &[&str]) {
        for (grid, name) in inner.tables.iter().zip(names) {
            self.heading(html, name);
            table::table(html, name, grid, &Extras { bar: share(grid), ..Extras::default() });
        }
        let (bare, labelled): (Vec<_>, Vec<_>) =
            inner.said.iter().partition(|(label, _)| label.is_empty());
        table::facts(html, labelled.into_iter().map(|(label, text)| (*label, text.clone())));
        for (_, text) in bare {
            html.inside("p", &[("class", "note")], |html| html.prose(&capital(text)));
        }
    }

    fn advice(&self, html: &mut Html) {
        advice::advice(html, self.subject, self.level.below());
    }

    fn environment(&self, html: &mut Html) {
        let facts = self.sheet.environment.iter();
        table::facts(html, facts.map(|(label, text)| (*label, text.clone())));
        if !self.sheet.probes.rows.is_empty() {
            self.heading(html, "Probes");
            table::table(html, "Probes", &self.sheet.probes, &Extras::default());
        }
    }

    fn reproduce(&self, html: &mut Html) {
        match &self.subject.command {
            Ok(command) => {
                html.element("p", &[], "Repeat the measurement:");
                let attributes = [("class", "command"), ("tabindex", "0")];
                html.inside("pre", &attributes, |html| html.element("code", &[], command));
            }
            Err(why) => missing(html, why, ""),
        }
        let name = report::clean(&self.subject.name);
        html.element("p", &[], "This page, and the numbers of the run for programs:");
        html.inside("pre", &[("class", "command"), ("tabindex", "0")], |html| {
            let text = format!(
                "modelmeter report {name} --html report.html\nmodelmeter report {name} --json run.json --csv run.csv"
            );
            html.element("code", &[], &text);
        });
    }

    /// The command of the run with one more option; the bare one where there is no command, and for a load, which has no
    /// such options.
    fn with(&self, option: &str) -> String {
        match &self.subject.command {
            Ok(command) if self.subject.run.load.is_none() => format!("{command} {option}"),
            _ => format!("modelmeter profile MODEL {option}"),
        }
    }
}

/// The column that holds shares, where rows have them.
fn share(grid: &Grid) -> Option<usize> {
    grid.rows.iter().any(|row| row.share.is_some()).then_some(())?;
    grid.columns.iter().position(|column| column.name() == "share")
}
