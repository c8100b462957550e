//! The list of pictures; help, documents and tests walk it.

use crate::{
    Material, Theme, batch_scaling, heat_map, latency, memory, roofline, throughput, training,
};

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
}

impl Picture {
    /// The picture with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Picture> {
        PICTURES.iter().find(|picture| picture.name == name)
    }

    /// The picture as SVG; equal material gives equal text.
    ///
    /// # Errors
    /// Where the material has nothing to show.
    pub fn svg(&self, material: &Material, theme: Theme) -> Result<String, Absent> {
        (self.draw)(material, theme)
    }
}

/// Every picture.
pub const PICTURES: &[Picture] = &[
    Picture {
        name: "throughput",
        shows: "samples a second at the best batch, with intervals",
        draw: throughput::draw,
    },
    Picture {
        name: "latency",
        shows: "how the samples of the time are distributed, median and p95 marked",
        draw: latency::draw,
    },
    Picture {
        name: "memory",
        shows: "peak memory, and how much of it weights and activations account for",
        draw: memory::draw,
    },
    Picture {
        name: "batch-scaling",
        shows: "samples a second over the batch size, beside the ideal",
        draw: batch_scaling::draw,
    },
    Picture {
        name: "training",
        shows: "a training step by phases, in times of its inference",
        draw: training::draw,
    },
    Picture {
        name: "roofline",
        shows: "operations a second under the measured ceilings of the machine",
        draw: roofline::draw,
    },
    Picture {
        name: "heat-map",
        shows: "every model on all hardware, as a share of its best",
        draw: heat_map::draw,
    },
];

/// What to run where nothing was measured.
pub(crate) const MEASURE: &str = "modelmeter profile MODEL";
