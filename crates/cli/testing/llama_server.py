"""llama.cpp's own server on a free port, from PyPI's `xllamacpp`: MODEL [SLOTS]. Prints its address, answers until its input ends."""

import sys

import xllamacpp


def main():
    slots = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    parameters = xllamacpp.CommonParams()
    parameters.model.path = sys.argv[1]
    parameters.port = 0
    parameters.n_parallel = slots
    parameters.n_ctx = 512 * slots
    parameters.endpoint_metrics = True
    parameters.warmup = True
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


main()
