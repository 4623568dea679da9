"""The module that speaks KEDA's wire is the one that its interface file gives."""

from pathlib import Path

from grpc_tools import protoc

from forescale.settings import PROJECT

PROTO = "engines/keda/externalscaler.proto"


def test_generated_module__is_that_of_the_interface_file(tmp_path: Path) -> None:
    assert protoc.main(["", f"--proto_path={PROJECT}", f"--python_out={tmp_path}", str(PROJECT / PROTO)]) == 0
    generated = PROTO.replace(".proto", "_pb2.py")
    assert (tmp_path / generated).read_text() == (PROJECT / generated).read_text()
