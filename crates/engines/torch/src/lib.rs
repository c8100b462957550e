//! PyTorch in the user's own Python, through a worker script.
