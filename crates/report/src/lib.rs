//! Runs in; tables, JSON and CSV out. The only room that formats numbers.
