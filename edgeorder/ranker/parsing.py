"""Reading a reply: which JSON it holds, and what of it can be believed to have arrived whole."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from edgeorder.extras import optional

RANKED = "ranked_passages"
_DEEPEST = 50
_ANEW = 20  # how often reading begins anew behind a bracket that nothing closes
_THOUGHT = re.compile(r"<(think|thinking|thought|reasoning|analysis)\b[^<>]{0,40}>", re.IGNORECASE)
_THOUGHT_OVER = re.compile(r"</(think|thinking|thought|reasoning|analysis)\s*>", re.IGNORECASE)
_MARKS = re.compile(r'[{}\[\]"<]')
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_NEXT_RECORD = re.compile(r"[\s,]*+(?=\{)")
_STRING = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


class Read(NamedTuple):
    """What a reply holds.

    Args:
        data: The object, or the array of records; None if there is none that can be used.
        error: Why not.
        cut: Whether the reply ends within its JSON.
        records: Of a reply that was cut: those that arrived whole.
    """

    data: Any = None
    error: str = ""
    cut: bool = False
    records: tuple[Mapping[str, Any], ...] = ()


def text_of(reply: Any) -> str:
    """Return the text of a reply: a string, blocks of content, or an object of LangChain or LlamaIndex that holds them.

    Raises:
        TypeError: For anything else.
    """
    if reply is None or isinstance(reply, str):
        return str(reply or "")
    if isinstance(reply, Mapping) and not isinstance(reply.get("text", reply.get("content")), str | list):
        return json.dumps(reply, default=str)  # structured output: the object itself
    if isinstance(reply, Mapping):
        return text_of(reply.get("text", reply.get("content")))
    if isinstance(reply, list | tuple):  # blocks of content, some of which are thoughts or calls
        kinds = [_field(block, "type") or _field(block, "block_type") or "text" for block in reply]
        said = [block for block, kind in zip(reply, kinds, strict=True) if kind in ("text", "output_text")]
        return "".join(text_of(block) for block in said)
    for name in ("content", "text", "message"):
        held = _field(reply, name)
        if isinstance(held, str | list | tuple) or (name == "message" and held is not None):
            return text_of(held)
    if callable(written := getattr(reply, "model_dump_json", None)):  # structured output: a pydantic object
        return str(written())
    raise TypeError(f"the reply is a {type(reply).__name__}, which holds no text")


def read_reply(text: str) -> Read:
    """Return what a reply holds: the last object or array in it that has the form of a ranking.

    Thoughts, fences and whatever stands around are passed over. Of a reply that was cut, nothing is closed or
    completed: only records whose closing brace arrived are given.
    """
    found, open_at, deep = _candidates(text)
    error = "the reply holds no JSON object"
    for piece in reversed(found):
        data, wrong = _parsed(piece)
        if _is_ranking(data):
            return Read(data)
        error = wrong or f'the JSON object has no "{RANKED}"'
        if wrong and _shaped(piece):
            return Read(None, wrong)
    if deep:
        return Read(None, f"the reply nests more than {_DEEPEST} levels deep")
    if open_at is not None and _shaped(text[open_at:]):
        return Read(None, "the reply was cut off before its JSON ended", True, tuple(_whole_records(text[open_at:])))
    return Read(None, error)


def _candidates(text: str) -> tuple[list[str], int | None, bool]:
    """Return the balanced pieces of a text, where something is open to the end, and whether anything nests too deep.

    A bracket that nothing closes may be prose: reading begins anew behind it, for objects only, since the arrays in an
    object that was cut are no replies.
    """
    spans, first = _spans(text)
    found = [text[start:stop] for start, stop, depth in spans if depth <= _DEEPEST]
    deep = any(depth > _DEEPEST for _, _, depth in spans)
    open_at = first
    for _ in range(_ANEW):
        if open_at is None or deep or any(map(_shaped, found)):
            break
        spans, open_at = _spans(text, open_at + 1)
        found += [text[start:stop] for start, stop, depth in spans if depth <= _DEEPEST and text[start] == "{"]
    return found, first, deep


def _spans(text: str, start: int = 0) -> tuple[list[tuple[int, int, int]], int | None]:
    """Return the outermost balanced brackets from `start` on, and where the first one stands that nothing closes.

    Read once from left to right. Strings count only within brackets, thoughts only outside.

    Returns:
        (start, stop, deepest level) of each, and the place of the open bracket.
    """
    spans: list[tuple[int, int, int]] = []
    stack: list[tuple[str, int]] = []
    at, deepest = start, 0
    while found := _MARKS.search(text, at):
        char, place, at = found[0], found.start(), found.end()
        if char == "<":
            if not stack and (thought := _THOUGHT.match(text, place)):
                end = re.compile(rf"</{thought[1]}\s*>", re.IGNORECASE).search(text, thought.end())
                if end is None:  # still thinking where the reply ends
                    return spans, None
                at = end.end()
            elif not stack and _THOUGHT_OVER.match(text, place):  # begun in the prompt: all before was thought
                spans.clear()
        elif char == '"':
            if stack:
                string = _STRING.match(text, at)
                if string is None:
                    return spans, stack[0][1]
                at = string.end()
        elif char in "{[":
            stack.append((char, place))
            deepest = max(deepest, len(stack))
            if deepest > _DEEPEST:
                return [*spans, (stack[0][1], place, deepest)], None
        elif stack:
            opened, began = stack.pop()
            if opened + char not in ("{}", "[]"):
                return spans, stack[0][1] if stack else began
            if not stack:
                spans.append((began, at, deepest))
                deepest = 0
    return spans, stack[0][1] if stack else None


def _parsed(piece: str) -> tuple[Any, str]:
    """Return the value of a balanced piece, or why it has none."""
    try:
        return json.loads(piece, object_pairs_hook=_fields, parse_constant=_no_constant, strict=False), ""
    except _TwiceError as error:
        return None, str(error)
    except (ValueError, RecursionError) as error:
        return _mended(piece, str(error))


def _mended(piece: str, problem: str) -> tuple[Any, str]:
    """Return the value of a balanced piece with small faults: a comma too many, single quotes, comments.

    Only what mending cannot have moved is taken: each id that is written is in the value, once, and no number is new.
    """
    wrong = f"the JSON cannot be read: {problem}"
    try:
        with optional("json-repair", "ranker"):
            from json_repair import repair_json
    except ImportError as error:
        return None, f"{wrong}; what would mend small faults is not at hand: {error}"
    try:
        mended = repair_json(piece, ensure_ascii=False)
        data = json.loads(mended, object_pairs_hook=_fields, parse_constant=_no_constant)
    except (ValueError, RecursionError, TypeError):
        return None, wrong
    written = len(re.findall(r"\bpassage_id\b", piece))
    records = [row for row in _rows(data) if isinstance(row, Mapping) and "passage_id" in row]
    numbers = {float(value) for row in records for value in row.values() if type(value) in (int, float)}
    if written != len(records) or not numbers <= set(map(float, _NUMBER.findall(piece))):
        return None, wrong
    return data, ""


class _TwiceError(ValueError):
    """A field that is named twice: which one is meant cannot be known."""


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise _TwiceError(f"the JSON names {twice!r:.40} twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _rows(data: Any) -> Sequence[Any]:
    rows = data.get(RANKED) if isinstance(data, Mapping) else data
    return rows if isinstance(rows, list) else ()


def _is_ranking(data: Any) -> bool:
    """Say whether a value has the form of a ranking: the object, or the bare array of its records."""
    if isinstance(data, Mapping):
        return RANKED in data
    return (
        isinstance(data, list) and bool(data) and all(isinstance(row, Mapping) and "passage_id" in row for row in data)
    )


def _shaped(piece: str) -> bool:
    """Say whether a piece was meant to be a ranking."""
    return f'"{RANKED}"' in piece or (piece.lstrip().startswith("[") and '"passage_id"' in piece)


def _whole_records(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the records of a ranking that was cut, up to the first that is not whole."""
    begun = re.search(rf'"{RANKED}"\s*:\s*\[|\[\s*(?=\{{\s*"passage_id")', text)
    decoder = json.JSONDecoder(object_pairs_hook=_fields, parse_constant=_no_constant, strict=False)
    at = begun.end() if begun else len(text)
    while (found := _NEXT_RECORD.match(text, at)) is not None:
        try:
            record, at = decoder.raw_decode(text, found.end())
        except (ValueError, RecursionError):
            return
        yield record


def _field(held: Any, name: str) -> Any:
    if isinstance(held, str):
        return None
    return held.get(name) if isinstance(held, Mapping) else getattr(held, name, None)
