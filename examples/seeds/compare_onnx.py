"""`python compare_onnx.py --model … --num-runs …`: PyTorch beside ONNX Runtime."""

import sys

from modelmeter._runtime_profiler import compare_main

if __name__ == "__main__":
    sys.exit(compare_main())
