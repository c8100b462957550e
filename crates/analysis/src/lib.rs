//! What several runs say together: comparisons with intervals and verdicts.
