//! What is stored, damaged behind the store's back.

use super::sample;
use crate::{
    Outcome, Random, Target, mutate,
    target::{ROOM, Reader},
};
use rusqlite::{Connection, params};
use std::io::Read;
use store::Store;
use tempfile::TempDir;

/// Samples.
pub(crate) const SAMPLES: Target = Target {
    name: "stored-samples",
    what: "stored samples",
    one_of: 1,
    room: ROOM,
    seeds: samples,
    mutate: damage_samples,
    open: || -> Reader {
        let scene = Scene::new();
        Box::new(move |bytes| {
            let Some(([count, checksum], packed)) = parts(bytes) else { return Outcome::Refused };
            scene.set(
                "UPDATE samples SET count = ?1, checksum = ?2, nanos = ?3 WHERE phase = 'total'",
                params![count as i64, checksum as i64, packed],
            );
            let run = scene.store.run(&scene.id);
            if let Ok(run) = &run {
                assert!(run.samples.iter().any(|samples| samples.nanos.len() as u64 == count));
            }
            Outcome::from(&run)
        })
    },
    expected: &[],
};

/// Documents.
pub(crate) const DOCUMENT: Target = Target {
    name: "stored-documents",
    what: "stored documents of runs, cells and models",
    one_of: 1,
    room: ROOM,
    seeds: || Scene::new().documents(),
    mutate: mutate::json,
    open: || -> Reader {
        let scene = Scene::new();
        let whole = scene.documents();
        Box::new(move |bytes| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let mut all: Vec<String> =
                whole.iter().map(|body| String::from_utf8_lossy(body).into_owned()).collect();
            let place = super::choice(bytes, 3);
            // What looks like one of them is put in its place.
            let place = ["\"elapsed\"", "\"batch_size\"", "\"fingerprint\""]
                .iter()
                .position(|key| text.contains(key))
                .unwrap_or(place);
            all[place] = text;
            scene.set("UPDATE document SET body = ?1", params![all[0]]);
            scene.set("UPDATE cell SET document = ?1", params![all[1]]);
            scene.set("UPDATE model SET document = ?1", params![all[2]]);
            Outcome::from(&scene.store.run(&scene.id))
        })
    },
    expected: &[],
};

/// A store with one run, and another way into its file.
struct Scene {
    store: Store,
    id: String,
    file: Connection,
    _folder: TempDir,
}

impl Scene {
    fn new() -> Scene {
        let folder = super::folder();
        let path = folder.path().join("runs.db");
        let store = Store::open(&path).expect("a new store");
        let run = sample::run(1);
        store.insert_run(&run).expect("a whole run");
        let file = Connection::open(&path).expect("the store's file");
        file.execute_batch("PRAGMA synchronous = OFF").expect("a setting of SQLite");
        Scene { store, id: run.id.0, file, _folder: folder }
    }

    fn set(&self, sql: &str, values: &[&dyn rusqlite::ToSql]) {
        self.file.execute(sql, values).expect("a row of the store");
    }

    /// The documents of the run, its cell and its model.
    fn documents(&self) -> Vec<Vec<u8>> {
        ["SELECT body FROM document", "SELECT document FROM cell", "SELECT document FROM model"]
            .map(|sql| {
                let text: String =
                    self.file.query_row(sql, [], |row| row.get(0)).expect("a row of the store");
                text.into_bytes()
            })
            .into()
    }
}

/// The count and the checksum in front, then the packed bytes.
fn parts(bytes: &[u8]) -> Option<([u64; 2], &[u8])> {
    let (head, packed) = bytes.split_first_chunk::<16>()?;
    let (numbers, _) = head.as_chunks::<8>();
    Some(([u64::from_le_bytes(numbers[0]), u64::from_le_bytes(numbers[1])], packed))
}

fn joined([count, checksum]: [u64; 2], packed: &[u8]) -> Vec<u8> {
    [&count.to_le_bytes()[..], &checksum.to_le_bytes(), packed].concat()
}

/// Samples as they are stored, and a few bytes that unpack to half a gigabyte.
fn samples() -> Vec<Vec<u8>> {
    let scene = Scene::new();
    let sql = "SELECT count, checksum, nanos FROM samples";
    let mut statement = scene.file.prepare(sql).expect("a table of the store");
    let rows = statement.query_map([], |row| {
        let numbers: [i64; 2] = [row.get(0)?, row.get(1)?];
        Ok(joined(numbers.map(|number| number as u64), &row.get::<_, Vec<u8>>(2)?))
    });
    let mut seeds: Vec<Vec<u8>> =
        rows.expect("rows of the store").map(|row| row.expect("a row of the store")).collect();
    let mut bomb = Vec::new();
    zstd::stream::copy_encode(std::io::repeat(0).take(512 << 20), &mut bomb, 1)
        .expect("memory can be written");
    seeds.push(joined([20, 0], &bomb));
    seeds
}

/// The numbers are damaged before they are packed, the packed bytes, or what is said of them.
fn damage_samples(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let seed = random.pick(seeds).cloned().unwrap_or_default();
    let Some((mut numbers, packed)) = parts(&seed) else { return seed };
    // A bomb is as it is; damaging it would unpack it.
    let is_small = packed.len() < 4096;
    let plain = is_small.then(|| zstd::stream::decode_all(packed).ok()).flatten();
    let packed = match plain {
        // The same numbers, packed otherwise: these are whole.
        Some(plain) if random.percent(10) => {
            return joined(numbers, &zstd::bulk::compress(&plain, 9).unwrap_or_default());
        }
        Some(plain) if random.percent(60) => {
            let plain = mutate::bytes(random, &[plain]);
            zstd::bulk::compress(&plain, 1).unwrap_or_default()
        }
        Some(_) => mutate::bytes(random, &[packed.to_vec()]),
        None => packed.to_vec(),
    };
    if random.percent(30) {
        numbers[random.below(2)] = random.edge() as u64;
    }
    joined(numbers, &packed)
}
