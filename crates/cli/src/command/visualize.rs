//! `modelmeter visualize`: stored runs as pictures in a folder.

use crate::{
    Exit, Failure, Sinks,
    arguments::{FormatArgument, Global, ThemeArgument, Visualize},
    command::{open_existing_store, survey::survey},
    output,
};
use draw::{Absent, Material, Picture, Theme};
use modelmeter::PICTURES;
use report::{DrawnPicture, DrawnPictures};
use std::{fs, path::Path};
use types::InvalidRuns;

/// Pixels a point: sharp on today's screens.
const SCALE: f32 = 2.0;

pub(crate) fn run(arguments: &Visualize, global: &Global) -> Result<Exit, Failure> {
    let folder = arguments.output.as_path();
    check(folder)?;
    arguments.result.check([])?;
    let store = open_existing_store(global)?;
    let mut material = survey(&arguments.survey).material(&store)?;
    let asked = |picture: &&Picture| {
        arguments.only.is_empty() || arguments.only.iter().any(|name| name == picture.name)
    };
    let mut pictures = Vec::new();
    for picture in PICTURES.iter().filter(asked) {
        pictures.push(drawn(picture, &mut material, folder, arguments)?);
    }
    let mut reasons = InvalidRuns::default();
    material.not_valid.iter().for_each(|one| reasons.merge(&one.reasons));
    let drawn = DrawnPictures {
        folder: folder.display().to_string(),
        pictures,
        not_valid_cells: if reasons.is_empty() { 0 } else { material.not_valid.len() },
        shows_not_valid: material.cells.iter().any(|cell| cell.invalid.is_some()),
        not_valid: reasons,
        again: material.again,
    };
    let count = drawn.file_count();
    let exit = if count == 0 { Exit::Untold } else { Exit::Fine };
    let mut sinks = Sinks::new(global);
    if count > 0 {
        sinks.talk(&format!("wrote {count} files into {}\n", folder.display()));
    }
    sinks.result(&report::pictures_document(&drawn), &arguments.result, exit);
    Ok(sinks.finish(exit))
}

/// Draws a picture and its pages into the folder.
fn drawn(
    picture: &Picture,
    material: &mut Material,
    folder: &Path,
    arguments: &Visualize,
) -> Result<DrawnPicture, Failure> {
    material.page = None;
    let mut drawn = DrawnPicture {
        name: picture.name.to_owned(),
        shows: picture.shows.to_owned(),
        ..DrawnPicture::default()
    };
    match write(picture, material, folder, arguments)? {
        Err(Absent { why, hint }) => drawn.absent = Some((why, hint)),
        Ok(files) => {
            drawn.files = files;
            if arguments.result.path("html").is_some() {
                drawn.svg = picture.for_page(material).ok().map(|drawn| drawn.svg);
            }
            for page in 0..picture.pages(material) {
                material.page = Some(page);
                // A page may have nothing to show where the picture has: samples are missing of all its cells.
                let files = write(picture, material, folder, arguments)?;
                drawn.files.extend(files.unwrap_or_default());
                material.page = None;
            }
        }
    }
    Ok(drawn)
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
                Failure::new(Exit::Bug, format!("could not draw `{stem}.png`"))
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
        Failure::new(Exit::Wrong, format!("could not create the folder `{}`", folder.display()))
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
