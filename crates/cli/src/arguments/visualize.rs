//! The arguments of `visualize`.

use super::{ResultOutput, SurveyArguments};
use clap::{Args, ValueEnum, builder::PossibleValuesParser};
use modelmeter::PICTURES;
use std::path::PathBuf;

const AFTER: &str = "\
Exit codes: 0 fine, 2 usage error, 4 nothing could be drawn

Examples:
  modelmeter visualize
  modelmeter visualize bert-base-uncased --output pictures
  modelmeter visualize --only latency,roofline --format svg --theme dark
  modelmeter visualize --engine onnxruntime,rten --precision fp32 --since 7d";

#[derive(Debug, Args)]
#[command(visible_alias = "visualise", after_help = AFTER)]
pub(crate) struct Visualize {
    #[command(flatten)]
    pub(crate) survey: SurveyArguments,

    /// Charts
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "PICTURE,…",
        value_parser = PossibleValuesParser::new(PICTURES.iter().map(|picture| picture.name)),
        help_heading = "Output"
    )]
    pub(crate) only: Vec<String>,
    /// File formats
    #[arg(
        long,
        alias = "formats",
        value_enum,
        value_delimiter = ',',
        value_name = "FORMAT,…",
        help_heading = "Output"
    )]
    pub(crate) format: Vec<FormatArgument>,
    /// Themes
    #[arg(
        long,
        alias = "themes",
        value_enum,
        value_delimiter = ',',
        value_name = "THEME,…",
        help_heading = "Output"
    )]
    pub(crate) theme: Vec<ThemeArgument>,

    /// Output folder, created if missing; charts in it are replaced
    #[arg(
        long,
        short,
        alias = "output-dir",
        value_name = "DIR",
        default_value = "modelmeter-pictures",
        help_heading = "Output"
    )]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) result: ResultOutput,
}

/// How a picture is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArgument {
    /// Vector graphics
    Svg,
    /// Bitmap, at twice the size
    Png,
}

/// Which colours a picture has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ThemeArgument {
    /// Dark text on white
    Light,
    /// Light text on a dark background
    Dark,
}
