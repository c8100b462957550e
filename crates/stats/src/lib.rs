//! Pure maths over samples: summaries, intervals, outliers.
