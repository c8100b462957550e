//! What people and programs read, tested on synthetic runs.
