//! What was learned from a database, kept between commands: an answer must not wait for a fit, and none comes from an old one.
//!
//! A file has three parts: a line that says of which database the rest is, a line of JSON, and the numbers of the fits, eight
//! bytes each.

use super::Experience;
use crate::{Error, Folders, VERSION};
use predict::{Catalogue, Kept, Learned};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    io::{BufWriter, Write},
    path::Path,
    sync::OnceLock,
};
use store::Store;

/// Raised whenever the same runs lead to another fit, or are kept in another way, so that kept ones are made again.
const FITS: u32 = 3;

/// What one kind of hardware says, or why it says nothing.
type Fit<T> = Result<T, String>;

/// What was learned from a database, kept between commands.
pub struct Fits {
    /// What it was learned from.
    pub experience: Experience,
    /// Of processors, then of GPUs: what was kept, until somebody asks.
    kept: [Option<Fit<Kept>>; 2],
    learned: [OnceLock<Fit<Learned>>; 2],
}

#[derive(Serialize, Deserialize)]
struct KeptFits {
    experience: Experience,
    fits: [Fit<Kept>; 2],
    /// How many numbers each fit has.
    numbers: [usize; 2],
}

impl Fits {
    /// What was kept, if it is of all that the database holds now; otherwise learned now, and kept. `again` learns in any case.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn of(
        store: &Store,
        catalogue: &Catalogue,
        folders: &Folders,
        again: bool,
    ) -> Result<Fits, Error> {
        let stamp = stamp(store, catalogue)?;
        let place = folders.database.to_string_lossy();
        let file = folders
            .engines
            .with_file_name("predictions")
            .join(format!("{:016x}.fit", types::stable_hash(place.bytes())));
        if !again && let Some(kept) = Fits::kept(&file, &stamp) {
            return Ok(kept);
        }
        let experience = Experience::of(store, catalogue)?;
        let learned = [false, true].map(|is_gpu| learn(&experience, is_gpu));
        // A fit that cannot be kept is made again.
        let _ = write(&file, &stamp, &experience, &learned);
        Ok(Fits { experience, kept: [None, None], learned: learned.map(OnceLock::from) })
    }

    fn kept(file: &Path, stamp: &str) -> Option<Fits> {
        let bytes = fs::read(file).ok()?;
        let (own, rest) = line(&bytes)?;
        if own != stamp.as_bytes() {
            return None;
        }
        let (json, rest) = line(rest)?;
        let KeptFits { experience, fits, numbers } = serde_json::from_slice(json).ok()?;
        let (numbers_of, remainder) = rest.as_chunks::<8>();
        let count = numbers.iter().try_fold(0usize, |sum, count| sum.checked_add(*count))?;
        if !remainder.is_empty() || numbers_of.len() != count {
            return None;
        }
        let mut numbers_of = numbers_of.iter().map(|bytes| f64::from_le_bytes(*bytes));
        let mut next = |fit: Fit<Kept>, count: usize| {
            let own: Vec<f64> = numbers_of.by_ref().take(count).collect();
            Some(fit.map(|fit| fit.with_numbers(own)))
        };
        let [processors, gpus] = fits;
        let kept = [next(processors, numbers[0]), next(gpus, numbers[1])];
        Some(Fits { experience, kept, learned: Default::default() })
    }

    /// What was learned of one kind of hardware.
    pub fn of_kind(&self, is_gpu: bool) -> &Fit<Learned> {
        let at = usize::from(is_gpu);
        self.learned[at].get_or_init(|| match &self.kept[at] {
            Some(Ok(kept)) => match kept.clone().learned(self.experience.of_kind(is_gpu)) {
                Some(learned) => Ok(learned),
                None => learn(&self.experience, is_gpu),
            },
            Some(Err(why)) => Err(why.clone()),
            None => learn(&self.experience, is_gpu),
        })
    }
}

fn learn(experience: &Experience, is_gpu: bool) -> Fit<Learned> {
    experience.learn(is_gpu).map_err(|error| error.to_string())
}

/// What is before the first end of a line, and what is after it.
fn line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

/// What changes with everything that a fit follows from: this program, the runs, machines and ceilings of the database, and the
/// stated peaks.
fn stamp(store: &Store, catalogue: &Catalogue) -> Result<String, Error> {
    let stated = types::stable_hash(format!("{catalogue:?}").bytes());
    Ok(format!("{VERSION} {FITS} {:016x} {stated:016x}", store.fingerprint()?))
}

/// Another command may read meanwhile: it sees the old file or the new one.
fn write(
    file: &Path,
    stamp: &str,
    experience: &Experience,
    learned: &[Fit<Learned>; 2],
) -> std::io::Result<()> {
    let fits = learned.each_ref().map(|fit| fit.as_ref().map(Kept::from).map_err(Clone::clone));
    let numbers = fits.each_ref().map(|fit| fit.as_ref().map_or(&[][..], Kept::numbers).to_vec());
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let new = tempfile::NamedTempFile::new_in(folder)?;
    let mut to = BufWriter::new(&new);
    writeln!(to, "{stamp}")?;
    let counts = numbers.each_ref().map(Vec::len);
    let kept = KeptFits { experience: experience.clone(), fits, numbers: counts };
    serde_json::to_writer(&mut to, &kept)?;
    writeln!(to)?;
    for number in numbers.iter().flatten() {
        to.write_all(&number.to_le_bytes())?;
    }
    to.flush()?;
    drop(to);
    new.persist(file)?;
    Ok(())
}
