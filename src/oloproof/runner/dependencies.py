"""What a system is made of besides its code, as the configuration names it: prompts, settings, the environment."""

from __future__ import annotations

import os
from hashlib import file_digest, sha256

from oloproof.errors import Problem, UsageError
from oloproof.model.project import DependsOn


def with_dependencies(code: str, depends_on: DependsOn | None) -> str:
    """Identifies ``code`` together with what it depends on, as that is now.

    Errors: UsageError for a file that cannot be read.
    """
    if depends_on is None:
        return code
    files = [(name, _content(os.path.join(depends_on.directory, name))) for name in sorted(depends_on.files)]
    env = [(name, os.environ.get(name)) for name in sorted(depends_on.env)]
    return sha256(repr((code, files, env)).encode()).hexdigest()


def _content(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError as error:
        what = f"what the system depends on cannot be read: {error.strerror}"
        raise UsageError(Problem("OLO423", what, file=os.path.relpath(path))) from None
