//! Observers of the machine while work runs, one file a probe, each with an honest 'unavailable: why'.
