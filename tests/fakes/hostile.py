"""Texts that an agent or a dataset may hold and no surface may obey, in one place for the tests of all surfaces."""

from __future__ import annotations

from typing import Any

NASTY = (
    "[bold]x[/]",
    "\x1b[31mred\x1b[0m",
    "\x9b2J",
    "\ud800",
    "<script>alert(1)</script>",
    "</testcase>",
    "&amp;",
    "@team",
    "#12 GH-3",
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "|",
    "a\\|b",
    "```",
    "`",
    "]]>",
    "<!-- -->",
    "\u202eevil\u2066",
    "zero\u200bwidth\u2060\ufeff",
    "\u3164",
    "line\nbreak\r\nand\x00null",
    "http://evil.example/?q=[x](y) www.evil.example a@b.example",
    "![img](http://evil.example/x.png)",
    ":tada: **bold** ~~gone~~ $x$",
    "\ufffe\uffff",
    "漢字かな👩‍👧",
    "e\u0301" * 50,
    "x" * 2_000_000,
    "",
    " ",
)

MARKUP = (
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<svg><script href=data:,alert(1) />",
    "</style><script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</script><!--<script>",
    '"><script>alert(1)</script>',
    "' onclick='alert(1)",
    '" onmouseover="alert(1)" x="',
    "<iframe src=javascript:alert(1)></iframe>",
    "<object data=http://evil.example></object>",
    "<form action=http://evil.example><button>ok</button></form>",
    "<meta http-equiv=refresh content=0;url=http://evil.example>",
    "<base href=http://evil.example/>",
    "<link rel=stylesheet href=http://evil.example/x.css>",
    "<details open ontoggle=alert(1)>",
    "</details></td></table><h1>ALLOW</h1>",
    "<style>*{display:none}</style>",
    "background:url(http://evil.example/x)",
    "expression(alert(1))",
    "javascript:alert(1)",
    "JaVaScRiPt&colon;alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:msgbox(1)",
    "{{ 7 * 7 }}{% raw %}",
    "{{constructor.constructor('alert(1)')()}}",
    "${7*7}",
    "<%= 7*7 %>",
    "#{7*7}",
    "<![CDATA[ x ]]>",
    "<?xml version='1.0'?><!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>",
    "&e;&#x1;&#0;",
    '--> <failure message="">',
)
"""Of documents: HTML, SVG, CSS, templates and XML."""

CONTROLS = (
    "\x1b]0;owned\x07",
    "\x1b]2;owned\x1b\\",
    "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "\x1b]52;c;cm0gLXJm\x07",
    "\x1b[2J\x1b[H",
    "\x1b[1A\x1b[2KALLOW (exit 0)",
    "\x1bc",
    "\x1b[?1049h",
    "\x1b[6n",
    "\x1bP+q544e\x1b\\",
    "\x9d0;owned\x9c",
    "\x90x\x9c\x84\x85",
    "over\x08\x08\x08\x08written\x7f",
    "before\rALLOW (exit 0)",
    "\x0b\x0c\x1c\x1d\x1e",
    "a\u2028b\u2029c",
    "\u202a\u202b\u202d\u2067\u2068\u2069",
    "\u200e\u200f\u061c",
    "\u200c\u200d\u00ad\u034f",
    "\ufe0f\U000e0041\U000e007f",
    "\udc80\udcff",
    "\ud83d",
    "\ufff9\ufffa\ufffb",
    "\ue000\U0010fffd",
    "Z" + "\u0335\u0336\u0337" * 40,
)
"""Of terminals and of writing: escape sequences, C0 and C1, direction, what draws nothing, what is no character."""

COMMANDS = (
    "::error file=release.yaml,line=1::owned",
    "::set-output name=x::y",
    "::add-mask::e",
    "::stop-commands::x",
    "  ::warning::indented",
    "##[error]owned",
    "x ##[set-env name=PATH]/tmp",
    "##vso[task.setvariable variable=x]y",
    "##teamcity[testFailed name='x']",
    "x\n::error::second line",
    "%0A::error::encoded",
    "ok 1 - all good # SKIP",
    "# TODO nothing",
    "Bail out!",
    "1..0",
    "@everyone @here <@&1>",
    "[x](javascript:alert(1))",
    "[x]: http://evil.example",
    "<http://evil.example>",
    "| a | b |\n| --- | --- |",
    "- [ ] task\n> quote\n# Head",
    "\\[x\\](http://evil.example)",
    "see [the rule](0) and {0} and {{1}}",
    '=HYPERLINK("http://evil.example","x")',
    '+cmd|"/c calc"!A1',
    "-2+3+cmd|' /C calc'!A0",
    '";\n=1+1',
    "$(touch /tmp/owned) `id` ${IFS}",
    "'; DROP TABLE runs; --",
    "../../../../etc/passwd",
)
"""Of CI servers, TAP, chats, Markdown, SARIF's messages, spreadsheets, shells and files."""

ALIKE = ("case_1", "case_l", "сase_1", "case＿1", "case_1\u200b", "case_1 ", "CASE_1", "case\u0332_1")
"""Ids that look the same, or nearly, and are not."""

HOSTILE = (*NASTY, *MARKUP, *CONTROLS, *COMMANDS, *ALIKE)


def deep(depth: int = 10_000) -> Any:
    """A list in a list in a list."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value
