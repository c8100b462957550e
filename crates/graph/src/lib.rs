//! A model as a graph: read and write ONNX, infer shapes, count FLOPs, bytes and lifetimes.
