//! The generator against servers that do what a test says. Nothing here rests on how fast this machine is.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

#[path = "../../testing/scripted_server.rs"]
mod scripted_server;

mod answers;
mod bad_servers;
mod generating;
mod inspecting;
mod running;
