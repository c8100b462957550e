//! The arguments of `visualize`.

use super::SurveyArguments;
use clap::{Args, ValueEnum, builder::PossibleValuesParser};
use modelmeter::PICTURES;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    visible_alias = "visualise",
    after_help = "Runs are pooled as `modelmeter analyze` does it. Nothing is measured. What each picture shows and how to read it:\ndocs/PICTURES.md\n\nExit codes: 0 fine, 2 asked wrongly, 4 nothing could be drawn\n\nExamples:\n  modelmeter visualize\n  modelmeter visualize bert-base-uncased --output pictures\n  modelmeter visualize --only latency,roofline --format svg --theme dark\n  modelmeter visualize --engine onnxruntime,rten --precision fp32 --since 7d"
)]
pub(crate) struct Visualize {
    #[command(flatten)]
    pub(crate) survey: SurveyArguments,

    /// Only these pictures
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "PICTURE,…",
        value_parser = PossibleValuesParser::new(PICTURES.iter().map(|picture| picture.name)),
        help_heading = "What to draw"
    )]
    pub(crate) only: Vec<String>,
    /// Only these formats
    #[arg(
        long,
        alias = "formats",
        value_enum,
        value_delimiter = ',',
        value_name = "FORMAT,…",
        help_heading = "What to draw"
    )]
    pub(crate) format: Vec<FormatArgument>,
    /// Only these themes
    #[arg(
        long,
        alias = "themes",
        value_enum,
        value_delimiter = ',',
        value_name = "THEME,…",
        help_heading = "What to draw"
    )]
    pub(crate) theme: Vec<ThemeArgument>,

    /// The folder for the pictures, made where there is none; earlier pictures in it are replaced
    #[arg(
        long,
        short,
        alias = "output-dir",
        value_name = "DIR",
        default_value = "modelmeter-pictures",
        help_heading = "Where to"
    )]
    pub(crate) output: PathBuf,
}

/// How a picture is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArgument {
    /// Lines and words, sharp at every size
    Svg,
    /// Pixels, two for each point
    Png,
}

/// Which colours a picture has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ThemeArgument {
    /// Dark words on white
    Light,
    /// Light words on a dark background
    Dark,
}
