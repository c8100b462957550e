"""Prunes an encoder and measures whether it helped: parameters, sparsity, time before and after, interleaved."""

import argparse

import modelmeter

SIZES = {
    "small": dict(vocab_size=10000, d_model=128, num_heads=4, num_layers=2, d_ff=512),
    "medium": dict(vocab_size=30000, d_model=512, num_heads=8, num_layers=4, d_ff=1024),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--method", default="magnitude", help="magnitude or structured")
    parser.add_argument("--sparsity", type=float, default=0.5)
    parser.add_argument("--processes", type=int, help="fresh processes per side [default: until it is answered]")
    asked = parser.parse_args()
    model = modelmeter.TransformerEncoder(**SIZES[asked.size], name=f"encoder-{asked.size}")
    device = modelmeter.get_device()
    model.to(device)
    print(f"{model.name}: {model.num_parameters:,} parameters, on {device}")
    pruner = modelmeter.ModelPruner(modelmeter.PruningConfig(method=asked.method, sparsity=asked.sparsity))
    print(pruner.prune(model, proof=True, processes=asked.processes))


if __name__ == "__main__":
    main()
