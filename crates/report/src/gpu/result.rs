//! Where the time of every device went, as a result.

use super::{
    document::{GpuDocument, data, has_begun, is_valid},
    group::groups,
};
use crate::{
    clean::clean,
    document::to_json,
    result::{Block, Fact, Note, ResultDocument, TextChart, Tone},
    sheet::Grid,
    table::Column,
};
use number::{bytes, bytes_per_second, count, percent, seconds};
use types::{
    Ceilings, CopyDirection, CopyMemory, GpuCopies, GpuDevice, GpuGapCause, GpuProblemKind,
    GpuProcess, GpuProfile,
};

/// A share of short kernels that a launch costs more than they compute.
const LAUNCH_BOUND: f64 = 0.3;

/// A profile to be shown.
#[derive(Debug, Clone, Copy)]
pub struct GpuView<'a> {
    /// The command; empty for recordings that were kept.
    pub command: &'a [String],
    /// Its exit code.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Why nothing could be recorded, if that was known before it began.
    pub refused: Option<&'a str>,
    /// What it did.
    pub profile: &'a GpuProfile,
    /// Rows of each table.
    pub top: usize,
    /// What copies between the host and a device can reach on this machine, if that was measured.
    pub ceilings: Option<&'a Ceilings>,
}

/// What a device does with its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    Compute,
    Communication,
    Copies,
    Idle,
}

impl Activity {
    pub(super) fn words(self) -> &'static str {
        match self {
            Activity::Compute => "compute",
            Activity::Communication => "exposed communication",
            Activity::Copies => "exposed copies",
            Activity::Idle => "idle",
        }
    }
}

/// What a device did, and for how long; the four add up to its window.
pub(super) fn times(device: &GpuDevice) -> [(Activity, f64); 4] {
    [
        (Activity::Compute, device.compute),
        (Activity::Communication, device.communication),
        (Activity::Copies, device.copies),
        (Activity::Idle, device.idle),
    ]
}

/// Where the time of every device went.
#[must_use]
pub fn gpu_document(view: &GpuView<'_>) -> ResultDocument {
    let GpuView { command, profile, .. } = view;
    let mut title = vec!["GPU".to_owned()];
    if !command.is_empty() {
        title.push(clean(&command.join(" ")));
    }
    let mut facts = Vec::new();
    facts.push(match profile.processes.len() {
        1 => "1 process".into(),
        count => format!("{count} processes"),
    });
    match (view.exit_code, view.signal) {
        (Some(code), _) if code != 0 => facts.push(format!("exit code {code}")),
        (_, Some(signal)) => facts.push(format!("ended by signal {signal}")),
        _ => {}
    }
    let mut blocks = Vec::new();
    for process in &profile.processes {
        process_blocks(process, view, &mut blocks);
    }
    let unread = profile.unread.iter();
    let notes: Vec<Note> =
        unread.map(|(file, why)| Note::warning(format!("`{file}` was not read: {why}"))).collect();
    if !notes.is_empty() {
        blocks.push(Block::Notes(notes));
    }
    ResultDocument {
        title,
        facts,
        verdict: Some(verdict(view)),
        blocks,
        json: to_json(&GpuDocument::from(view)),
        data: Some(data(profile)),
        ..ResultDocument::default()
    }
}

fn verdict(view: &GpuView<'_>) -> Note {
    let profile = view.profile;
    if let Some(why) = view.refused {
        return Note::warning(format!("nothing was recorded: {why}"));
    }
    let has_work = profile.processes.iter().any(|process| !process.devices.is_empty());
    match () {
        () if profile.processes.is_empty() && !profile.unread.is_empty() => {
            Note::warning("nothing could be read, see above")
        }
        () if profile.processes.is_empty() => Note::warning(
            "nothing was recorded, because no process loaded the recorder: the program used no CUDA and no NVTX range, or \
             another tool or a cleared environment took its place",
        ),
        () if !profile.processes.iter().any(has_begun) => {
            Note::warning("nothing was recorded: recording never began, see above")
        }
        () if !is_valid(profile) => {
            Note::of(Tone::Bad, "not valid: records are missing, see above")
        }
        () if has_work => {
            Note::of(Tone::Good, "valid: compute, communication, copies and idle time add up")
        }
        () => Note::warning(without_work(profile)),
    }
}

