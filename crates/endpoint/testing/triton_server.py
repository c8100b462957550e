"""Triton with one model in Python, from PyPI's `nvidia-pytriton` (needs numpy < 2): PORT. Prints its address, answers until its input ends.

The model adds up each row of its input after MILLISECONDS, in batches of up to 8.
"""

import sys
import time

import numpy
from pytriton.decorators import batch
from pytriton.model_config import DynamicBatcher, ModelConfig, Tensor
from pytriton.triton import Triton, TritonConfig

PORT = int(sys.argv[1])
SECONDS = float(sys.argv[2]) / 1000 if len(sys.argv) > 2 else 0.005


@batch
def add_up(x):
    time.sleep(SECONDS)
    return {"sum": x.sum(axis=1, keepdims=True)}


config = TritonConfig(http_port=PORT, grpc_port=PORT + 1, metrics_port=PORT + 2, http_address="127.0.0.1")
with Triton(config=config) as triton:
    triton.bind(
        model_name="adder",
        infer_func=add_up,
        inputs=[Tensor(name="x", dtype=numpy.float32, shape=(-1,))],
        outputs=[Tensor(name="sum", dtype=numpy.float32, shape=(1,))],
        config=ModelConfig(max_batch_size=8, batcher=DynamicBatcher(max_queue_delay_microseconds=2000)),
    )
    triton.run()
    print("http://127.0.0.1:%d/v2/models/adder/infer" % PORT, flush=True)
    sys.stdin.read()
