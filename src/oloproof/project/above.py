"""Where a configuration lies that is not where it is looked for."""

from __future__ import annotations

from pathlib import Path


def hint_above(config: Path, *, otherwise: str) -> str:
    """What to do about a configuration that is not there: name the one with the other ending, or the nearest one in a
    directory above, or say ``otherwise``. One that was named with a directory is looked for nowhere else."""
    if config.parent != Path():
        return otherwise
    other = config.with_suffix(".yml")
    if other.is_file():
        return f"there is {other}: --config {other} names it"
    home = Path.cwd()
    for count, directory in enumerate(home.parents, 1):
        if (directory / config.name).is_file():
            up = Path(*[".."] * count)
            return f"there is one in a directory above: --config {up / config.name}"
    return otherwise
