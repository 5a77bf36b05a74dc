"""What all tests start keeps no bytecode of the small projects that it imports.

A test writes one module after another into the same file, and within a second: of two that have the same length Python
would take the bytecode of the first for the second's.
"""

from __future__ import annotations

import os

os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
