"""The built-in rules: how the usual secrets look.

Each is a pattern of RE2, so that none takes longer than the text is long. The first group, where there is one, is the
secret; what is around it only says that it is one. ``within`` looks at what was found and says which parts of it are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

Span = tuple[int, int]


class Shape(Struct, frozen=True):
    """Patterns of one rule. ``within`` None: all that was found is the secret."""

    patterns: tuple[str, ...]
    within: Callable[[bytes], Iterator[Span]] | None = None


_START: Final = r"(?:\b|_|\[[0-9;]{0,16}m)"
"""Where a secret may begin whose first letters are in words, too: not within one. What colours a terminal ends with a
letter."""

_KEY_VENDORS: Final = (
    _START + r"(sk-[A-Za-z0-9_-]{20,})",  # OpenAI, Anthropic, and many that copied them
    r"AIza[0-9A-Za-z_-]{35}",  # Google
    r"ya29\.[0-9A-Za-z_-]{20,}",
    r"xox[abeoprs]-[0-9A-Za-z-]{10,}",  # Slack
    r"xapp-[0-9A-Za-z-]{10,}",
    r"hooks\.slack\.com/services/([0-9A-Za-z/_-]{20,})",
    r"(?:[rs]k_(?:live|test)|whsec)_[0-9A-Za-z]{16,}",  # Stripe
    r"glpat-[0-9A-Za-z_-]{20,}",  # GitLab
    r"hf_[0-9A-Za-z]{30,}",  # Hugging Face
    r"npm_[0-9A-Za-z]{36}",
    r"pypi-[0-9A-Za-z_-]{50,}",
    _START + r"(SG\.[0-9A-Za-z_-]{16,}\.[0-9A-Za-z_-]{16,})",  # SendGrid
    _START + r"((?:AC|SK)[0-9a-f]{32})\b",  # Twilio
    r"gsk_[0-9A-Za-z]{40,}",  # Groq
    r"xai-[0-9A-Za-z]{40,}",
    r"pplx-[0-9A-Za-z]{40,}",  # Perplexity
    r"r8_[0-9A-Za-z]{30,}",  # Replicate
    r"dapi[0-9a-f]{32}",  # Databricks
    r"AccountKey=([A-Za-z0-9+/=]{40,})",  # Azure
)


def _opaque(found: bytes) -> Iterator[Span]:
    """A token, rather than a word after ``bearer``: it holds a digit, is padded, is longer than words are, or has more
    capitals within than names have."""
    is_long = len(found) >= 24 or found.endswith(b"=")
    if is_long or any(48 <= byte <= 57 for byte in found) or len(_CAPITALS.findall(found)) > 1:
        yield 0, len(found)


_CAPITALS: Final = re.compile(rb"[a-z](?=[A-Z])")


def _cards(found: bytes) -> Iterator[Span]:
    """The card numbers in a row of digits: whole groups, an issuer's beginning and length, Luhn's sum."""
    groups: list[Span] = []
    start = 0
    for place in range(len(found) + 1):
        if place == len(found) or found[place] in b" -":
            groups.append((start, place))
            start = place + 1
    free_from = 0
    for first, (begin, _) in enumerate(groups):
        if begin < free_from or found[begin] not in _FIRST_DIGITS:
            continue
        end = next((end for end in _ends(groups, first) if _is_card(found[begin:end])), None)
        if end is not None:
            yield begin, end
            free_from = end


def _ends(groups: list[Span], first: int) -> Iterator[int]:
    """Where a number that begins with a group may end, the longest first."""
    digits, ends = 0, []
    for begin, end in groups[first : first + _MOST_DIGITS]:
        digits += end - begin
        if digits > _MOST_DIGITS:
            break
        ends.append(end)
    return reversed(ends)


_MOST_DIGITS: Final = 19
_FIRST_DIGITS: Final = b"23456"


def _is_card(text: bytes) -> bool:
    digits = [byte - 48 for byte in text if 48 <= byte <= 57]
    if not _is_issued(digits):
        return False
    doubled = [2 * digit - 9 * (digit > 4) for digit in digits[-2::-2]]
    return (sum(doubled) + sum(digits[::-2])) % 10 == 0


def _is_issued(digits: list[int]) -> bool:
    """Whether card numbers of this length begin like this."""
    if not 13 <= len(digits) <= _MOST_DIGITS:
        return False
    two = 10 * digits[0] + digits[1]
    match len(digits):
        case 13:
            return digits[0] == 4
        case 14:
            return two in (30, 36, 38, 39)
        case 15:
            return two in (34, 37)
        case 16:
            return digits[0] in (3, 4, 5, 6) or 22 <= two <= 27
        case _:
            return digits[0] in (4, 6)


_LETTERS: Final = r"\p{L}\p{M}\p{N}"

BUILT_IN: Final[Mapping[str, Shape]] = MappingProxyType(
    {
        "private-key": Shape(
            (r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}-----|\z)",)
        ),
        "jwt": Shape((r"eyJ[A-Za-z0-9_-]{5,}\.eyJ[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*)?",)),
        "github": Shape((r"(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})",)),
        "aws": Shape(
            (
                r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}",
                r"""(?i)aws.{0,24}(?:secret|key).{0,24}?["'=: ]+([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|\z)""",
            )
        ),
        "api-key": Shape(_KEY_VENDORS),
        "bearer": Shape((r"(?i)" + _START + r"(?:bearer|basic)[ \t]+([A-Za-z0-9._~+/-]{8,}=*)",), _opaque),
        "url-password": Shape((r"""[A-Za-z]://[^\s/:@?#]*:([^\s/@]+(?:@[^\s/@"'<>,;&]+)*)@""",)),
        "card": Shape((r"[0-9](?:[ -]?[0-9]){12,}",), _cards),
        "email": Shape((rf"[{_LETTERS}._+~-]+@[{_LETTERS}](?:[{_LETTERS}.-]*[{_LETTERS}])?\.[\p{{L}}\p{{M}}]{{2,}}",)),
    }
)
"""The rules by name, in the order in which one goes before another where both found the same place."""
