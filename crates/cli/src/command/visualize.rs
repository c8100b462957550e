//! `modelmeter visualize`: stored runs as pictures in a folder.

use crate::{
    Exit, Failure, Sinks,
    arguments::{FormatArgument, Global, ThemeArgument, Visualize},
    command::{open_existing_store, survey::survey},
    output,
};
use modelmeter::{
    PICTURES,
    draw::{self, Absent, Material, Picture, Theme},
    report::{self, clean},
    types::InvalidRuns,
};
use std::{fs, path::Path};

/// Pixels a point: sharp on today's screens.
const SCALE: f32 = 2.0;

pub(crate) fn run(arguments: &Visualize, global: &Global) -> Result<Exit, Failure> {
    let folder = arguments.output.as_path();
    check(folder)?;
    let store = open_existing_store(global)?;
    let mut material = survey(&arguments.survey).material(&store)?;
    let asked = |picture: &&Picture| {
        arguments.only.is_empty() || arguments.only.iter().any(|name| name == picture.name)
    };
    let (mut lines, mut written) = (String::new(), 0);
    for picture in PICTURES.iter().filter(asked) {
        let name = picture.name;
        material.page = None;
        match write(picture, &material, folder, arguments)? {
            Ok(mut files) => {
                for page in 0..picture.pages(&material) {
                    material.page = Some(page);
                    // A page may have nothing to show where the picture has: samples are missing of all its cells.
                    files.extend(write(picture, &material, folder, arguments)?.unwrap_or_default());
                    material.page = None;
                }
                written += files.len();
                lines.push_str(&format!("{name:14} {}\n", picture.shows));
                lines.push_str(&format!("{:14} {}\n", "", files.join(", ")));
            }
            Err(Absent { why, hint }) => {
                lines.push_str(&format!("{name:14} not drawn: {why}; `{hint}`\n"));
            }
        }
    }
    lines.push_str(&left_out(&material));
    if written > 0 {
        let plural = if written == 1 { "" } else { "s" };
        let place = clean(&folder.display().to_string());
        lines.push_str(&format!("\n{written} file{plural} in {place}\n"));
    }
    let exit = if written == 0 { Exit::Untold } else { Exit::Fine };
    let mut sinks = Sinks::new(global);
    sinks.page_of(exit, |_| lines);
    Ok(sinks.finish(exit))
}

/// What was measured and is not in the pictures, or is and cannot be believed.
fn left_out(material: &Material) -> String {
    let mut reasons = InvalidRuns::default();
    material.not_valid.iter().for_each(|one| reasons.merge(&one.reasons));
    if reasons.is_empty() {
        return String::new();
    }
    let cells = material.not_valid.len();
    let is_included = material.cells.iter().any(|cell| cell.invalid.is_some());
    let what =
        if is_included { "marked" } else { "left out; `--include-invalid` shows them marked" };
    let plural = if cells == 1 { "" } else { "s" };
    let mut text = format!(
        "\n{cells} cell{plural} without a valid run {what} ({})\n",
        report::not_valid(&reasons)
    );
    if let Some(again) = &material.again {
        text += &format!("measure again: `{}`\n", clean(again));
    }
    text
}

/// A folder that could never be filled is said before anything is read.
fn check(folder: &Path) -> Result<(), Failure> {
    if folder.as_os_str().is_empty() || (folder.exists() && !folder.is_dir()) {
        let text = format!("`{}` is not a folder", folder.display());
        return Err(Failure::new(Exit::Wrong, text).hint("give a folder with `--output DIR`"));
    }
    Ok(())
}

/// Writes a picture in every format and theme that was asked for; the names of the files, or why there is none.
fn write(
    picture: &Picture,
    material: &Material,
    folder: &Path,
    arguments: &Visualize,
) -> Result<Result<Vec<String>, Absent>, Failure> {
    let mut files = Vec::new();
    for theme in themes(arguments) {
        let svg = match picture.svg(material, theme) {
            Ok(svg) => svg,
            Err(absent) => return Ok(Err(absent)),
        };
        make(folder)?;
        let stem = match material.page {
            Some(page) => format!("{}-{}-{}", picture.name, page + 1, theme.name()),
            None => format!("{}-{}", picture.name, theme.name()),
        };
        if wants(arguments, FormatArgument::Svg) {
            let name = format!("{stem}.svg");
            output::to_file(&folder.join(&name), &svg)?;
            files.push(name);
        }
        if wants(arguments, FormatArgument::Png) {
            let bytes = draw::png(&svg, SCALE).map_err(|error| {
                Failure::new(Exit::Bug, format!("could not paint `{stem}.png`"))
                    .cause(error.to_string())
            })?;
            let name = format!("{stem}.png");
            output::to_file_with(&folder.join(&name), |out| out.write_all(&bytes))?;
            files.push(name);
        }
    }
    Ok(Ok(files))
}

fn make(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| {
        Failure::new(Exit::Wrong, format!("could not make the folder `{}`", folder.display()))
            .cause(error.to_string())
            .hint("give a folder that can be written with `--output DIR`")
    })
}

fn themes(arguments: &Visualize) -> Vec<Theme> {
    let asked = |theme: &Theme| {
        let name = match theme {
            Theme::Light => ThemeArgument::Light,
            Theme::Dark => ThemeArgument::Dark,
        };
        arguments.theme.is_empty() || arguments.theme.contains(&name)
    };
    Theme::ALL.into_iter().filter(asked).collect()
}

fn wants(arguments: &Visualize, format: FormatArgument) -> bool {
    arguments.format.is_empty() || arguments.format.contains(&format)
}