/// What is known where ranges at most were recorded.
fn without_work(profile: &GpuProfile) -> String {
    let processes = || profile.processes.iter();
    let mut text = match () {
        () if processes().any(|process| !process.problems.is_empty()) => {
            "no work of a GPU was recorded, see above".to_owned()
        }
        () if processes().any(|process| process.cupti.is_some()) => {
            "the program used CUDA, but gave no GPU work while it was recorded".to_owned()
        }
        () => "no work of a GPU was recorded: the program used no CUDA, or another tool or a cleared environment took the \
               recorder's place"
            .to_owned(),
    };
    if processes().any(|process| !process.ranges.is_empty()) {
        text.push_str("; its ranges are above");
    }
    text
}

fn process_blocks(process: &GpuProcess, view: &GpuView<'_>, blocks: &mut Vec<Block>) {
    let name = match process.rank {
        Some(rank) => format!("rank {rank} (process {})", process.process),
        None => format!("process {}", process.process),
    };
    if view.profile.processes.len() > 1 {
        blocks.push(Block::Heading(format!("{name}: {}", clean(&shortened(&process.command)))));
    }
    for device in &process.devices {
        device_blocks(device, view, blocks);
    }
    if process.devices.is_empty() && !process.ranges.is_empty() {
        blocks.push(Block::table("ranges on the host", host_ranges(process, view.top)));
    }
    let mut notes: Vec<Note> = process
        .problems
        .iter()
        .map(|problem| Note::of(tone(problem.kind), clean(&problem.text)))
        .collect();
    notes.extend(process.devices.iter().flat_map(remarks));
    if !notes.is_empty() {
        blocks.push(Block::Notes(notes));
    }
}

/// Rows of each table of a run.
const ROWS: usize = 12;

/// What a GPU did in a run of ours.
pub(crate) fn inner_blocks(profile: &GpuProfile) -> Vec<Block> {
    let view = GpuView {
        command: &[],
        exit_code: None,
        signal: None,
        refused: None,
        profile,
        top: ROWS,
        ceilings: None,
    };
    let mut blocks = Vec::new();
    profile.processes.iter().for_each(|process| process_blocks(process, &view, &mut blocks));
    blocks
}

/// The tables of the first device and what is said below them, for the page of a run.
pub(crate) fn grids(profile: &GpuProfile) -> (Vec<Grid>, Vec<String>) {
    let mut devices = profile.processes.iter().flat_map(|process| &process.devices);
    let Some(device) = devices.next() else { return (Vec::new(), Vec::new()) };
    let tables = vec![time_table(device), gap_table(device), kernel_table(device, ROWS)];
    let facts = launch_facts(device).into_iter();
    let mut said: Vec<String> =
        facts.map(|fact| format!("{}: {}", fact.label, fact.pieces.join(", "))).collect();
    said.extend(remarks(device).into_iter().map(|note| note.text));
    (tables, said)
}

fn tone(kind: GpuProblemKind) -> Tone {
    if kind.spoils() { Tone::Bad } else { Tone::Warning }
}

/// A command line that fits a heading.
fn shortened(command: &str) -> String {
    command.chars().take(80).collect()
}

fn device_blocks(device: &GpuDevice, view: &GpuView<'_>, blocks: &mut Vec<Block>) {
    let top = view.top;
    let name = device.name.as_deref().map(|name| format!(" · {}", clean(name)));
    let streams = match device.streams {
        1 => "1 stream".into(),
        streams => format!("{streams} streams"),
    };
    let heading = format!(
        "cuda:{}{} · {} from the first to the last work · {streams}",
        device.device,
        name.unwrap_or_default(),
        seconds(device.window),
    );
    blocks.push(Block::Heading(heading));
    blocks.push(Block::table("time", time_table(device)));
    blocks.extend(busy_chart(device).map(Block::Chart));
    if !device.gaps.is_empty() {
        blocks.push(Block::table("idle time by cause", gap_table(device)));
    }
    blocks.push(Block::Facts(launch_facts(device)));
    if !device.kernels.is_empty() {
        blocks.push(Block::table("kernels", kernel_table(device, top)));
    }
    if !device.modules.is_empty() {
        let mut grid = Grid::of([
            Column::left("module").shrinks(),
            Column::right("kernels"),
            Column::right("time"),
            Column::right("of kernels"),
        ]);
        for group in groups(&device.modules).iter().take(top) {
            let times = if group.parts > 1 { format!(" ×{}", group.parts) } else { String::new() };
            let path = if group.path.is_empty() { "outside every module" } else { &group.path };
            grid.row([
                format!("{}{times}", clean(path)),
                count(group.kernels),
                seconds(group.time),
                share(group.time, device.kernel_sum),
            ]);
        }
        blocks.push(Block::table("modules", grid));
    }
    if !device.ranges.is_empty() {
        let mut grid = Grid::of([
            Column::left("range").shrinks(),
            Column::right("opened").leaves(2),
            Column::right("kernels"),
            Column::right("time"),
            Column::right("of kernels"),
            Column::right("open on the host").leaves(1),
        ]);
        for part in device.ranges.iter().take(top) {
            let path = if part.path.is_empty() { "outside every range" } else { &part.path };
            grid.row([
                clean(path),
                if part.calls > 0 { count(part.calls) } else { String::new() },
                count(part.kernels),
                seconds(part.time),
                share(part.time, device.kernel_sum),
                part.host.map(seconds).unwrap_or_default(),
            ]);
        }
        blocks.push(Block::table("ranges", grid));
    }
    if !device.copy_kinds.is_empty() {
        blocks.push(Block::table("copies", copy_table(device, view.ceilings)));
    }
}

