//! A worker whose engines follow scripts, so that everything above a measurement can be tested without real kernels.

mod scripted;

fn main() {
    scripted::engines().serve_if_worker();
}
