//! A plan in, events out: isolate, warm up, sample, stop, judge.
