"""pytest with the plug-in, for tests of it."""

from __future__ import annotations

from importlib.metadata import entry_points

_INSTALLED = any(point.name == "oloproof" for point in entry_points(group="pytest11"))
PLUGIN = () if _INSTALLED else ("-p", "oloproof.pytest_plugin")
"""What loads the plug-in where the package was installed before it had one."""

ASKED = (*PLUGIN, "-p", "no:cacheprovider", "--oloproof", "oloproof.yaml")
