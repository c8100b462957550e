//! The store from outside: what goes in comes out, whatever happens in between.

mod broken_files;
mod crash;
mod fixture;
mod lists;
mod round_trip;
mod sample;
