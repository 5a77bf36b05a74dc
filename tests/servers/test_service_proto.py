"""What is generated from agent.proto is what is in the tree."""

from __future__ import annotations

import re
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import pytest

protoc = pytest.importorskip("grpc_tools.protoc")

SOURCE = Path(__file__).parents[2] / "src"
PROTO = "oloproof/service/v1/agent.proto"


def generated(directory: Path) -> dict[str, str]:
    includes = [f"-I{SOURCE}", f"-I{files('grpc_tools') / '_proto'}"]
    arguments = ["protoc", *includes, f"--python_out={directory}", f"--grpc_python_out={directory}", PROTO]
    assert protoc.main(arguments) == 0
    return {path.name: path.read_text() for path in (directory / PROTO).parent.iterdir()}


def described(text: str) -> str:
    """The serialised description of the messages, which no version of the compiler changes."""
    found = re.search(r"AddSerializedFile\((b'.*')\)", text)
    assert found is not None
    return found[1]


def test_generating_again_gives_the_same(tmp_path: Path) -> None:
    again = generated(tmp_path)
    held = {name: (SOURCE / PROTO).with_name(name).read_text() for name in again}
    assert sorted(again) == ["agent_pb2.py", "agent_pb2_grpc.py"]
    assert described(again["agent_pb2.py"]) == described(held["agent_pb2.py"])
    with_version = re.search(r"GRPC_GENERATED_VERSION = '(.*)'", held["agent_pb2_grpc.py"])
    assert with_version is not None
    if with_version[1] == version("grpcio-tools"):
        assert again == held
