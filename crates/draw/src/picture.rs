//! The list of pictures; help, documents and tests walk it.

use crate::{
    Material, Theme, batch_scaling, gpu_busy, growth, heat_map, histogram, latency, layer_roofline,
    load, loss, memory, memory_timeline, phases, plot::Paper, roofline, run_steps, sample_order,
    throughput, training,
};
use types::{Ceilings, Run, Summary};

/// Why a picture cannot be drawn, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Absent {
    /// Why.
    pub why: String,
    /// A command that would help.
    pub hint: String,
}

impl Absent {
    pub(crate) fn new(why: impl Into<String>, hint: impl Into<String>) -> Absent {
        Absent { why: why.into(), hint: hint.into() }
    }
}

/// One kind of picture.
#[derive(Debug)]
pub struct Picture {
    /// Its name in file names and on the command line.
    pub name: &'static str,
    /// What it shows, in a few words.
    pub shows: &'static str,
    draw: fn(&Material, Theme) -> Result<String, Absent>,
    pages: fn(&Material) -> usize,
}

impl Picture {
    /// The picture with this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Picture> {
        PICTURES.iter().find(|picture| picture.name == name)
    }

    /// The picture as SVG; equal material gives equal text.
    ///
    /// # Errors
    /// Where the material has nothing to show.
    pub fn svg(&self, material: &Material, theme: Theme) -> Result<String, Absent> {
        (self.draw)(material, theme)
    }

    /// Pages that everything takes, to be asked for by [`Material::page`]; 0 where the picture itself has room for all.
    #[must_use]
    pub fn pages(&self, material: &Material) -> usize {
        match (self.pages)(material) {
            pages if pages > 1 && material.has_pages => pages,
            _ => 0,
        }
    }

    /// The picture with the colours of the page around it.
    ///
    /// # Errors
    /// As [`Picture::svg`].
    pub fn for_page(&self, material: &Material) -> Result<Drawn, Absent> {
        let svg = crate::with_variables(&self.svg(material, Theme::Light)?);
        Ok(Drawn { svg, notes: Vec::new() })
    }

    /// The same for phones, where the words of the other would be too small.
    ///
    /// # Errors
    /// As [`Picture::svg`].
    pub fn for_phone(&self, material: &Material) -> Result<Drawn, Absent> {
        self.for_page(&Material { paper: Paper::Phone, ..material.clone() })
    }
}

/// Every picture.
pub const PICTURES: &[Picture] = &[
    Picture {
        name: "throughput",
        shows: "samples per second at the best batch, with intervals",
        draw: throughput::draw,
        pages: |material| throughput::choice(material, None).pages,
    },
    Picture {
        name: "latency",
        shows: "distribution of the times, with median and p95",
        draw: latency::draw,
        pages: |material| latency::choice(material, None).pages,
    },
    Picture {
        name: "memory",
        shows: "peak memory, and how much of it weights and activations account for",
        draw: memory::draw,
        pages: |material| memory::choice(material, None).pages,
    },
    Picture {
        name: "batch-scaling",
        shows: "samples per second over the batch size, beside the ideal",
        draw: batch_scaling::draw,
        pages: batch_scaling::pages,
    },
    Picture {
        name: "training",
        shows: "a training step by phases, relative to its inference",
        draw: training::draw,
        pages: |material| training::choice(material, None).pages,
    },
    Picture {
        name: "growth",
        shows: "the time of a step of writing over the tokens in the cache",
        draw: growth::draw,
        pages: |material| growth::choice(material, None).pages,
    },
    Picture {
        name: "load",
        shows: "what users wait, over the rate of requests or the number of users",
        draw: load::draw,
        pages: |material| load::choice(material, None).pages,
    },
    Picture {
        name: "roofline",
        shows: "operations per second under the measured ceilings of the machine",
        draw: roofline::draw,
        pages: |material| roofline::choice(material, None).map_or(1, |(_, choice)| choice.pages),
    },
    Picture {
        name: "heat-map",
        shows: "every model by machine, device, engine and precision, as a share of its best",
        draw: heat_map::draw,
        pages: heat_map::pages,
    },
];

