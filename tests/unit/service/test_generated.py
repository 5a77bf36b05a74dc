"""What is generated from agent.proto asks for no newer packages than the extra does."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]
GENERATED = ROOT / "src/oloproof/service/v1"


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def test_the_lower_bounds_are_no_lower_than_the_generated_code_takes() -> None:
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["service"]
    bounds = dict(each.split(">=") for each in extra if ">=" in each)
    grpc = re.search(r"GRPC_GENERATED_VERSION = '(.*)'", (GENERATED / "agent_pb2_grpc.py").read_text())
    protobuf = re.search(r"# Protobuf Python Version: (.*)", (GENERATED / "agent_pb2.py").read_text())
    assert grpc is not None
    assert protobuf is not None
    assert (*numbers(bounds["grpcio"]), 0) >= numbers(grpc[1])
    assert numbers(bounds["protobuf"]) >= numbers(protobuf[1])
    assert numbers(protobuf[1]) < (6,), "a compiler of 2025 keeps the extra beside older packages"
