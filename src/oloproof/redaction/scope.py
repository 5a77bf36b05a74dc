"""The redaction of one attempt: everything that is said in it, with a marker in the place of each secret.

Everything passes through here before it is kept, shown or told: texts, keys and numbers of every value, the names of
tools, agents and checks, ids, messages, tracebacks and what was printed. What is measured (indexes, times, tokens,
cost) holds nothing of anybody's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator
from typing import TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from oloproof.model.case import Attempt, AttemptError, Case, State
from oloproof.model.judgment import Judgment
from oloproof.model.redaction import DEPTH_RULE, FIELD_RULE, MARKER, Redaction, marker
from oloproof.model.trajectory import Checkpoint, ConstraintCheck, Step, Trajectory
from oloproof.model.values import TAG, Json, has_unrepresentable
from oloproof.redaction.fields import NOWHERE, Fields, Places
from oloproof.redaction.finding import Finder, Found, merged

T = TypeVar("T", str, str | None, str | UnsetType | None)

_KIND_LENGTH = 40
_SHORT = 64
_LONG_LINE = 16
_MOST_CLEAN = 10_000
_encode = msgspec.json.Encoder().encode
_canonical = msgspec.json.Encoder(order="sorted").encode


class Limits(Struct, frozen=True):
    """How many characters are kept of a live attempt's texts, and bytes of what was printed (``log``). More than that
    was sent, so that no secret is cut in two. ``cut`` is the line that says so at the end of what was printed."""

    message: int
    traceback: int
    log: int
    cut: str


class Redactor:
    """The rules of a project, compiled once. ``limits`` None: texts are as long as they are.

    Errors: PatternError for a pattern of the user's.
    """

    def __init__(self, rules: Redaction, limits: Limits | None = None) -> None:
        self.finder = Finder(rules.built_in, rules.patterns)
        self.fields = Fields(rules.fields)
        self.limits = limits
        self.clean: set[str] = set()
        """Short texts that hold nothing, such as keys and names of tools: they come again and again."""

    def scope(self) -> Scope:
        """For the next attempt: its secrets are numbered from 1."""
        return Scope(self)


class Scope:
    """The secrets of one attempt and of its case, each with its number."""

    def __init__(self, redactor: Redactor) -> None:
        self._finder = redactor.finder
        self._fields = redactor.fields
        self._limits = redactor.limits
        self._clean = redactor.clean
        self._numbers: dict[tuple[str, Hashable], int] = {}
        self._is_taken_in = False
        self._lines: dict[bytes, str] = {}
        """Those of secrets that have several, with their rules: errors quote the last line that was printed."""
        self.secrets: Counter[str] = Counter()
        """How many different secrets each rule found so far."""

    def case(self, case: Case) -> Case:
        """The case without its secrets; its id has none, which is seen to before."""
        if self._is_clean(case):
            return case
        return replace(
            case,
            input=self._root("input", case.input),
            metadata=self._object(case.metadata, self._at("metadata")),
            expected=self._object(case.expected, self._at("expected")),
        )

    def attempt(self, attempt: Attempt) -> Attempt:
        """The attempt without its secrets, those that were made before it included."""
        trajectory, state, error = attempt.trajectory, attempt.state, attempt.error
        told = replace(
            attempt,
            earlier=tuple([self.attempt(each) for each in attempt.earlier]),
            log=self.log(attempt.log),  # before what may quote it
            error=None if error is None else self._error(error),
        )
        if self._is_clean(replace(attempt, earlier=(), error=None, log="")):
            return told
        return replace(
            told,
            trajectory=None if trajectory is None else self._trajectory(trajectory),
            state=None if state is None else self._state(state),
            output=self._root("output", attempt.output),
        )

    def _is_clean(self, part: Struct) -> bool:
        """Whether it certainly holds nothing to take out, by one look at all of it."""
        if self._fields.start or self._lines:
            return False
        try:
            document = _encode(part)
            # The usual escapes hide nothing, and any other is looked into.
            return not self._finder.may_be_in(document.replace(b"\\n", b"\n").replace(b'\\"', b'"'))
        except (ValueError, OverflowError, RecursionError):  # half a character, or nested too deep
            return False

    def judgment(self, judgment: Judgment) -> Judgment:
        """What is said of the attempt, once that was taken in, without its secrets. Its markers are ours."""
        self._is_taken_in = True
        if judgment.reason is judgment.detail is None and judgment.expected is judgment.found is UNSET:
            return judgment
        return replace(
            judgment,
            reason=self.text(judgment.reason),
            detail=None if judgment.detail is None else self.long_text(judgment.detail),
            expected=self._value(judgment.expected, NOWHERE),
            found=self._value(judgment.found, NOWHERE),
        )

    def text(self, text: T, *, limit: int | None = None, key: str = "") -> T:
        """The text with markers; of a longer one than ``limit`` what was written in its first characters. Where it is
        looked at as what its ``key`` names, that is what a rule finds beside the name."""
        if not isinstance(text, str) or not text or (text in self._clean and not (limit or key or self._lines)):
            return text
        data: bytes = text.encode("utf-8", "surrogatepass")
        found: list[Found] = self._finder.found(data) or self._named(key, data)
        if self._lines:
            found = merged([*found, *self._quoted(data)])
        end = len(data) if limit is None or len(text) <= limit else len(text[:limit].encode("utf-8", "surrogatepass"))
        if not found and end == len(data):
            if end <= _SHORT and not self._lines and len(self._clean) < _MOST_CLEAN:
                self._clean.add(text)
            return text
        parts, at = [], 0
        for start, stop, rule in found:
            if start >= end:
                break
            secret = data[start:stop].decode("utf-8", "surrogatepass")
            self._note_lines(data[start:stop], rule)
            parts += [data[at:start].decode("utf-8", "surrogatepass"), self._marker(rule, secret)]
            at = stop
        if at < end:
            parts.append(data[at:end].decode("utf-8", "surrogatepass"))
        return "".join(parts)

    def _note_lines(self, secret: bytes, rule: str) -> None:
        lines = [line.strip() for line in secret.splitlines()]
        if len(lines) > 1:
            self._lines.update((line, rule) for line in lines if len(line) >= _LONG_LINE)

    def _quoted(self, data: bytes) -> Iterator[Found]:
        for line, rule in self._lines.items():
            yield from (Found(*match.span(), rule) for match in re.finditer(re.escape(line), data))

    def _named(self, key: str, data: bytes) -> list[Found]:
        if not key:
            return []
        name = f"{key}=".encode("utf-8", "surrogatepass")
        begin = len(name)
        found = self._finder.found(name + data)
        return [Found(start - begin, end - begin, rule) for start, end, rule in found if start >= begin]

    def _marker(self, rule: str, secret: Hashable) -> str:
        key = (rule, secret)
        if self._is_taken_in and self._is_ours(secret):
            return str(secret)
        if key not in self._numbers:
            self.secrets[rule] += 1
            self._numbers[key] = self.secrets[rule]
        return marker(rule, self._numbers[key])

    def _is_ours(self, secret: Hashable) -> bool:
        match = MARKER.fullmatch(secret) if isinstance(secret, str) else None
        return match is not None and 1 <= int(match[2]) <= self.secrets[match[1]]

    # --- values ---

    def _at(self, *keys: str) -> Places:
        places = self._fields.start
        for key in keys:
            places = self._fields.into(places, key)
        return places

    def _root(self, name: str, value: Json) -> Json:
        return self._value(value, self._at(name))

    def _value(self, value: Json, places: Places) -> Json:
        """A value without its secrets; what is nested deeper than can be walked through is not kept."""
        try:
            return self._walked(value, places)
        except RecursionError:
            self.secrets[DEPTH_RULE] += 1
            return {TAG: "nested"}

    def _walked(self, value: Json, places: Places) -> Json:
        if value is UNSET:
            return value
        if places and self._fields.are_whole(places):
            return self._whole(value)
        kind = type(value)
        if kind is str:
            return self.text(value)
        if kind is dict:
            return self._object(value, places)
        if kind is list:
            parts = []
            for index, part in enumerate(value):
                parts.append(self._walked(part, self._fields.into(places, str(index))))
            return parts
        if kind is int or kind is float:
            return self._number(value)
        return value

    def _object(self, value: dict[str, Json], places: Places) -> dict[str, Json]:
        """An object stays one: where all of it is to be taken out, that is each of its values."""
        is_whole = bool(places) and self._fields.are_whole(places)
        kept: dict[str, Json] = {}
        for key, part in value.items():
            if key == TAG:
                kept[TAG] = self._lost(part)
            elif is_whole:
                kept[self.text(key)] = self._whole(part)
            else:
                kept[self.text(key)] = self._member(key, part, self._fields.into(places, key))
        return kept

    def _member(self, key: str, part: Json, places: Places) -> Json:
        is_named = type(part) is str and "aws" in key.lower()  # the one name that a rule looks for
        if is_named and not self._fields.are_whole(places):
            return self.text(part, key=key)
        return self._walked(part, places)

    def _lost(self, tag: Json) -> Json:
        """What a tag says of a value that JSON could not carry was cut off somewhere: only its kind is kept."""
        if type(tag) is str:
            return self.text(tag, limit=min(len(tag.partition(" ")[0]), _KIND_LENGTH))
        pairs = [pair for pair in tag if type(pair) is list and len(pair) == 2] if type(tag) is list else []
        # Whatever else somebody wrote there is not kept: the clear parts of a redacted text will be told like that.
        return [[self._lost(key), self._value(part, NOWHERE)] for key, part in pairs]

    def _number(self, value: float) -> Json:
        """A number in which a rule finds something goes as a whole; it is another secret than a text of its digits."""
        is_whole = isinstance(value, int) or value.is_integer()
        text = str(int(value) if is_whole else value)
        found = self._finder.found(text.encode())
        return self._marker(found[0].rule, ("number", value)) if found else value

    def _whole(self, value: Json) -> Json:
        if has_unrepresentable(value):
            self.secrets[FIELD_RULE] += 1
            return {TAG: "redacted"}  # it equals nothing, and a marker would
        return self._marker(FIELD_RULE, ("whole", _canonical(_by_value(value))))

    # --- what an attempt is made of ---

    def _trajectory(self, trajectory: Trajectory) -> Trajectory:
        arguments, result = self._at("steps", "arguments"), self._at("steps", "result")
        metadata, error = self._at("steps", "metadata"), self._at("steps", "error")
        steps = [self._step(step, arguments, result, metadata, error) for step in trajectory.steps]
        return replace(
            trajectory,
            steps=tuple(steps),
            constraints=tuple([self._check(each) for each in trajectory.constraints]),
            checkpoints=tuple([self._checkpoint(each) for each in trajectory.checkpoints]),
        )

    def _step(self, step: Step, arguments: Places, result: Places, metadata: Places, error: Places) -> Step:
        if self._is_clean(step):
            return step
        said = step.error
        if isinstance(said, str):
            said = self._whole(said) if self._fields.are_whole(error) else self.text(said)
        return replace(
            step,
            tool_name=self.text(step.tool_name),
            call_id=self.text(step.call_id),
            arguments=None if step.arguments is None else self._value(step.arguments, arguments),
            result=self._value(step.result, result),
            error=said,
            agent=self.text(step.agent),
            to_agent=self.text(step.to_agent),
            metadata=None if step.metadata is None else self._object(step.metadata, metadata),
        )

    def _check(self, check: ConstraintCheck) -> ConstraintCheck:
        return replace(check, name=self.text(check.name), detail=self.text(check.detail))

    def _checkpoint(self, checkpoint: Checkpoint) -> Checkpoint:
        return replace(
            checkpoint,
            checkpoint_id=self.text(checkpoint.checkpoint_id),
            description=self.text(checkpoint.description),
            payload=self._value(checkpoint.payload, self._at("checkpoints", "payload")),
        )

    def _state(self, state: State) -> State:
        before = self._value(state.before, self._at("state", "before"))
        return State(before=before, after=self._value(state.after, self._at("state", "after")))

    def _error(self, error: AttemptError) -> AttemptError:
        traceback = None if error.traceback is None else self.long_text(error.traceback)
        return replace(error, message=self.message(error.message), traceback=traceback)

    def message(self, text: str) -> str:
        """One sentence, or the beginning of a long one."""
        limits = self._limits
        if limits is None or len(text) <= limits.message:
            return self.text(text)
        return f"{self.text(text, limit=limits.message)}…"

    def long_text(self, text: str) -> str:
        """What may hold a traceback: of a longer one than is kept its beginning and its end."""
        limits = self._limits
        if limits is None or len(text) <= limits.traceback:
            return self.text(text)
        kept = limits.traceback // 4
        return f"{self.text(text, limit=kept)}\n[…]\n{self._end(text, 3 * kept)}"

    def _end(self, text: str, length: int) -> str:
        """What was written in the last characters of a text."""
        data = text.encode("utf-8", "surrogatepass")
        begin = len(text[:-length].encode("utf-8", "surrogatepass"))
        cut = next((stop for start, stop, _ in self._finder.found(data) if start < begin < stop), begin)
        return self.text(data[cut:].decode("utf-8", "surrogatepass"))

    def log(self, log: str) -> str:
        """What was printed, up to the limit, in bytes as it was written."""
        data, limits = log.encode("utf-8", "surrogatepass"), self._limits
        if limits is None or len(data) <= limits.log:
            return self.text(log)
        return f"{self.text(log, limit=len(data[: limits.log].decode('utf-8', 'ignore')))}\n{limits.cut}"


def _by_value(value: Json) -> Json:
    """The value with each number in its one form, since 1 and 1.0 are equal."""
    if type(value) is float and value.is_integer():
        return int(value)
    if type(value) is dict:
        return {key: _by_value(part) for key, part in value.items()}
    if type(value) is list:
        return list(map(_by_value, value))
    return value
