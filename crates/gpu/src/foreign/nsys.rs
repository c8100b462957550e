//! The SQLite export of Nsight Systems (`nsys export --type sqlite`). Tables and columns differ between its versions and with
//! what was recorded, so each is asked for before it is read.

use super::{Builder, Tool, small};
use crate::read::Recording;
use rusqlite::{Connection, OpenFlags, Row};
use std::{
    collections::{BTreeMap, HashSet},
    path::Path,
};
use types::GpuProblemKind;

/// Types of events that are ranges: pushed and popped, started and ended.
const RANGES: &str = "(59, 60)";

pub(super) fn read(path: &Path) -> Result<Vec<Recording>, String> {
    let failed = |error: rusqlite::Error| format!("it is no export of Nsight Systems: {error}");
    // Nothing is written, whatever stands in the file.
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(path, flags).map_err(failed)?;
    let mut reader = Reader { database: &database, builders: BTreeMap::new() };
    if !reader.columns("StringIds").map_err(failed)?.contains("value") {
        return Err("it is a database, but no export of Nsight Systems".into());
    }
    reader.kernels().map_err(failed)?;
    reader.copies().map_err(failed)?;
    reader.sets().map_err(failed)?;
    reader.calls().map_err(failed)?;
    reader.ranges().map_err(failed)?;
    reader.graphs().map_err(failed)?;
    Ok(reader.builders.into_values().map(Builder::finish).collect())
}

struct Reader<'a> {
    database: &'a Connection,
    builders: BTreeMap<u32, Builder>,
}

type Columns = HashSet<String>;

impl Reader<'_> {
    /// The columns of a table; none if there is no such table.
    fn columns(&self, table: &str) -> rusqlite::Result<Columns> {
        let mut statement = self.database.prepare("SELECT name FROM pragma_table_info(?1)")?;
        let columns = statement.query_map([table], |row| row.get::<_, String>(0))?;
        columns.collect()
    }

    /// Runs a query over a table that may not be there, and hands over its rows; `columns` are named in order, and those that
    /// this version does not have are NULL.
    fn each(
        &mut self,
        table: &str,
        columns: &[&str],
        condition: &str,
        mut take: impl FnMut(&mut BTreeMap<u32, Builder>, &Row<'_>) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        let (database, known) = (self.database, self.columns(table)?);
        if known.is_empty() {
            return Ok(());
        }
        let chosen: Vec<String> = columns
            .iter()
            .map(|column| match known.contains(*column) {
                true => format!("t.{column}"),
                false => "NULL".to_owned(),
            })
            .collect();
        // Names of tables and columns are ours.
        let query = format!("SELECT {} FROM {table} t {condition}", chosen.join(", "));
        let mut statement = database.prepare(&query)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            take(&mut self.builders, row)?;
        }
        Ok(())
    }

    fn texts(&self) -> rusqlite::Result<std::collections::HashMap<i64, String>> {
        let mut statement = self.database.prepare("SELECT id, value FROM StringIds")?;
        let texts = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        texts.collect()
    }

    fn kernels(&mut self) -> rusqlite::Result<()> {
        let texts = self.texts()?;
        let columns = [
            "start",
            "end",
            "globalPid",
            "deviceId",
            "contextId",
            "streamId",
            "correlationId",
            "demangledName",
            "shortName",
            "graphNodeId",
            "gridX",
            "gridY",
            "gridZ",
            "blockX",
            "blockY",
            "blockZ",
        ];
        self.each("CUPTI_ACTIVITY_KIND_KERNEL", &columns, "", |builders, row| {
            let [name, short, node] = [7, 8, 9].map(|at| number(row, at).unwrap_or(0));
            let text = texts.get(&name).or_else(|| texts.get(&short));
            let name = text.map_or("(unknown kernel)", String::as_str);
            let product = |from: usize| {
                (from..from + 3).fold(1_u32, |all, at| all.saturating_mul(size(row, at)))
            };
            let size = [product(10), product(13)];
            let node = u64::try_from(node).unwrap_or(0);
            let origin = (part(row, 6), node);
            of(builders, row, 2).kernel(name, size, times(row), place(row), origin);
            Ok(())
        })
    }

    fn copies(&mut self) -> rusqlite::Result<()> {
        let columns = [
            "start",
            "end",
            "globalPid",
            "deviceId",
            "contextId",
            "streamId",
            "correlationId",
            "bytes",
            "copyKind",
            "srcKind",
            "dstKind",
        ];
        self.each("CUPTI_ACTIVITY_KIND_MEMCPY", &columns, "", |builders, row| {
            let bytes = u64::try_from(number(row, 7).unwrap_or(0)).unwrap_or(0);
            let direction = u8::try_from(number(row, 8).unwrap_or(0)).unwrap_or(0);
            let kinds = [direction, memory(row, 9), memory(row, 10)];
            of(builders, row, 2).copy(bytes, kinds, times(row), place(row), part(row, 6));
            Ok(())
        })
    }

    fn sets(&mut self) -> rusqlite::Result<()> {
        let columns =
            ["start", "end", "globalPid", "deviceId", "contextId", "streamId", "correlationId"];
        self.each("CUPTI_ACTIVITY_KIND_MEMSET", &columns, "", |builders, row| {
            of(builders, row, 2).set(times(row), place(row), part(row, 6));
            Ok(())
        })
    }

    fn calls(&mut self) -> rusqlite::Result<()> {
        let texts = self.texts()?;
        let columns = ["start", "end", "globalTid", "correlationId", "nameId"];
        // Calls of the driver and synchronisations are in this table too, or in none.
        self.each("CUPTI_ACTIVITY_KIND_RUNTIME", &columns, "", |builders, row| {
            let name = number(row, 4).and_then(|id| texts.get(&id)).map_or("", String::as_str);
            of(builders, row, 2).call(name, times(row), thread(row, 2), part(row, 3));
            Ok(())
        })
    }

    /// Graphs that were recorded as a whole are no kernels; without these a device that was busy would seem idle.
    fn graphs(&mut self) -> rusqlite::Result<()> {
        let columns = ["start", "end", "globalPid"];
        self.each("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", &columns, "", |builders, row| {
            of(builders, row, 2).recording.problem(
                GpuProblemKind::WholeGraphs,
                "CUDA graphs were recorded as a whole, without their kernels: record with `nsys profile --cuda-graph-trace=node`"
                    .into(),
            );
            Ok(())
        })
    }

    fn ranges(&mut self) -> rusqlite::Result<()> {
        let texts = self.texts()?;
        let columns = ["start", "end", "globalTid", "text", "textId"];
        let condition = format!("WHERE t.eventType IN {RANGES} AND t.end IS NOT NULL");
        if !self.columns("NVTX_EVENTS")?.contains("eventType") {
            return Ok(());
        }
        self.each("NVTX_EVENTS", &columns, &condition, |builders, row| {
            let own: Option<String> = row.get(3).unwrap_or(None);
            let text = own.or_else(|| number(row, 4).and_then(|id| texts.get(&id).cloned()));
            let name = text.unwrap_or_default();
            of(builders, row, 2).range(&name, times(row), thread(row, 2));
            Ok(())
        })
    }
}

