"""The names of an evaluation pipeline, on Modelmeter."""
