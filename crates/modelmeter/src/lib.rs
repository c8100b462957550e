//! Profiles and benchmarks neural models: the library's door.