/// Nsight Systems packs the process and the thread into one number, 24 bits each.
const BITS: u32 = 24;
const MASK: i64 = (1 << BITS) - 1;

fn of<'a>(builders: &'a mut BTreeMap<u32, Builder>, row: &Row<'_>, at: usize) -> &'a mut Builder {
    let process = small((number(row, at).unwrap_or(0) >> BITS) & MASK);
    builders.entry(process).or_insert_with(|| Builder::new(process, Tool::Nsys))
}

fn thread(row: &Row<'_>, at: usize) -> u32 {
    small(number(row, at).unwrap_or(0) & MASK)
}

/// A number; what is none counts as missing.
fn number(row: &Row<'_>, at: usize) -> Option<i64> {
    row.get::<_, Option<i64>>(at).unwrap_or(None)
}

fn part(row: &Row<'_>, at: usize) -> u32 {
    small(number(row, at).unwrap_or(0))
}

/// CUPTI's number for a kind of memory, of which Nsight Systems counts the same ones from 0 (`ENUM_CUDA_MEM_KIND`).
fn memory(row: &Row<'_>, at: usize) -> u8 {
    let kind = number(row, at).filter(|kind| (0..=6).contains(kind));
    kind.and_then(|kind| u8::try_from(kind + 1).ok()).unwrap_or(0)
}

fn size(row: &Row<'_>, at: usize) -> u32 {
    small(number(row, at).unwrap_or(1))
}

fn place(row: &Row<'_>) -> [u32; 3] {
    [part(row, 3), part(row, 4), part(row, 5)]
}

fn times(row: &Row<'_>) -> super::Times {
    let time = |at| u64::try_from(number(row, at).unwrap_or(0)).unwrap_or(0);
    (time(0), time(1))
}
