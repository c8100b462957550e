//! Who listens at an address that a command wants, and which command works instead.

use crate::Failure;
use report::clean;
use std::{fs, net::SocketAddr, path::Path};

/// Says who listens at this address, and the same command with the next port.
pub(crate) fn explain(failure: Failure, address: SocketAddr, command: &str) -> Failure {
    let failure = match owner(address.port()) {
        Some((pid, name)) => failure.cause(format!("process {pid} (`{name}`) listens there")),
        None => failure.cause("a process of another user listens there"),
    };
    let next = address.port().checked_add(1).unwrap_or(7117);
    failure.hint(format!("`modelmeter {command} --listen {}:{next}`", host(address)))
}

fn host(address: SocketAddr) -> String {
    match address {
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    }
}

/// Who listens on a port of this machine, if it is a process of this user.
fn owner(port: u16) -> Option<(u32, String)> {
    let listening = format!(":{port:04X}");
    let mut sockets = Vec::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = fs::read_to_string(table).unwrap_or_default();
        for line in text.lines().skip(1) {
            let words: Vec<&str> = line.split_whitespace().collect();
            // The state `0A` listens; the tenth word is the socket's number.
            if let [_, local, _, "0A", ..] = words.as_slice()
                && local.ends_with(&listening)
                && let Some(inode) = words.get(9)
            {
                sockets.push(format!("socket:[{inode}]"));
            }
        }
    }
    for process in fs::read_dir("/proc").ok()?.flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        let Ok(descriptors) = fs::read_dir(process.path().join("fd")) else { continue };
        let links = descriptors.flatten().filter_map(|one| fs::read_link(one.path()).ok());
        if links.into_iter().any(|link| sockets.iter().any(|socket| link == Path::new(socket))) {
            let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            return Some((pid, clean(name.trim())));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_a_port_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let found = owner(listener.local_addr().unwrap().port()).unwrap();
        assert_eq!(found.0, std::process::id());
    }
}