/// What a picture of one run is drawn from.
#[derive(Debug, Clone, Copy)]
pub struct RunMaterial<'a> {
    /// The run.
    pub run: &'a Run,
    /// What its machine can do at best, where that is known.
    pub ceilings: Option<&'a Ceilings>,
    /// What it is drawn for.
    pub paper: Paper,
}

impl RunMaterial<'_> {
    /// The samples of the phase people mean by latency, in seconds and in their order.
    pub(crate) fn in_order(&self) -> Vec<f64> {
        let nanos = self.run.samples_of(self.run.main_phase()).unwrap_or_default();
        nanos.iter().map(|nanos| *nanos as f64 / 1e9).collect()
    }

    /// The same in the order of their size, with their summary.
    pub(crate) fn sorted(&self) -> Result<(Vec<f64>, Summary), Absent> {
        let mut samples = self.in_order();
        samples.sort_by(f64::total_cmp);
        match self.run.summaries.get(&self.run.main_phase()) {
            Some(summary) if !samples.is_empty() => Ok((samples, summary.clone())),
            _ => Err(self.no_samples()),
        }
    }

    pub(crate) fn no_samples(&self) -> Absent {
        let why = match &self.run.imported {
            Some(import) => format!("{} reports no samples", report::clean(&import.tool)),
            None => "the run has no samples".into(),
        };
        Absent::new(why, MEASURE)
    }

    /// What one sample is.
    pub(crate) fn sample_word(&self) -> &'static str {
        report::sample_word(self.run)
    }

    pub(crate) fn sample_name(&self) -> String {
        format!("time of one {}", self.sample_word())
    }
}

/// A picture of one run: it takes its colours from the page around it, and what it needs said is said below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawn {
    /// The picture as SVG.
    pub svg: String,
    /// Sentences that belong below it.
    pub notes: Vec<String>,
}

/// One kind of picture of one run, for a page.
#[derive(Debug)]
pub struct RunPicture {
    /// Its name.
    pub name: &'static str,
    /// What stands above it.
    pub title: &'static str,
    draw: fn(&RunMaterial<'_>) -> Result<Drawn, Absent>,
}

impl RunPicture {
    /// The picture with this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static RunPicture> {
        RUN_PICTURES.iter().find(|picture| picture.name == name)
    }

    /// The picture; equal material gives equal text.
    ///
    /// # Errors
    /// Where the run has nothing to show.
    pub fn draw(&self, material: &RunMaterial<'_>) -> Result<Drawn, Absent> {
        let drawn = (self.draw)(material)?;
        Ok(Drawn { svg: crate::with_variables(&drawn.svg), ..drawn })
    }
}

/// Every picture of one run.
pub const RUN_PICTURES: &[RunPicture] = &[
    RunPicture { name: "histogram", title: "Distribution", draw: histogram::draw },
    RunPicture { name: "order", title: "Sample order", draw: sample_order::draw },
    RunPicture {
        name: "layer-roofline",
        title: "Roofline of the layers",
        draw: layer_roofline::draw,
    },
    RunPicture {
        name: "memory-timeline",
        title: "Memory over one inference",
        draw: memory_timeline::draw,
    },
    RunPicture { name: "gpu-busy", title: "Use of the GPU", draw: gpu_busy::draw },
    RunPicture { name: "phases", title: "Phases of a step", draw: phases::draw },
    RunPicture { name: "loss", title: "Loss", draw: loss::draw },
    RunPicture { name: "steps", title: "Steps over the depth", draw: run_steps::draw },
];

/// What to run where nothing was measured.
pub(crate) const MEASURE: &str = "modelmeter profile MODEL";
