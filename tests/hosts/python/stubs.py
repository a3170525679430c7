"""Python stubs of `bursar.v1`, made from the protos and never committed."""

import atexit
import importlib
import pathlib
import sys
import tempfile

import grpc_tools
from grpc_tools import protoc

ROOT = pathlib.Path(__file__).resolve().parents[3]


def _generate() -> None:
    out = tempfile.TemporaryDirectory(prefix="bursar-stubs-")
    atexit.register(out.cleanup)
    protos = sorted(str(it) for it in (ROOT / "proto").rglob("*.proto"))
    well_known = pathlib.Path(grpc_tools.__file__).parent / "_proto"
    status = protoc.main(
        ["protoc", f"-I{ROOT / 'proto'}", f"-I{well_known}",
         f"--python_out={out.name}", f"--grpc_python_out={out.name}", *protos]
    )
    if status != 0:
        raise RuntimeError("the protos do not compile")
    sys.path.insert(0, out.name)


_generate()
common = importlib.import_module("bursar.v1.common_pb2")
sampling = importlib.import_module("bursar.v1.sampling_pb2")
sampling_grpc = importlib.import_module("bursar.v1.sampling_pb2_grpc")
envelope = importlib.import_module("bursar.v1.envelope_pb2")
envelope_grpc = importlib.import_module("bursar.v1.envelope_pb2_grpc")
admin = importlib.import_module("bursar.v1.admin_pb2")
admin_grpc = importlib.import_module("bursar.v1.admin_pb2_grpc")
token = importlib.import_module("bursar.v1.token_pb2")
ledger = importlib.import_module("bursar.v1.ledger_pb2")
ledger_grpc = importlib.import_module("bursar.v1.ledger_pb2_grpc")
