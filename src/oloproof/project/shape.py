"""From a tree of nodes to values of a declared shape: a msgspec Struct says what may be written, this says what is not.

Types are exact: ``"2"``, ``true`` and ``1.0`` are not the integer 2. A key without a value is a problem and never
stands for the default. Every problem of the tree is noted, none stops the reading.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from functools import lru_cache
from typing import Any, Final, TypeVar, cast

from msgspec import Struct
from msgspec import inspect as shapes

from oloproof.errors import did_you_mean, either, shown
from oloproof.project.elsewhere import key_meant
from oloproof.project.meant import form_hint, reference_hint
from oloproof.project.nodes import Entry, Fields, Items, Node, Scalar, describe, excerpt, plain
from oloproof.project.problems import Problems
from oloproof.project.spec import FORMS, PATH, TEXT_IS

T = TypeVar("T", bound=Struct)
Shape = shapes.Type


class _Invalid:
    """Stands for a value that could not be read; what is wrong has been noted."""


INVALID: Final = _Invalid()
_LARGEST: Final = 1e300


def struct(node: Node, cls: type[T], problems: Problems, *, what: str) -> T | None:
    """``node`` as a ``cls``; None when it is not one, which is then among the problems."""
    value = _convert(node, _shape_of(cls), problems, what)
    return None if value is INVALID else cast(T, value)


def keys(
    node: Fields, cls: type[Struct], problems: Problems, *, what: str, raw: Collection[str] = ()
) -> tuple[dict[str, Any], bool]:
    """The fields of ``cls`` that are written in ``node``, for a caller who builds the value itself; those named in
    ``raw`` stay nodes.

    Fields that could not be read are left out; the second value says whether there was any problem.
    """
    values, valid = _fields(node, _shape_of(cls), problems, what, raw)
    return {name: value for name, value in values.items() if value is not INVALID}, valid


def mapping(node: Node, problems: Problems, *, what: str, text_is: str = "") -> Fields | None:
    """``node`` as a mapping, None (and a problem) when it is something else. ``text_is`` is the key for which a text
    was probably meant that stands there alone."""
    if isinstance(node, Fields):
        return node
    is_text = bool(text_is) and isinstance(node, Scalar) and isinstance(node.value, str)
    _wrong_type(node, "a mapping", problems, what, hint=_under(text_is, node) if is_text else "")
    return None


def items(node: Node, problems: Problems, *, what: str) -> tuple[Node, ...]:
    """The items of a list, none (and a problem) when ``node`` is something else."""
    if isinstance(node, Items):
        return node.items
    _wrong_type(node, "a list", problems, what)
    return ()


@lru_cache
def _shape_of(kind: Any) -> Shape:
    return shapes.type_info(kind)


def _convert(node: Node, declared: Shape, problems: Problems, what: str) -> Any:
    shape = _bare(declared)
    if isinstance(shape, shapes.UnionType):
        choices = [choice for choice in shape.types if not isinstance(choice, shapes.NoneType)]
        shape = next((choice for choice in choices if _fits(node, choice)), shape if len(choices) > 1 else choices[0])
    if not _fits(node, shape):
        _wrong_type(node, _name(shape), problems, what, hint=_type_hint(node, shape) or _reference(node, declared))
        return INVALID
    match shape:
        case shapes.StructType():
            values, valid = _fields(cast(Fields, node), shape, problems, what)
            return shape.cls(**values) if valid else INVALID
        case shapes.ListType() | shapes.VarTupleType():
            return _list(cast(Items, node), shape, problems, what)
        case shapes.DictType():
            return _dict(cast(Fields, node), shape, problems, what)
        case shapes.AnyType():
            before = len(problems.found)
            result = plain(node, problems)
            return result if len(problems.found) == before else INVALID
        case _:
            return _scalar(cast(Scalar, node), shape, problems, what)


def _fields(
    node: Fields, shape: Shape, problems: Problems, what: str, raw: Collection[str] = ()
) -> tuple[dict[str, Any], bool]:
    declared = {field.encode_name: field for field in cast(shapes.StructType, shape).fields}
    values: dict[str, Any] = {}
    valid = True
    for entry in node.entries:
        field = declared.get(entry.key)
        if field is None:
            unknown_key(entry, declared, problems)
            valid = False
            continue
        value = entry.value if entry.key in raw else _convert(entry.value, field.type, problems, entry.key)
        values[field.name] = value
        valid = valid and value is not INVALID
    for name, field in declared.items():
        if field.required and node.entry(name) is None:
            problems.at(node, problems.codes.missing_key, f"{what} needs the key {name!r}")
            valid = False
    return values, valid


def unknown_key(entry: Entry, known: Collection[str], problems: Problems) -> None:
    """Note a key that means nothing here."""
    hint = key_meant(entry.key, known) or did_you_mean(entry.key, known, otherwise="the keys are")
    if entry.key == "<<":
        hint = "merge keys are not part of YAML 1.2; write the keys out"
    problems.at(entry, problems.codes.unknown_key, f"unknown key {shown(entry.key)}", hint=hint)


def _list(node: Items, shape: Any, problems: Problems, what: str) -> Any:
    if shape.min_length and len(node.items) < shape.min_length:
        problems.at(node, problems.codes.bad_value, f"{what} must not be empty")
        return INVALID
    values = [_convert(item, shape.item_type, problems, f"an item of {what}") for item in node.items]
    if INVALID in values:
        return INVALID
    return tuple(values) if isinstance(shape, shapes.VarTupleType) else values


def _dict(node: Fields, shape: Any, problems: Problems, what: str) -> Any:
    if shape.min_length and len(node.entries) < shape.min_length:
        problems.at(node, problems.codes.bad_value, f"{what} must not be empty")
        return INVALID
    values = {}
    for entry in node.entries:
        key = Scalar(entry.key, entry.key, entry.line, entry.column)
        checked = _convert(key, shape.key_type, problems, f"a key of {what}")
        values[checked] = _convert(entry.value, shape.value_type, problems, f"{what}.{entry.key}")
    return INVALID if INVALID in values or INVALID in values.values() else values


def _scalar(node: Scalar, shape: Shape, problems: Problems, what: str) -> Any:
    found = node.value
    wrong, hint = "", ""
    match shape:
        case shapes.LiteralType():
            if found not in shape.values:
                wrong = f"{what} must be {_alternatives(shape)}, found {describe(node)}"
                hint = did_you_mean(str(found), map(str, shape.values))
        case shapes.IntType() | shapes.FloatType():
            wrong = _out_of_bounds(node, shape, what)
            if not wrong and isinstance(shape, shapes.FloatType):
                found = float(cast(float, found))
        case shapes.StrType():
            wrong, hint = _bad_text(str(found), shape, what)
        case _:
            pass
    if wrong:
        problems.at(node, problems.codes.bad_value, wrong, hint=hint)
        return INVALID
    return found


def _out_of_bounds(node: Scalar, shape: shapes.IntType | shapes.FloatType, what: str) -> str:
    number = cast(float, node.value)
    if (isinstance(number, float) and not math.isfinite(number)) or abs(number) > _LARGEST:
        return f"{what} must be a finite number, found {excerpt(node.text)}"
    bounds = [
        (f"at least {shape.ge:g}", number >= shape.ge) if shape.ge is not None else None,
        (f"more than {shape.gt:g}", number > shape.gt) if shape.gt is not None else None,
        (f"at most {shape.le:g}", number <= shape.le) if shape.le is not None else None,
        (f"less than {shape.lt:g}", number < shape.lt) if shape.lt is not None else None,
    ]
    stated = [bound for bound in bounds if bound is not None]
    if all(holds for _, holds in stated):
        return ""
    return f"{what} must be {' and '.join(text for text, _ in stated)}, found {excerpt(node.text)}"


def _bad_text(text: str, shape: shapes.StrType, what: str) -> tuple[str, str]:
    """What is wrong with it and a hint, "" where nothing is."""
    if shape.min_length and len(text) < shape.min_length:
        return f"{what} must not be empty", ""
    if shape.pattern is not None and not re.search(shape.pattern, text):
        form = FORMS.get(shape.pattern, f"of the form {shape.pattern}")
        return f"{what} must be {form}, found {shown(text)}", form_hint(text, shape.pattern)
    return "", ""


def _fits(node: Node, shape: Shape) -> bool:
    """Whether the node is of the right kind; its parts and bounds are another matter."""
    found = node.value if isinstance(node, Scalar) else None
    match _bare(shape):
        case shapes.StructType() | shapes.DictType():
            return isinstance(node, Fields)
        case shapes.ListType() | shapes.VarTupleType():
            return isinstance(node, Items)
        case shapes.BoolType():
            return isinstance(found, bool)
        case shapes.IntType():
            return isinstance(found, int) and not isinstance(found, bool)
        case shapes.FloatType():
            return isinstance(found, int | float) and not isinstance(found, bool)
        case shapes.LiteralType(values=values):
            return any(type(found) is type(value) for value in values)
        case shapes.StrType():
            return isinstance(found, str)
        case shapes.UnionType(types=types):
            return any(_fits(node, choice) for choice in types if not isinstance(choice, shapes.NoneType))
        case shapes.AnyType():
            return True
        case _:
            raise TypeError(f"a shape of {shape} cannot be read from a file")


def _wrong_type(node: Node, wanted: str, problems: Problems, what: str, *, hint: str = "") -> None:
    codes = problems.codes
    if isinstance(node, Scalar) and node.value is None:
        problems.at(node, codes.wrong_type, f"{what} has no value; it must be {wanted}")
        return
    problems.at(node, codes.wrong_type, f"{what} must be {wanted}, found {describe(node)}", hint=hint)


def _reference(node: Node, declared: Shape) -> str:
    """A text under the key that is declared beside the mapping in whose place it stands, "" where there is none."""
    key = declared.extra.get(TEXT_IS) if isinstance(declared, shapes.Metadata) and declared.extra else None
    if key is None or not isinstance(node, Scalar) or not isinstance(node.value, str):
        return ""
    return reference_hint(node.value, key)


def _type_hint(node: Node, shape: Shape) -> str | None:
    if not isinstance(node, Scalar):
        return None
    if isinstance(shape, shapes.StrType):
        return f'write it in quotes: "{node.text}"' if len(node.text) <= 40 else None
    numeric = isinstance(shape, shapes.IntType | shapes.FloatType)
    if numeric and isinstance(node.value, str) and re.fullmatch(r"-?[0-9]{1,18}", node.value):
        return f"write it without quotes: {node.value}"
    if isinstance(shape, shapes.FloatType) and isinstance(node.value, str):
        return _number_hint(node.value)
    if isinstance(shape, shapes.IntType) and isinstance(node.value, float) and node.value.is_integer():
        return f"write {node.value:.0f}" if abs(node.value) < 1e15 else None
    if isinstance(shape, shapes.BoolType) and node.text.lower() in ("yes", "on", "no", "off", "1", "0"):
        return f"write {'true' if node.text.lower() in ('yes', 'on', '1') else 'false'}"
    if isinstance(shape, shapes.ListType | shapes.VarTupleType) and isinstance(node.value, str):
        listed = node.value if "," in node.value else ", ".join(node.value.split())
        return f"write [{listed}]" if len(listed) <= 40 else None
    if isinstance(shape, shapes.StructType) and isinstance(node.value, str):
        return next((_under(field.encode_name, node) for field in shape.fields if _is_meant(node, field.type)), None)
    return None


def _number_hint(text: str) -> str | None:
    """Of a text that is a number, or a share in percent."""
    percent = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,6})?) ?%", text)
    if percent:
        return f"write {float(percent[1]) / 100:g} for {percent[1]} %"
    return f"write it without quotes: {text}" if re.fullmatch(r"[0-9]{1,9}\.[0-9]{1,9}", text) else None


def _under(key: str, node: Node) -> str:
    """A text as the value of a key, "" where it is too long to be shown or is more than a word."""
    text = node.text if isinstance(node, Scalar) else ""
    return f"write {{{key}: {text}}}" if re.fullmatch(r"[\w.:/-]{1,80}", text) else ""


def _is_meant(node: Scalar, shape: Shape) -> bool:
    """Whether a text has the very form that is asked for there, or is one of few words that may stand there."""
    match _bare(shape):
        case shapes.UnionType(types=types):
            return any(_is_meant(node, choice) for choice in types)
        case shapes.LiteralType(values=values):
            return node.value in values
        case shapes.StrType(pattern=str() as pattern):
            return pattern != PATH and re.search(pattern, node.text) is not None
        case _:
            return False


def _bare(shape: Shape) -> Shape:
    return _bare(shape.type) if isinstance(shape, shapes.Metadata) else shape


def _name(shape: Shape) -> str:
    match _bare(shape):
        case shapes.StructType() | shapes.DictType():
            return "a mapping"
        case shapes.ListType() | shapes.VarTupleType():
            return "a list"
        case shapes.BoolType():
            return "true or false"
        case shapes.IntType():
            return "an integer"
        case shapes.FloatType():
            return "a number"
        case shapes.LiteralType() as literal:
            return _alternatives(literal)
        case shapes.UnionType(types=types):
            return " or ".join(_name(choice) for choice in types if not isinstance(choice, shapes.NoneType))
        case _:
            return "a string"


def _alternatives(shape: shapes.LiteralType) -> str:
    return either([str(choice) for choice in shape.values])