fn share(time: f64, whole: f64) -> String {
    if whole > 0.0 { percent(time / whole) } else { String::new() }
}

fn time_table(device: &GpuDevice) -> Grid {
    let mut grid = Grid::of([
        Column::left("time of the device"),
        Column::right("time"),
        Column::right("share"),
        Column::left("").wraps(),
    ]);
    let hidden = |all: f64, exposed: f64| match all - exposed {
        hidden if hidden > 0.0 => format!("{} more behind kernels", seconds(hidden)),
        _ => String::new(),
    };
    for (activity, time) in times(device) {
        let more = match activity {
            Activity::Compute
                if device.kernel_sum > (device.compute + device.communication) * 1.001 =>
            {
                format!("kernels sum to {}: some ran at once", seconds(device.kernel_sum))
            }
            Activity::Communication => hidden(device.communication_all, time),
            Activity::Copies => hidden(device.copies_all, time),
            _ => String::new(),
        };
        if time > 0.0 || matches!(activity, Activity::Compute | Activity::Idle) {
            grid.row([
                activity.words().to_owned(),
                seconds(time),
                share(time, device.window),
                more,
            ]);
        }
    }
    grid
}

fn gap_table(device: &GpuDevice) -> Grid {
    let mut grid = Grid::of([
        Column::left("idle because of"),
        Column::right("time"),
        Column::right("of idle"),
        Column::right("gaps").leaves(1),
        Column::left("where, the most first").wraps(),
    ]);
    for gap in &device.gaps {
        let places = gap.places.iter().take(3);
        let places: Vec<String> =
            places.map(|(place, time)| format!("{} {}", clean(place), seconds(*time))).collect();
        grid.row([
            gap.cause.words().to_owned(),
            seconds(gap.time),
            share(gap.time, device.idle),
            count(gap.count),
            places.join(", "),
        ]);
    }
    grid
}

fn kernel_table(device: &GpuDevice, top: usize) -> Grid {
    let mut grid = Grid::of([
        Column::left("kernel").shrinks(),
        Column::right("count"),
        Column::right("time"),
        Column::right("of kernels"),
        Column::right("median"),
        Column::right("longest").leaves(1),
    ]);
    for kernel in device.kernels.iter().take(top) {
        grid.row([
            clean(&kernel.name),
            count(kernel.count),
            seconds(kernel.time),
            share(kernel.time, device.kernel_sum),
            seconds(kernel.median),
            seconds(kernel.longest),
        ]);
    }
    let rest = device.kernels.iter().skip(top);
    let (kinds, time) = rest.fold((0, 0.0), |(kinds, time), one| (kinds + 1, time + one.time));
    if kinds > 0 {
        let name = format!("{kinds} more");
        grid.row([
            name,
            String::new(),
            seconds(time),
            share(time, device.kernel_sum),
            String::new(),
            String::new(),
        ]);
    }
    grid
}

/// The share of time in which a kernel ran, over time.
fn busy_chart(device: &GpuDevice) -> Option<TextChart> {
    let most = device.busy.iter().copied().fold(0.0, f64::max);
    // One that is busy all the time, or a moment alone, needs no picture.
    let least = device.busy.iter().copied().fold(1.0, f64::min);
    if most - least < 0.2 {
        return None;
    }
    let level = |share: f64| (share * 1000.0).round() as i64;
    let points = device.busy.iter().enumerate().map(|(at, share)| (at as u64, level(*share)));
    Some(TextChart::Area {
        points: points.collect(),
        label: percent(most),
        caption: format!("share of time in which a kernel ran, over {}", seconds(device.window)),
    })
}

