//! Which machine this is, and its measured ceilings.
