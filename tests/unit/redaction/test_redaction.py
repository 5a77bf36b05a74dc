"""What is found, and what is left of it."""

from __future__ import annotations

import json
import traceback
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, to_builtins

from oloproof.errors import Problem, UsageError
from oloproof.model.case import Attempt, AttemptError, Case, State
from oloproof.model.judgment import Judgment
from oloproof.model.redaction import OwnPattern, Redaction, veiled
from oloproof.model.trajectory import Checkpoint, ConstraintCheck, Step, Trajectory
from oloproof.model.values import TAG
from oloproof.redaction import BUILT_IN, Limits, PatternError, Redactor, Scope, problems_redacted

ALL = Redaction(built_in=tuple(BUILT_IN))


def scope(*patterns: tuple[str, str], fields: tuple[tuple[str, ...], ...] = (), limits: Limits | None = None) -> Scope:
    own = tuple(OwnPattern(name=name, pattern=pattern) for name, pattern in patterns)
    return Redactor(Redaction(built_in=ALL.built_in, patterns=own, fields=fields), limits).scope()


def value_of(value: Any, found: Scope | None = None) -> Any:
    return (found or scope()).attempt(Attempt(case_id="c", output=value)).output


@pytest.mark.parametrize(
    ("rule", "secret"),
    [
        ("private-key", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----"),
        ("private-key", "-----BEGIN OPENSSH PRIVATE KEY-----\nthe rest was cut off"),
        ("jwt", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcDEF-_123"),
        ("github", "ghp_" + "a1B2" * 9),
        ("github", "github_pat_" + "a" * 30),
        ("aws", "AKIAIOSFODNN7EXAMPLE"),
        ("api-key", "sk-proj-" + "a1B2" * 9),
        ("api-key", "sk-ant-api03-" + "a1B2" * 9),
        ("api-key", "AIza" + "a" * 35),
        ("api-key", "xoxb-1234567890-abc"),
        ("api-key", "sk_live_" + "a1B2" * 6),
        ("api-key", "hf_" + "a" * 34),
        ("card", "4111111111111111"),
        ("card", "4111 1111 1111 1111"),
        ("card", "3782-822463-10005"),
        ("email", "ada.b+c@mail.example.org"),
        ("email", "ädä@exämple.org"),
        ("email", "rene\u0301@example.org"),
        ("email", "\u0915\u094d\u0937@\u0915\u094d\u0937.\u092d\u093e\u0930\u0924"),
    ],
)
def test_a_secret_leaves_its_marker(rule: str, secret: str):
    assert scope().text(f"it is {secret}") == f"it is [redacted:{rule}:1]"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Authorization: Bearer abc123def456", "Authorization: Bearer [redacted:bearer:1]"),
        ("postgres://joe:hunter2@db/x", "postgres://joe:[redacted:url-password:1]@db/x"),
        ("aws_secret_access_key = " + "a1B2" * 10, "aws_secret_access_key = [redacted:aws:1]"),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted:bearer:1]"),
        ("postgres://joe:hun@ter2@db/x", "postgres://joe:[redacted:url-password:1]@db/x"),
        ("\x1b[1;32msk-" + "a1B2" * 6 + "\x1b[0m", "\x1b[1;32m[redacted:api-key:1]\x1b[0m"),
        ("\x1b[mBearer abc123def456", "\x1b[mBearer [redacted:bearer:1]"),
        ("\x1b[31mftp://joe:hunter2@db", "\x1b[31mftp://joe:[redacted:url-password:1]@db"),
        ("TOKEN_ghp_" + "a1B2" * 9, "TOKEN_[redacted:github:1]"),
        ("12 4111 1111 1111 1111 7", "12 [redacted:card:1] 7"),
    ],
)
def test_what_only_says_that_it_is_one_stays(text: str, left: str):
    assert scope().text(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "the bearer certificates",
        "4111111111111112",
        "1234567890123456",
        "9" * 40,
        "a@b",
        "task-proj-abcdefghijklmnopqrstuvwxyz",
        "Basic PowerShell, and the bearer of it",
        "http://a:8080/x@y",
        "",
    ],
)
def test_what_is_no_secret_stays(text: str):
    assert scope().text(text) == text


def test_the_same_secret_has_the_same_number_and_another_one_another():
    assert scope().text("a@x.org b@x.org a@x.org") == "[redacted:email:1] [redacted:email:2] [redacted:email:1]"


