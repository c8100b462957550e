//! A worker that follows a script, so that the meter can be tested against a real process that misbehaves.

use engine::{FakeEngine, become_expendable, claim_standard_streams, serve_tracked};
use modelmeter_meter::Tracker;

#[global_allocator]
static ALLOCATOR: probe::TrackingAllocator = probe::TrackingAllocator;

fn main() {
    let script = std::env::args().nth(1).unwrap_or_else(|| "1ms".into());
    if script == "silent" {
        std::thread::sleep(std::time::Duration::from_secs(60));
        return;
    }
    become_expendable();
    let fake: FakeEngine = script.parse().expect("the test gives a good script");
    let channel = claim_standard_streams().expect("the standard streams can be claimed");
    let no_text = |_: &std::path::Path| Err("the fake has no tokenizer".to_owned());
    serve_tracked(&[&fake], &no_text, &Tracker, channel.reader, channel.writer)
        .expect("the parent listens");
}
