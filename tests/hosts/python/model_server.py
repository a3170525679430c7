"""A small real model behind an OpenAI-compatible server: `model_server.py MODEL.gguf`.

Prints its base URL when it answers, and ends with its standard input."""

import socket
import sys

import xllamacpp


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main(model):
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.hostnames = ["127.0.0.1"]
    params.port = free_port()
    params.n_ctx = 4096
    params.n_parallel = 2
    # A second thread on a busy machine makes it slower.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.use_jinja = True
    params.ui = False
    params.model_alias = {"smollm2"}
    # Held: the server ends with its object.
    server = xllamacpp.Server(params)
    print(f"http://127.0.0.1:{params.port}/v1", flush=True)
    sys.stdin.read()
    del server


if __name__ == "__main__":
    main(sys.argv[1])
