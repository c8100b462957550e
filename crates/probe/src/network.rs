//! Network traffic of the namespace the process lives in.

use crate::{
    followed::Followed,
    procfs::{read_text, require_process},
    socket::{Probe, Target, Watch},
};
use std::time::Duration;
use types::{Direction, Metric, Unit};

/// Only so that a process that ends early leaves numbers behind; nothing here is an average.
const SLOW_PERIOD: Duration = Duration::from_millis(500);

/// See [`Probe::describe`].
pub(crate) struct Network;

impl Probe for Network {
    fn id(&self) -> &'static str {
        "network"
    }

    fn describe(&self) -> &'static str {
        "bytes received and sent in the network namespace of the process, by everyone in it, loopback apart; the kernel does not count by process"
    }

    fn availability(&self, target: &Target) -> Result<(), String> {
        require_process(target.pid)?;
        traffic(target.pid).map(|_| ())
    }

    fn start(&self, target: &Target) -> Result<Box<dyn Watch>, String> {
        let first = traffic(target.pid)?;
        Ok(Box::new(NetworkWatch { pid: target.pid, process: Followed::begin(target.pid, first) }))
    }
}

/// Bytes since the interfaces came up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Traffic {
    received: u64,
    sent: u64,
    loopback: u64,
}

fn traffic(pid: u32) -> Result<Traffic, String> {
    Ok(parse_traffic(&read_text(format!("/proc/{pid}/net/dev"))?))
}

fn parse_traffic(text: &str) -> Traffic {
    let mut traffic = Traffic::default();
    for line in text.lines() {
        let Some((name, counters)) = line.split_once(':') else { continue };
        let counters: Vec<u64> =
            counters.split_whitespace().map_while(|field| field.parse().ok()).collect();
        // Eight counters of what came in, then eight of what went out; bytes come first in both.
        let (Some(received), Some(sent)) = (counters.first(), counters.get(8)) else { continue };
        if name.trim() == "lo" {
            traffic.loopback += received;
        } else {
            traffic.received += received;
            traffic.sent += sent;
        }
    }
    traffic
}

struct NetworkWatch {
    pid: u32,
    process: Followed<Traffic>,
}

impl Watch for NetworkWatch {
    fn period(&self) -> Option<Duration> {
        Some(SLOW_PERIOD)
    }

    fn read(&mut self) {
        self.process.update(traffic(self.pid).ok());
    }

    fn stop(mut self: Box<Self>) -> Vec<Metric> {
        self.read();
        let (first, last) = (self.process.first, self.process.last);
        let bytes = |key: &str, last: u64, first: u64| {
            let bytes = last.saturating_sub(first) as f64;
            Metric::measured(key, Unit::Bytes, Direction::Neutral, bytes)
        };
        let mut metrics = vec![
            bytes("network.namespace.received", last.received, first.received),
            bytes("network.namespace.sent", last.sent, first.sent),
            bytes("network.namespace.loopback", last.loopback, first.loopback),
        ];
        metrics.extend(self.process.rest("network"));
        metrics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_kept_apart_and_interfaces_are_added_up() {
        let text = "Inter-|   Receive                |  Transmit\n face |bytes    packets errs |bytes packets\n\
            \x20   lo:    3297      31    0    0    0     0          0         0     3297      31    0    0    0     0       0          0\n\
            \x20 eth0: 3293504024   63481    0    0    0     0          0         0  2486579   32841    0    0    0     0       0          0\n\
            \x20 eth1:       10       1    0    0    0     0          0         0        5       1    0    0    0     0       0          0\n";
        let expected = Traffic { received: 3293504034, sent: 2486584, loopback: 3297 };
        assert_eq!(parse_traffic(text), expected);
    }
}
