//! Network traffic of the namespace the process lives in, and of our own where it left that.

use crate::{
    followed::Followed,
    procfs::{read_text, require_process},
    socket::{Probe, Target, Watch},
};
use std::{fs, time::Duration};
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
        "bytes received and sent by all processes in the network namespace of the process and in ours, without \
         loopback; the kernel does not count by process"
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

/// A worker may leave our network for one of its own while it is watched. That one begins at zero, so the sum of both goes
/// on where ours stood; and what comes to us on its behalf, such as files of another machine, still counts.
fn traffic(pid: u32) -> Result<Traffic, String> {
    let theirs = parse_traffic(&read_text(format!("/proc/{pid}/net/dev"))?);
    let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/net")).ok();
    if namespace(&pid.to_string()) == namespace("self") {
        return Ok(theirs);
    }
    let ours = parse_traffic(&read_text("/proc/self/net/dev")?);
    Ok(Traffic {
        received: theirs.received + ours.received,
        sent: theirs.sent + ours.sent,
        loopback: theirs.loopback + ours.loopback,
    })
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
    use std::io::Read;

    #[test]
    fn a_process_that_leaves_our_network_does_not_make_the_counters_fall() {
        let mut leaving = std::process::Command::new("unshare");
        leaving.args(["--net", "sh", "-c", "echo there; read -r _"]);
        leaving.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let before = traffic(std::process::id()).unwrap();
        let Ok(mut child) = leaving.stderr(std::process::Stdio::null()).spawn() else { return };
        let mut said = [0; 6];
        let has_left = child.stdout.take().unwrap().read_exact(&mut said).is_ok();
        let there = traffic(child.id());
        drop(child.stdin.take());
        child.wait().unwrap();
        if has_left {
            let there = there.unwrap();
            assert!(there.received >= before.received && there.loopback >= before.loopback);
        }
    }

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