def test_a_secret_written_with_escapes_is_found_where_it_was_written_and_the_json_stays_json():
    twice = json.dumps({"mail": json.dumps({"to": "ada@x.org"}).replace("@", "\\u0040")})

    assert json.loads(json.loads(scope().text(twice))["mail"]) == {"to": "[redacted:email:1]"}
    assert scope().text("?to=ada%40x.org&n=1") == "?to=[redacted:email:1]&n=1"
    assert (
        scope().text(r"-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----\n") == r"[redacted:private-key:1]\n"
    )


def test_keys_and_numbers_are_searched_and_a_number_is_another_secret_than_its_digits():
    card = 4111111111111111

    assert value_of({"a@x.org": [card, float(card), str(card), 4], "b@x.org": True}) == {
        "[redacted:email:1]": ["[redacted:card:1]", "[redacted:card:1]", "[redacted:card:2]", 4],
        "[redacted:email:2]": True,
    }


def test_the_key_of_a_value_tells_what_it_is():
    secret = "a1B2" * 10

    assert value_of({"commit": secret, "AWS_SECRET_ACCESS_KEY": secret}) == {
        "commit": secret,
        "AWS_SECRET_ACCESS_KEY": "[redacted:aws:1]",
    }


@pytest.mark.parametrize("told", ["y" * 20 + "ada.lovelace@example.org", "ada.lovelace@example.org 1"])
def test_what_a_tag_says_is_redacted_before_it_is_cut(told: str):
    assert "lovelace" not in str(value_of({TAG: told}))


def test_what_is_found_in_a_pass_is_redacted():
    judgment = Judgment("pass", found={"to": "ada@x.org"})

    assert scope().judgment(judgment).found == {"to": "[redacted:email:1]"}


def test_the_detail_of_a_judgment_is_cut_after_it_was_redacted():
    limits = Limits(message=20, traceback=80, log=99, cut="[cut]")
    told = "!" * 15 + "ada@x.org" + "!" * 90 + "eve@x.org" + "!" * 55
    judgment = Judgment("missing", "evaluator_error", detail=told)

    detail = scope(limits=limits).judgment(judgment).detail

    assert detail == "!" * 15 + "[redacted:email:1]\n[…]\n" + "!" * 55


def test_what_looks_like_a_marker_gets_one_of_its_own():
    text = "[redacted:email:1] a@x.org [redacted:nonsense:1]"

    assert scope().text(text) == "[redacted:email:1] [redacted:email:2] [redacted:marker:1]"


def test_a_redacted_text_is_left_as_it_is():
    once = scope().text("a@x.org 4111111111111111 b@x.org a@x.org")

    assert scope().text(once) == once


def test_rules_that_overlap_take_out_all_of_it():
    assert scope(("own", "x[.]org/.*")).text("to a@x.org/secret") == "to [redacted:email:1]"


def test_the_first_group_of_an_own_pattern_is_the_secret():
    assert scope(("pin", "pin=([0-9]+)")).text("pin=1234;") == "pin=[redacted:pin:1];"


@pytest.mark.parametrize("pattern", ["(", "a*", "(?=a)", r"\Qa"])
def test_a_pattern_that_cannot_be_used_is_refused(pattern: str):
    with pytest.raises(PatternError):
        scope(("own", pattern))


def test_fields_are_taken_out_whole_and_an_object_stays_one():
    found = scope(fields=(("output", "customer", "*"), ("**", "password"), ("metadata",)))
    case = found.case(Case(id="c", input={"a": [{"password": 1}, {"password": 1.0}]}, metadata={"who": "me"}))

    assert case.input == {"a": [{"password": "[redacted:field:1]"}, {"password": "[redacted:field:1]"}]}
    assert case.metadata == {"who": "[redacted:field:2]"}
    assert value_of({"customer": {"ssn": [1, {"x": 2}]}}, found) == {"customer": {"ssn": "[redacted:field:3]"}}


def test_what_a_tag_quotes_may_be_cut_off_so_only_its_kind_is_kept():
    assert value_of({TAG: "Secret Secret('sk-proj-abcde…"}) == {TAG: "Secret"}
    assert value_of({TAG: [["int 4111111111111111", "a@x.org"]]}) == {TAG: [["int", "[redacted:email:1]"]]}


def test_what_is_nested_too_deep_to_be_looked_through_is_not_kept_and_counts():
    deep: Any = "a@x.org"
    for _ in range(5_000):
        deep = {"in": [deep]}
    found = scope()

    assert value_of(deep, found) == {TAG: "nested"}
    assert found.secrets == {"depth": 1}


