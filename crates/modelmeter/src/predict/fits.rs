//! What was learned from a database, kept between commands: an answer must not wait for a fit, and none comes from an old one.

use super::Experience;
use crate::{Error, Folders, VERSION};
use predict::{Catalogue, Kept, Known, Learned};
use serde::{Deserialize, Serialize};
use std::{fs, path::Path};
use store::Store;

/// Raised whenever the same runs lead to another fit, so that kept ones are made again.
const FITS: u32 = 2;

/// What was learned from a database, kept between commands.
pub struct Fits {
    /// What it was learned from.
    pub experience: Experience,
    /// What was learned of processors, or why nothing was.
    pub processors: Result<Learned, String>,
    /// What was learned of GPUs, or why nothing was.
    pub gpus: Result<Learned, String>,
}

#[derive(Serialize, Deserialize)]
struct KeptFits {
    stamp: String,
    experience: Experience,
    processors: Result<Kept, String>,
    gpus: Result<Kept, String>,
}

impl Fits {
    /// What was kept, if the database has no newer run; otherwise learned now, and kept. `again` learns in any case.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn of(
        store: &Store,
        catalogue: &Catalogue,
        folders: &Folders,
        again: bool,
    ) -> Result<Fits, Error> {
        let stamp = stamp(store)?;
        let place = folders.database.to_string_lossy();
        let file = folders
            .engines
            .with_file_name("predictions")
            .join(format!("{:016x}.json", types::stable_hash(place.bytes())));
        if !again && let Some(kept) = Fits::kept(&file, &stamp) {
            return Ok(kept);
        }
        let experience = Experience::of(store, catalogue)?;
        let learn = |is_gpu| experience.learn(is_gpu).map_err(|error| error.to_string());
        let (processors, gpus) = (learn(false), learn(true));
        let keep = |learned: &Result<Learned, String>| {
            learned.as_ref().map(Kept::from).map_err(Clone::clone)
        };
        let kept = KeptFits {
            stamp,
            processors: keep(&processors),
            gpus: keep(&gpus),
            experience: experience.clone(),
        };
        // A fit that cannot be kept is made again.
        let _ = write_whole(&file, &kept);
        Ok(Fits { experience, processors, gpus })
    }

    fn kept(file: &Path, stamp: &str) -> Option<Fits> {
        let kept: KeptFits = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
        if kept.stamp != stamp {
            return None;
        }
        let learned = |fit: Result<Kept, String>, cells: &[Known]| match fit {
            Ok(fit) => fit.learned().map(|learned| Ok(learned.knowing(cells))),
            Err(why) => Some(Err(why)),
        };
        Some(Fits {
            processors: learned(kept.processors, &kept.experience.processors)?,
            gpus: learned(kept.gpus, &kept.experience.gpus)?,
            experience: kept.experience,
        })
    }

    /// What was learned of one kind of hardware.
    pub fn of_kind(&self, is_gpu: bool) -> &Result<Learned, String> {
        if is_gpu { &self.gpus } else { &self.processors }
    }
}

/// What changes with every import, deletion and measurement: how many runs there are, the newest, middle and oldest of them, and
/// the ceilings of all machines.
fn stamp(store: &Store) -> Result<String, Error> {
    let count = store.count(&store::Filter::default())?;
    let valid = store.count(&store::Filter { valid: Some(true), ..Default::default() })?;
    let mut stamp = format!("{VERSION} {FITS} {count} {valid}");
    for offset in [0, count / 2, count.saturating_sub(1)] {
        let filter = store::Filter { limit: Some(1), offset, ..Default::default() };
        let rows = store.runs(&filter)?;
        stamp.push(' ');
        stamp.extend(rows.first().map(|row| row.id.0.as_str()));
    }
    let mut ceilings = String::new();
    for machine in store.all_machines()? {
        ceilings += &machine.key;
        ceilings += &format!("{:?}", store.all_ceilings(&machine.key)?);
    }
    Ok(format!("{stamp} {:016x}", types::stable_hash(ceilings.bytes())))
}

/// Another command may read meanwhile: it sees the old file or the new one.
fn write_whole(file: &Path, kept: &KeptFits) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let new = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer(std::io::BufWriter::new(&new), kept)?;
    new.persist(file)?;
    Ok(())
}
