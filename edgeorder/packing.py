"""Packing: which ranks fit the token budget.

The walk goes down the ranks, never along the positions, so a cut takes the weakest chunks wherever they would have
been placed. Parts are counted one by one as the walk reaches them; the joined text, which can need more tokens than
its parts, is counted at the end, and the weakest chunks leave until it fits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

from edgeorder.chunk import Chunk, ChunkList, ChunkView
from edgeorder.errors import BudgetError, bad_choice
from edgeorder.rendering import Layout
from edgeorder.selecting import Cut
from edgeorder.shortening import longest_prefix
from edgeorder.text.units import Span

TokenCounter: TypeAlias = Callable[[str], int]
Overflow: TypeAlias = Literal["skip", "stop", "truncate", "compress", "error"]
Reserve: TypeAlias = int | str | Sequence[int | str]
Judge: TypeAlias = Callable[[ChunkView], Sequence[float | None]]
"""Scores sentences by the query."""

_OVERFLOWS = ("skip", "stop", "truncate", "compress", "error")
_PATIENCE = 8  # misfits in a row after which "skip" gives up
_RECUTS = 3  # times that shortened chunks are cut further before one is dropped


@dataclass(frozen=True)
class Budget:
    """A token budget for the rendered block, or for the whole prompt where `place` is given one.

    Args:
        tokens: The window, in tokens.
        counter: What counts: None for tiktoken's o200k_base (in LlamaIndex, the tokenizer of its `Settings`), the name
            of a tiktoken encoding or of an OpenAI model, or any callable from text to a number of tokens.
        overflow: What happens at a chunk that does not fit. `"skip"` goes on to smaller ones and gives up after 8
            misfits in a row; `"stop"` keeps a prefix of the ranking; `"truncate"` cuts the first misfit to the room
            left, at the end of a sentence or else a word; `"compress"` (extra `text`, needs the query) takes
            sentences out of all but the best two chunks, from the weakest rank up, those that score lowest by the
            scorer or BM25, and marks the gaps; `"error"` raises `BudgetError`.
        reserve: What shares the window with the block (question, instruction, history, answer): a number of tokens,
            a text to count, or a list of both.

    Raises:
        ValueError: For a value out of range, naming it.
        TypeError: For a value of the wrong type; a bool is no number here.
        CounterError: For a counter name that tiktoken does not know.

    >>> Budget(6000, reserve=["What is the refund limit?", 500]).overflow
    'skip'
    """

    tokens: int
    counter: TokenCounter | str | None = None
    overflow: Overflow = "skip"
    reserve: Reserve = 0

    def __post_init__(self) -> None:
        if isinstance(self.tokens, bool) or not isinstance(self.tokens, int):
            raise TypeError(f"budget must be a whole number of tokens, not {self.tokens!r}")
        if self.tokens < 1:
            raise ValueError(f"budget={self.tokens} leaves no room; use at least 1 token, or None for no budget")
        if isinstance(self.counter, str):
            from edgeorder.tokens import tiktoken_counter

            tiktoken_counter(self.counter)
        elif self.counter is not None and not callable(self.counter):
            raise TypeError(f"Budget.counter must be a name or a callable from text to tokens, not {self.counter!r}")
        if isinstance(self.reserve, list):  # as a tuple, so that what was loaded from JSON equals what was written
            object.__setattr__(self, "reserve", tuple(self.reserve))
        if self.overflow not in _OVERFLOWS:
            raise bad_choice("Budget.overflow", self.overflow, _OVERFLOWS)
        for part in self._reserved_parts():
            if isinstance(part, bool) or not isinstance(part, int | str):
                raise TypeError(f"Budget.reserve must be tokens (int) or texts (str), not {part!r}")
            if isinstance(part, int) and part < 0:
                raise ValueError(f"Budget.reserve={part} must not be negative")

    def _reserved_parts(self) -> Sequence[int | str]:
        return self.reserve if isinstance(self.reserve, tuple) else (self.reserve,)

    def reserving(self, more: Reserve) -> "Budget":
        """Return the same budget with more in its reserve: what one request adds, such as history and question."""
        added = replace(self, reserve=more)._reserved_parts()  # checked, too
        return replace(self, reserve=(*self._reserved_parts(), *added))

    def room(self, count: TokenCounter) -> int:
        """Return the tokens left for the block.

        Raises:
            BudgetError: If the reserve leaves none.
        """
        reserved = sum(part if isinstance(part, int) else count(part) for part in self._reserved_parts())
        if reserved >= self.tokens:
            raise BudgetError(f"the reserve of {reserved} tokens leaves nothing of the budget of {self.tokens}")
        return self.tokens - reserved


def as_budget(budget: Budget | int | None) -> Budget | None:
    """Return the budget that was asked for; a bare number is `Budget(number)`."""
    return budget if budget is None or isinstance(budget, Budget) else Budget(budget)


class Packing(NamedTuple):
    """What fits. Its collections change while the joined text is being settled.

    Args:
        budget: The budget.
        kept: Ranks (0-based) that fit, best first.
        window: Tokens that the joined text may need: the block, or the prompt around it.
        room: Tokens of the window that the prompt leaves for the block.
        count: The checked counter.
        counter: Its name.
        cuts: The chunks that do not fit.
        counts: Tokens of a chunk as it stands in the block by input index, for those counted.
        texts: Shortened bodies by input index.
        elisions: What was cut out of them.
        echoed: Ranks that are repeated, best first.
        shrink: What compresses the chunks by that many tokens more than the last time.
    """

    budget: Budget
    kept: list[int]
    window: int
    room: int
    count: TokenCounter
    counter: str
    cuts: list[Cut]
    counts: dict[int, int]
    texts: dict[int, str]
    elisions: dict[int, list[Span]]
    echoed: list[int]
    shrink: list[Callable[[int], None]]


def pack(
    view: ChunkView,
    ranking: Sequence[int],
    kept: Sequence[int],
    budget: Budget,
    layout: Layout,
    around: str | None = None,
    judge: Judge | None = None,
) -> Packing:
    """Walk down the ranks and keep what fits, by the sum of the parts.

    Args:
        view: The chunks.
        ranking: Input indices, best first.
        kept: Ranks (0-based) still in the running.
        budget: The budget.
        layout: How the block is written.
        around: The prompt without a block, if the budget holds on one.
        judge: What scores sentences; only `overflow="compress"` needs it.

    Raises:
        BudgetError: If the reserve or the prompt leaves no room, or with `overflow="error"` if a chunk does not fit.
        CounterError: If a text cannot be counted.
    """
    from edgeorder.tokens import named_counter

    count, name = named_counter(view.counter if budget.counter is None else budget.counter)
    window = room = budget.room(count)
    if around:
        framing = count(around)
        room -= framing
        if room < 1:
            raise BudgetError(
                f"the prompt around the block needs {framing} tokens, and {window} are left of the budget of "
                f"{budget.tokens}: nothing remains for the chunks"
            )
    packing = Packing(budget, [], window, room, count, name, [], {}, {}, {}, [], [])
    if not kept:
        return packing
    between = count(layout.separator) if len(kept) > 1 else 0
    if budget.overflow == "compress" and judge is not None:
        _compress(packing, view, ranking, kept, layout, between, judge)
        return packing
    used = misfits = 0
    for walked, rank in enumerate(kept):
        index = ranking[rank]
        tokens = packing.counts[index] = count(layout.part(view, index, None, len(packing.kept) + 1))
        left = room - used - (between if packing.kept else 0)
        if tokens <= left:
            packing.kept.append(rank)
            used, misfits = room - left + tokens, 0
            if len(packing.echoed) == len(packing.kept) - 1 < layout.echo and used + between + tokens <= room:
                packing.echoed.append(rank)
                used += between + tokens
            continue
        if budget.overflow == "error":
            raise _does_not_fit(index, rank, tokens, left, budget)
        misfits += 1
        if budget.overflow == "truncate" and _shorten(packing, view, layout, index, left):
            packing.kept.append(rank)
        else:
            packing.cuts.append((index, rank + 1, "budget", tokens, None))
        if budget.overflow != "skip" or misfits == _PATIENCE:
            cut_uncounted(packing, ranking, kept[walked + 1 :])
            break
    return packing


def fitting_tokens(
    packing: Packing, view: ChunkView, ranking: Sequence[int], layout: Layout, text: str, attempt: int
) -> int | None:
    """Count the joined text; where it does not fit, let the weakest echo or else the weakest chunk go.

    Args:
        packing: What was kept so far; where the text does not fit, it is changed.
        view: The chunks.
        ranking: Input indices, best first.
        layout: How the block is written.
        text: The block of what `packing` keeps, or the prompt around it.
        attempt: How many texts were too long before, from 0.

    Returns:
        Tokens of the text if it fits, else None: there is a new one to count.

    Raises:
        BudgetError: With `overflow="error"`, if the text does not fit although its parts do.
    """
    if not text and not packing.kept:
        return 0
    tokens = packing.count(text)
    excess = tokens - packing.window
    if excess <= 0 or not packing.kept:
        return tokens
    if packing.echoed:
        packing.echoed.pop()
        return None
    rank = packing.kept[-1]
    index = ranking[rank]
    if packing.budget.overflow == "error":
        raise _does_not_fit(index, rank, packing.counts[index], packing.counts[index] - excess, packing.budget)
    if attempt < _RECUTS:
        if packing.shrink:
            packing.shrink[0](excess)
            return None
        if packing.budget.overflow == "truncate":
            cut = packing.count(layout.part(view, index, packing.texts.get(index), len(packing.kept)))
            if _shorten(packing, view, layout, index, cut - excess):
                return None
    packing.kept.pop()
    packing.texts.pop(index, None)
    packing.elisions.pop(index, None)
    packing.cuts.append((index, rank + 1, "budget", packing.counts[index], None))
    return None


def _shorten(packing: Packing, view: ChunkView, layout: Layout, index: int, room: int) -> bool:
    """Cut a body so that its chunk needs at most `room` tokens in the block; say whether anything was left of it."""
    body, number = view.text(index), len(packing.kept) + 1
    shorter = longest_prefix(body, lambda text: packing.count(layout.part(view, index, text, number)), room)
    if shorter is not None:
        packing.texts[index], packing.elisions[index] = shorter
    return shorter is not None


def _compress(
    packing: Packing,
    view: ChunkView,
    ranking: Sequence[int],
    kept: Sequence[int],
    layout: Layout,
    between: int,
    judge: Judge,
) -> None:
    """Keep units of the chunks; `packing.shrink` gets what keeps fewer of them."""
    from edgeorder.compression import Compression
    from edgeorder.filling import REACH, Whole

    count = packing.count
    room = packing.room - max(0, count(layout.join(["x"])) - count("x"))
    always: list[int] = []
    wholes: list[Whole] = []
    used = misfits = total = 0
    for rank in kept:
        index = ranking[rank]
        tokens = packing.counts[index] = count(layout.part(view, index, None, len(wholes) + 1))
        wholes.append(Whole(view.text(index), tokens))
        total += min(tokens, max(room, 0) + 1) + between
        if misfits < _PATIENCE:
            misfits += 1
            if used + tokens <= room:
                always.append(len(wholes) - 1)
                used, misfits = used + tokens + between, 0
                if len(packing.echoed) == len(always) - 1 < layout.echo and used + tokens <= room:
                    packing.echoed.append(rank)
                    used += tokens + between
        if total > REACH * room and misfits == _PATIENCE:
            break
    cut_uncounted(packing, ranking, kept[len(wholes) :])
    room -= sum(packing.counts[ranking[rank]] + between for rank in packing.echoed)
    cuts = list(packing.cuts)

    def measure(chunk: int, body: str) -> int:
        return count(layout.part(view, ranking[kept[chunk]], body, chunk + 1))

    compression = Compression(wholes, always, room, between, count, measure)
    scores = judge(ChunkList([Chunk(text) for text in compression.texts])) if compression.texts else ()

    def shrink(excess: int) -> None:
        nonlocal room
        room -= excess
        found = compression.choose(scores, room)
        packing.kept[:] = [kept[chunk] for chunk in found.kept]
        packing.echoed[:] = [rank for rank in packing.echoed if rank in packing.kept]
        packing.texts.clear()
        packing.elisions.clear()
        for chunk, body in found.bodies.items():
            packing.texts[ranking[kept[chunk]]], packing.elisions[ranking[kept[chunk]]] = body
        packing.cuts[:] = cuts
        for chunk, rank in enumerate(kept[: len(wholes)]):
            if chunk not in found.kept:
                packing.cuts.append((ranking[rank], rank + 1, "budget", packing.counts[ranking[rank]], None))

    packing.shrink.append(shrink)
    shrink(0)


def cut_uncounted(packing: Packing, ranking: Sequence[int], ranks: Sequence[int]) -> None:
    """Leave out ranks that the walk never reached."""
    packing.cuts.extend([(ranking[rank], rank + 1, "budget", None, None) for rank in ranks])


def _does_not_fit(index: int, rank: int, tokens: int, left: int, budget: Budget) -> BudgetError:
    return BudgetError(
        f"the chunk at input index {index} (rank {rank + 1}) needs {tokens} tokens, and {max(left, 0)} of the budget "
        f"of {budget.tokens} are left. Raise the budget, lower top_n, or use another overflow than 'error'."
    )
