//! OpenVINO, found where it is installed and loaded at run time.