fn copy_table(device: &GpuDevice, ceilings: Option<&Ceilings>) -> Grid {
    let mut grid = Grid::of([
        Column::left("copies"),
        Column::left("memory"),
        Column::right("count"),
        Column::right("bytes"),
        Column::right("time"),
        Column::right("rate"),
        Column::right("of ceiling").leaves(1),
    ]);
    for copies in &device.copy_kinds {
        grid.row([
            copies.direction.words().to_owned(),
            format!("{} to {}", copies.from.words(), copies.to.words()),
            count(copies.count),
            bytes(copies.bytes),
            seconds(copies.time),
            bytes_per_second(copies.rate),
            ceilings
                .and_then(|all| copy_ceiling(all, copies))
                .map_or(String::new(), |ceiling| percent(copies.rate / ceiling)),
        ]);
    }
    grid
}

/// What such copies can reach; within the device it is half of its bandwidth, because a copy reads and writes.
fn copy_ceiling(ceilings: &Ceilings, copies: &GpuCopies) -> Option<f64> {
    if copies.direction == CopyDirection::WithinDevice {
        return ceilings.bandwidth.map(|bandwidth| bandwidth.value / 2.0);
    }
    let memory = if copies.from == CopyMemory::Device { copies.to } else { copies.from };
    ceilings.copy(copies.direction, memory).map(|ceiling| ceiling.value)
}

fn launch_facts(device: &GpuDevice) -> Vec<Fact> {
    let launches = &device.launches;
    let mut facts = Vec::new();
    if launches.kernels > 0 {
        let mut fact = Fact::new("kernels", count(launches.kernels));
        let short = launches.short as f64 / launches.kernels as f64;
        fact.pieces.push(format!(
            "{} shorter than 10 µs ({} of their time)",
            percent(short),
            share(launches.short_time, device.kernel_sum)
        ));
        fact.pieces.extend(launches.call.map(|call| format!("a launch takes {}", seconds(call))));
        facts.push(fact);
    }
    if launches.graph_kernels > 0 {
        let mut fact =
            Fact::new("CUDA graphs", format!("{} kernels", count(launches.graph_kernels)));
        fact.pieces.push(format!("{} launches", count(launches.graph_launches)));
        let named = launches.graph_named as f64 / launches.graph_kernels as f64;
        fact.pieces.push(format!("{} followed to where they were captured", percent(named)));
        facts.push(fact);
    }
    facts.extend(device.memory_peak.map(|peak| Fact::new("allocated, peak", bytes(peak))));
    facts
}

/// What the numbers suggest.
fn remarks(device: &GpuDevice) -> Vec<Note> {
    let mut notes = Vec::new();
    let of_window = |cause: GpuGapCause| {
        let time: f64 =
            device.gaps.iter().filter(|gap| gap.cause == cause).map(|gap| gap.time).sum();
        if device.window > 0.0 { time / device.window } else { 0.0 }
    };
    let late = of_window(GpuGapCause::HostLate) + of_window(GpuGapCause::Launch);
    let launches = &device.launches;
    // Whoever replays graphs knows of them.
    if launches.kernels > 2 * launches.graph_kernels
        && launches.short as f64 / launches.kernels as f64 > LAUNCH_BOUND
        && late > LAUNCH_BOUND
    {
        notes.push(Note::new(
            "many kernels are shorter than their launch and the device waits for the host: CUDA graphs or `torch.compile` \
             start them with fewer calls",
        ));
    }
    let waits = of_window(GpuGapCause::Synchronisation);
    if waits > 0.1 {
        notes.push(Note::new(format!(
            "{} of the time the device is idle because the program waits for it (`.item()`, `.cpu()`, `print` of a tensor): do \
             that less often",
            percent(waits)
        )));
    }
    let pageable: f64 = device
        .copy_kinds
        .iter()
        .filter(|one| [one.from, one.to].contains(&CopyMemory::Pageable))
        .map(|one| one.time)
        .sum();
    if device.window > 0.0 && pageable / device.window > 0.05 {
        notes.push(Note::new(format!(
            "copies from and to pageable memory take {}: pinned memory (`pin_memory=True`) is faster and lets them run behind \
             kernels",
            seconds(pageable)
        )));
    }
    notes
}

fn host_ranges(process: &GpuProcess, top: usize) -> Grid {
    let mut grid = Grid::of([
        Column::left("range").shrinks(),
        Column::right("opened"),
        Column::right("open on the host"),
    ]);
    for range in process.ranges.iter().take(top.saturating_mul(3)) {
        let name = format!("{}{}", "  ".repeat(range.depth.min(20) as usize), clean(&range.name));
        grid.row([name, count(range.calls), seconds(range.host)]);
    }
    grid
}

#[cfg(test)]
mod tests;
