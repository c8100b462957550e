//! From a name or a path to a graph with weights, inputs and tokenizer.
