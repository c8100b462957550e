//! What the time of a traced run went through, and who waited for whom.

use crate::clean::clean;
use crate::result::{Block, Note};
use crate::sheet::{Grid, GridRow};
use crate::table::Column;
use analysis::longest_links;
use number::{durations_column, percent, seconds, significant};
use types::{CriticalPath, PathPlace, Wait};

/// Names told at most; the others are one line.
const LINKS: usize = 10;

/// Waits below this share of the time are not told.
const LEAST_WAIT: f64 = 0.005;

/// From this share on, a device that waits for its launches is worth a word.
const STARVED: f64 = 0.2;

/// The path as a table, and who waited for whom.
pub(crate) fn blocks(path: &CriticalPath) -> Vec<Block> {
    let (grid, said) = grid(path);
    vec![
        Block::table("critical path", grid),
        Block::Notes(said.into_iter().map(Note::new).collect()),
    ]
}

/// The path as a table, and what is said below it.
pub(crate) fn grid(path: &CriticalPath) -> (Grid, Vec<String>) {
    let mut grid = Grid::of([
        Column::left("critical path").shrinks(),
        Column::left("on"),
        Column::right("times").leaves(1),
        Column::right("time"),
        Column::right("share"),
    ]);
    for (cells, share) in rows(path) {
        let (share, cells) = (Some(share), cells.into());
        grid.push(GridRow { share, cells, ..GridRow::default() });
    }
    (grid, sentences(path))
}

/// The longest links, and the rest as one line.
fn rows(path: &CriticalPath) -> Vec<([String; 5], f64)> {
    let (told, rest) = longest_links(path, LINKS);
    let mut lines: Vec<(String, &str, f64, f64, f64)> = told
        .iter()
        .map(|link| {
            let place = link.place.name();
            (clean(&link.name), place, link.times, link.time.0, link.share.0)
        })
        .collect();
    if let Some(rest) = rest {
        let name = format!("{} more", rest.links);
        lines.push((name, "", rest.times, rest.time.0, rest.share.0));
    }
    let times = durations_column(&lines.iter().map(|line| Some(line.3)).collect::<Vec<_>>());
    let row = |((name, place, count, _, share), time): ((String, &str, f64, f64, f64), String)| {
        ([name, place.to_owned(), often(count), time, percent(share)], share)
    };
    lines.into_iter().zip(times).map(row).collect()
}

/// How often something happens in a run: whole where it is the same in every run.
fn often(times: f64) -> String {
    let is_whole = (times - times.round()).abs() < 1e-9;
    if is_whole { format!("{times:.0}") } else { significant(times, 2) }
}

fn sentences(path: &CriticalPath) -> Vec<String> {
    let places: Vec<String> = PathPlace::ALL
        .into_iter()
        .filter(|place| path.share(*place) > 0.0)
        .map(|place| format!("{} {}", place.name(), percent(path.share(place))))
        .collect();
    let runs = if path.runs == 1 { "1 run".into() } else { format!("{} runs", path.runs) };
    let mut said = vec![format!(
        "critical path of {runs}, {} each with tracing on: {}",
        seconds(path.time.0),
        places.join(" · ")
    )];
    let waits: Vec<&Wait> = path.waits.iter().filter(|wait| wait.share.0 >= LEAST_WAIT).collect();
    for wait in &waits {
        said.push(format!(
            "{} waited for {}: {} × in a run, {} ({})",
            clean(&wait.who),
            clean(&wait.on),
            often(wait.times),
            seconds(wait.time.0),
            percent(wait.share.0)
        ));
    }
    if waits.is_empty() {
        said.push("nothing waited: each part ran right after the one before it".into());
    }
    if path.share(PathPlace::Device) > 0.0
        && path.share(PathPlace::Host) + path.share(PathPlace::Launch) >= STARVED
    {
        said.push(
            "the device waits for the host to launch work: larger batches or `--compile` make it wait less".into(),
        );
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{PathLink, Ratio, Seconds};

    fn path() -> CriticalPath {
        let link = |place, name: &str, times, share: f64| PathLink {
            place,
            name: name.into(),
            times,
            time: Seconds(share * 1e-3),
            share: Ratio(share),
        };
        let mut links = vec![
            link(PathPlace::Device, "gemm", 12.0, 0.5),
            link(PathPlace::Host, "aten::linear", 3.5, 0.3),
        ];
        links.extend((0..10).map(|n| link(PathPlace::Launch, &format!("launch {n}"), 1.0, 0.02)));
        let wait = |who: &str, on: &str, share: f64| Wait {
            who: who.into(),
            on: on.into(),
            times: 4.0,
            time: Seconds(share * 1e-3),
            share: Ratio(share),
        };
        let waits =
            vec![wait("cuda:0 stream 7", "worker main", 0.4), wait("worker main", "x", 0.001)];
        CriticalPath { runs: 3, time: Seconds(1e-3), links, waits }
    }

    #[test]
    fn the_longest_come_first_and_the_rest_adds_up() {
        let rows = rows(&path());
        assert_eq!(rows.len(), LINKS + 1);
        assert_eq!(rows[0].0, ["gemm", "device", "12", "500.0 µs", "50 %"]);
        assert_eq!(rows[1].0[2], "3.5");
        assert_eq!(rows[10].0[0], "2 more");
        let all: f64 = rows.iter().map(|(_, share)| share).sum();
        assert!((all - 1.0).abs() < 1e-9);
    }

    #[test]
    fn who_waited_for_whom_is_said() {
        let said = sentences(&path()).join("\n");
        assert!(said.starts_with("critical path of 3 runs, 1.00 ms each"), "{said}");
        assert!(said.contains("device 50 % · host 30 % · launch 20 %"), "{said}");
        assert!(said.contains("cuda:0 stream 7 waited for worker main: 4 × in a run"), "{said}");
        assert!(!said.contains("waited for x") && said.contains("larger batches"), "{said}");
        let still = CriticalPath { waits: Vec::new(), ..path() };
        assert!(sentences(&still).join("\n").contains("nothing waited"));
    }
}
