"""The grammar of rules, for lark (LALR(1)): no text has two readings, and an error is found where it stands."""

from __future__ import annotations

from typing import Final

from oloproof.evaluators.temporal.events import KEYWORDS, WORD

VALUES: Final = frozenset({"true", "false", "null"})

GRAMMAR: Final = rf"""
?rule: conjunction
    | conjunction ("or" conjunction)+                               -> some
?conjunction: unary
    | unary ("and" unary)+                                          -> all
?unary: scoped
    | "not" unary                                                   -> negation
    | "after" event ":" unary                                       -> after
    | "before" event ":" unary                                      -> before_first
?scoped: simple
    | scoped "if" event                                             -> condition
    | scoped "between" event "and" event                            -> between
    | "(" rule ")"
?simple: "never" event                                              -> never
    | "eventually" event                                            -> eventually
    | "every" "call" "is" event                                     -> every
    | "last" "call" "is" event                                      -> last
    | ("first" | "next") "call" "is" event                          -> next
    | event "within" count ("calls" | "call")                       -> within
    | event "exactly" times ["per" path]                            -> exactly
    | event "at" "least" times ["per" path]                         -> at_least
    | event "at" "most" times ["per" path]                          -> at_most
    | event "before" event                                          -> before
    | event "only" "after" event                                    -> only_after
    | event "only" "immediately" "after" event                      -> only_immediately_after
    | event "until" event                                           -> until
count: NUMBER
times: NUMBER ("times" | "time") | ONCE | TWICE

?event: made
    | made "by" name                                                -> by
    | "(" any_of ")"
?any_of: all_of
    | all_of ("or" all_of)+                                         -> any_of
?all_of: negated
    | negated ("and" negated)+                                      -> all_of
?negated: event
    | "not" negated                                                 -> no_event
made: tool ["(" meets ("," meets)* ")"]                             -> call
    | "error" ["(" any_of ")"]                                      -> failed
    | "success" ["(" any_of ")"]                                    -> succeeded
tool: name
    | ANY
name: WORD
    | TEXT

meets: path EQUALS literal                                          -> equals
    | path UNEQUAL literal                                          -> unequal
    | path ORDER literal                                            -> ordered
    | path EQUALS "same" [path]                                     -> same
    | path UNEQUAL "same" [path]                                    -> not_same
    | path "in" "[" literal ("," literal)* "]"                      -> one_of
    | path "not" "in" "[" literal ("," literal)* "]"                -> not_one_of
    | path "matches" TEXT                                           -> matches
    | path "not" "matches" TEXT                                     -> not_matches
    | path "from" source                                            -> derived
    | path "not" "from" source                                      -> not_derived
    | path "present"                                                -> present
    | path "absent"                                                 -> absent
source: WORD
    | TEXT TAIL
literal: WORD | TEXT | NUMBER | TRUE | FALSE | NULL
path: WORD | TEXT | keyword
!keyword: {" | ".join(f'"{word}"' for word in sorted(KEYWORDS - VALUES))}

ANY: "any"
ONCE: "once"
TWICE: "twice"
TRUE: "true"
FALSE: "false"
NULL: "null"
EQUALS: /==?/
UNEQUAL: "!="
ORDER: /[<>]=?/
NUMBER: /-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?/
TEXT: /"([^"\\]|\\.)*"|'[^']*'/s
TAIL: /(\.[\w-]+)+/
WORD: /{WORD.pattern.replace("/", chr(92) + "/")}/
SPACE: /\s+/
%ignore SPACE
"""
