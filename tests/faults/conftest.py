"""These tests press Ctrl-C."""

from __future__ import annotations

from fakes.signals import let_ctrl_c_through

let_ctrl_c_through()
