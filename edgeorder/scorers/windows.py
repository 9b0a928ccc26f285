"""The window of a model that reads pairs: what is shown of a query and passages that are too long for it.

Only passages are cut, so that all of them are judged by the same query. Where a query leaves next to nothing of the
window, it is cut itself, and for all passages alike.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from edgeorder.alerts import warn
from edgeorder.errors import RerankError, bad_choice

LongPassages: TypeAlias = Literal["warn", "window"]
Pair: TypeAlias = tuple[str, str]
Spans: TypeAlias = list[tuple[int, int]]

_LONG_QUERY = 1 / 3  # of the window: a query beyond it is mentioned where passages are cut
_LEAST = 1 / 8  # of the window: what a query leaves to passages


class Reader(NamedTuple):
    """How a model reads text.

    Args:
        tokens: Gives the (start, end) characters of each token of each text.
        knows_offsets: Whether these are true; a slow tokenizer knows only how many there are.
        window: The most tokens that the model takes.
        around: Gives the tokens of a pair of this query and an empty passage: query, marks, template.
    """

    tokens: Callable[[Sequence[str]], list[Spans]]
    knows_offsets: bool
    window: int
    around: Callable[[str], int]


def check_long_passages(long_passages: object) -> None:
    """Raise ValueError unless `long_passages` is a known name."""
    if long_passages not in ("warn", "window"):
        raise bad_choice("long_passages", long_passages, ("warn", "window"))


def fitted(
    reader: Reader | None, query: str, passages: list[str], long_passages: LongPassages
) -> tuple[str, list[str], list[int]]:
    """Return the query and the pieces that are shown to the model, and which passage each piece belongs to.

    Raises:
        ValueError: If the window has no room for a query and a passage.
        RerankError: If windows are asked for where the tokenizer does not know where its tokens stand.
    """
    owners = list(range(len(passages)))
    if reader is None:
        return query, passages, owners
    marks = reader.around("")
    if reader.window < marks + 2:
        raise ValueError(
            f"max_length={reader.window} leaves no room for a query and a passage: the model's own marks take {marks}"
        )
    # A token of plain ASCII is a character or more: what fits by its length need not be read.
    longest = max(map(len, passages))
    if marks + len(query) + longest <= reader.window and all(map(str.isascii, (query, *passages))):
        return query, passages, owners
    shown, asked = _query_within(reader, query, reader.window - marks - max(1, int(_LEAST * reader.window)))
    room = max(1, reader.window - reader.around(shown))
    read = reader.tokens(passages)
    too_long = [index for index, tokens in enumerate(read) if len(tokens) > room]
    if too_long and long_passages == "window" and not reader.knows_offsets:
        raise RerankError("long_passages='window' needs a model with a fast tokenizer, which knows offsets")
    if message := _message(reader, asked, shown != query, too_long if long_passages == "warn" else (), len(passages)):
        warn(message)
    if not too_long:
        return shown, passages, owners
    if long_passages == "window":
        return shown, *_windows(reader, passages, read, room)
    pieces = list(passages)
    for index in too_long:
        pieces[index] = _prefix(reader, passages[index], read[index], room)
    return shown, pieces, owners


def _message(reader: Reader, asked: int, query_cut: bool, cut: Sequence[int], n: int) -> str:
    """Return what is not shown to the model, in words; empty if nothing is left out."""
    said = []
    if query_cut:
        said.append(
            f"the query has {asked} tokens, and the model reads {reader.window}: its end is cut off, for all passages "
            "alike"
        )
    if cut:
        aside = f", of which the query takes {asked}" if asked > _LONG_QUERY * reader.window and not query_cut else ""
        said.append(
            f"{len(cut)} of {n} passages are longer than the {reader.window} tokens that the model reads with the query"
            f"{aside}; the rest of them is not scored. long_passages='window' scores all of it."
        )
    return "; ".join(said)


def _query_within(reader: Reader, query: str, most: int) -> tuple[str, int]:
    """Return a query of `most` tokens at most, and how many it had."""
    (tokens,) = reader.tokens([query])
    if len(tokens) <= most:
        return query, len(tokens)
    return _prefix(reader, query, tokens, max(1, most)), len(tokens)


def _prefix(reader: Reader, text: str, tokens: Spans, most: int) -> str:
    """Return the beginning of a text, of `most` tokens at most; `tokens` are those of the whole."""

    def count(start: str) -> int:
        return len(reader.tokens([start])[0])

    if reader.knows_offsets:
        # The tokens of a beginning are nearly always the first tokens of the whole.
        for last in range(most - 1, max(-1, most - 4), -1):
            if count(start := text[: tokens[last][1]]) <= most:
                return start
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(text[:middle]) <= most else (low, middle - 1)
    return text[:low]


def _windows(reader: Reader, passages: Sequence[str], read: Sequence[Spans], room: int) -> tuple[list[str], list[int]]:
    """Cut long passages into windows that overlap by half (MaxP: Dai and Callan, SIGIR 2019)."""
    for smaller in range(room, max(0, room - 8), -1):
        pieces: list[str] = []
        owners: list[int] = []
        for at, (passage, tokens) in enumerate(zip(passages, read, strict=True)):
            last = max(0, len(tokens) - smaller)
            for start in (*range(0, last, max(1, smaller // 2)), last):
                window = tokens[start : start + smaller]
                pieces.append(passage if len(tokens) <= smaller else passage[window[0][0] : window[-1][1]])
                owners.append(at)
        # Cut out of its text, a piece may need a token more than it did in it.
        if max(map(len, reader.tokens(pieces))) <= room:
            break
    return pieces, owners
