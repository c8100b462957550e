//! What duels, stored runs and profiles say, on data whose truth is known.
#![expect(clippy::unwrap_used, reason = "what is missing here shall stop the test")]

mod analysis;
mod duels;
mod inside;
mod layers;
mod properties;
mod recommendations;
mod rows;
mod scene;
mod stored;
mod trend;