def test_what_is_said_of_an_attempt_keeps_its_markers():
    found = scope()
    found.text("a@x.org")

    left = found.judgment(Judgment("fail", "[redacted:email:1] b@x.org [redacted:email:7]"))

    assert left.reason == "[redacted:email:1] [redacted:email:2] [redacted:email:3]"


SECRET = "ada@x.org"


def everywhere() -> Attempt:
    """An attempt with a secret in each of its texts."""
    step = Step(
        index=1,
        kind="tool_call",
        tool_name=SECRET,
        call_id=SECRET,
        arguments={SECRET: SECRET},
        result=SECRET,
        error=SECRET,
        agent=SECRET,
        metadata={SECRET: SECRET},
    )
    handoff = Step(index=2, kind="handoff", agent=SECRET, to_agent=SECRET + "x")
    trajectory = Trajectory(
        steps=(step, handoff),
        constraints=(ConstraintCheck(name=SECRET, passed=True, detail=SECRET),),
        checkpoints=(Checkpoint(checkpoint_id=SECRET, kind="checkpoint", description=SECRET, payload=SECRET),),
    )
    error = AttemptError(kind="system_error", message=SECRET, traceback=SECRET)
    state = State(before=SECRET, after=SECRET)
    return Attempt(case_id="c", output=SECRET, error=error, trajectory=trajectory, state=state, log=SECRET)


def test_no_text_of_an_attempt_keeps_a_secret():
    attempt = everywhere()
    whole = Attempt(case_id="c", earlier=(attempt,), trajectory=attempt.trajectory, log=SECRET)
    judgment = Judgment("fail", SECRET, expected={SECRET: SECRET}, found=[SECRET], detail=SECRET)
    found = scope()

    left = [
        found.attempt(whole),
        found.judgment(judgment),
        found.case(Case(id="c", input=SECRET, expected={"a": SECRET})),
    ]

    assert SECRET not in json.dumps(to_builtins(left))
    assert found.secrets == {"email": 2}


LIMITS = Limits(message=20, traceback=40, log=20, cut="[cut]")


def test_a_secret_across_a_limit_is_seen_whole():
    error = AttemptError(kind="system_error", message="twelve chars ada@example.org and more", traceback=None)
    attempt = Attempt(case_id="c", error=error, log="twelve chars ada@example.org and more")

    left = scope(limits=LIMITS).attempt(attempt)

    assert left.error is not None
    assert left.error.message == "twelve chars [redacted:email:1]…"
    assert left.log == "twelve chars [redacted:email:1]\n[cut]"


@given(st.text("ab@.org xy", max_size=80), st.integers(20, 60))
def test_no_limit_shows_a_part_of_a_secret(text: str, limit: int):
    whole = scope().text(text)

    cut = scope().text(text, limit=limit)

    assert whole.startswith(cut) or cut == whole


def test_a_traceback_keeps_both_ends_without_a_part_of_a_secret():
    text = "12345678 ada@example.org " + "x" * 40 + " eve@example.org " + "y" * 28
    error = AttemptError(kind="system_error", message="", traceback=text)

    left = scope(limits=LIMITS).attempt(Attempt(case_id="c", error=error)).error

    assert left is not None
    assert left.traceback is not None
    assert "example" not in left.traceback
    assert left.traceback.endswith("y" * 28)


def test_a_veiled_text_says_only_what_is_clear_in_it():
    assert veiled("to [redacted:email:1], soon") == {TAG: ["to ", ", soon"]}
    assert veiled({"[redacted:email:1]": 1, "b": [2]}) == {"b": [2], TAG: [[["", ""], 1]]}
    assert veiled(UNSET) is UNSET


@given(st.lists(st.sampled_from(["a@x.org", "b@x.org", "[redacted:email:1]", "[redacted:email:2]", "x"]), max_size=6))
def test_two_texts_of_an_attempt_are_equal_where_their_markers_are(texts: list[str]):
    left = value_of(texts)

    assert [[a == b for b in left] for a in left] == [[a == b for b in texts] for a in texts]


def test_an_error_and_what_it_came_from_are_told_without_secrets():
    secret = "@".join(["ada", "x.org"])

    with pytest.raises(UsageError) as caught, problems_redacted(ALL):
        try:
            raise ValueError(secret)
        except ValueError as error:
            raise UsageError(Problem("OLO1", f"no {secret}", f"not {secret}")) from error

    assert str(caught.value) == "no [redacted:email:1] [OLO1]"
    assert caught.value.problems[0].hint == "not [redacted:email:1]"
    assert secret not in "".join(traceback.format_exception(caught.value))
