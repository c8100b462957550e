//! Remembers every run: one embedded SQLite file with migrations.
