"""The result of placing: which chunk sits where, and what was left out."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from edgeorder.chunk import ChunkView
from edgeorder.rendering import Block, passage_of
from edgeorder.selecting import Cut, Dropped
from edgeorder.text.units import Span

if TYPE_CHECKING:
    from edgeorder.packing import Packing
    from edgeorder.plan import Plan
    from edgeorder.records import OrderRecord
    from edgeorder.scoring import Reranked

T = TypeVar("T")


class Trace(NamedTuple):
    """What the block and the record are made from when somebody asks for them. References only: no text is copied.

    Args:
        view: The chunks that were placed.
        ranking: Input indices, best first.
        plan: The settings.
        query: The question.
        time: Seconds since the epoch.
        reranked: What the scorer said, if one ran.
    """

    view: ChunkView
    ranking: Sequence[int]
    plan: "Plan"
    query: str | None
    time: float
    reranked: "Reranked | None"


class Placement:
    """Where each chunk goes. It holds indices into the input, so any parallel list can be placed with it.

    Attributes:
        indices: The input index (0-based) at each position; position 0 is the head.
        order: The name of the order that was used.
        reason: Why that order, in words.
        texts: Bodies that were shortened to fit, by input index.
        echoes: Input indices that `Layout(echo=...)` repeats at the far end of the block, best first.
        elisions: What was cut out of them: spans (0-based start, stop) of characters of the body.

    >>> from edgeorder import Chunk, place
    >>> placement = place([Chunk(text) for text in "ABCD"], order="bookend")
    >>> placement.apply("ABCD"), placement.ranks, placement.order
    (['A', 'C', 'D', 'B'], (1, 3, 4, 2), 'bookend')
    """

    __slots__ = (
        "__dict__",
        "_cuts",
        "_first",
        "_packing",
        "_trace",
        "_units",
        "_used",
        "echoes",
        "elisions",
        "indices",
        "order",
        "reason",
        "texts",
    )

    def __init__(
        self,
        indices: Sequence[int],
        order: str,
        reason: str,
        cuts: Sequence[Cut],
        used: int | None,
        trace: Trace,
        packing: "Packing | None",
        units: list[list[int]] | None,
        echoes: Sequence[int],
        first: int,
    ) -> None:
        self.indices = tuple(indices)
        self.order = order
        self.reason = reason
        self._cuts = cuts
        self.texts: Mapping[int, str] = packing.texts if packing else {}
        self.elisions: Mapping[int, Sequence[Span]] = packing.elisions if packing else {}
        self.echoes = tuple(echoes)
        self._used = used  # tokens of the text that the budget holds on
        self._trace = trace
        self._packing = packing  # what the budget did
        self._units = units  # each the 0-based ranks of its chunks in reading order; None when all stand alone
        self._first = first  # citation number at the head

    def __len__(self) -> int:
        return len(self.indices)

    def __repr__(self) -> str:
        kept, dropped = len(self.indices), len(self._cuts)
        return f"Placement({self.order}: ranks {list(self.ranks)}, {kept} kept, {dropped} dropped; {self.reason})"

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, Placement) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.indices, self.order))

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """The rank (1 = best) of the chunk at each position."""
        rank_of = {index: rank for rank, index in enumerate(self._trace.ranking, start=1)}
        return tuple(rank_of[index] for index in self.indices)

    @cached_property
    def dropped(self) -> tuple[Dropped, ...]:
        """The chunks that were left out, by rank."""
        return tuple(Dropped(*cut) for cut in self._cuts)

    @cached_property
    def record(self) -> "OrderRecord":
        """The record of this placement, without texts."""
        from edgeorder.records import build_record

        return build_record(self)

    @cached_property
    def tokens(self) -> int | None:
        """Length of the rendered block by the budget's counter; None without a budget."""
        if self._packing is None or self._trace.plan.prompt is None:
            return self._used
        return self._packing.count(self._text) if self.indices else 0

    @property
    def prompt_tokens(self) -> int | None:
        """Length of the whole prompt by the budget's counter; None without a budget or a prompt."""
        return None if self._trace.plan.prompt is None else self._used

    @cached_property
    def block(self) -> Block:
        """The rendered block, the very text that was counted, with its citation numbers."""
        view = self._trace.view
        passages = tuple(
            passage_of(view, index, self.texts.get(index), number)
            for number, index in enumerate(self.indices, start=self._first)
        )
        return Block(self._text, self.tokens, passages)

    @property
    def text(self) -> str:
        """What the budget holds on: the prompt if `place` was asked for one, else the block."""
        return self._text if self._trace.plan.prompt is None else self.prompt

    @cached_property
    def prompt(self) -> str:
        """The whole prompt, the very text that was counted.

        Raises:
            ValueError: If `place` was not asked for one.
        """
        prompt = self._trace.plan.prompt
        if prompt is None:
            raise ValueError("this placement has a block but no prompt: use place(..., prompt='after')")
        return prompt.around(self._text, self._trace.query, range(self._first, self._first + len(self.indices)))

    @cached_property
    def _text(self) -> str:
        trace = self._trace
        return trace.plan.layout.write(trace.view, self.indices, self.texts, self.echoes, self._first)

    def passes(self, max_tokens: int) -> "list[Placement]":
        """Split a long block into short ones, each with edges of its own, to be read one by one and then put together.

        The best chunks come first, so the first passes matter most. Citation numbers go on from pass to pass, and
        indices and ranks are those of the whole input.

        Args:
            max_tokens: For each pass, counted as the placement's budget counts: with its reserve, its prompt and its
                counter; tiktoken's o200k_base without a budget.

        Raises:
            BudgetError: If a chunk does not fit a pass.
        """
        from edgeorder.placing import split

        return split(self, max_tokens)

    def apply(self, items: Sequence[T]) -> list[T]:
        """Return the kept items in the order of the block.

        Raises:
            ValueError: If `items` is not as long as the list that was placed.
        """
        self._check_length(items)
        return list(map(items.__getitem__, self.indices))

    def by_rank(self, items: Sequence[T]) -> list[T]:
        """Return the kept items best first, as a list of sources shows them.

        Raises:
            ValueError: If `items` is not as long as the list that was placed.
        """
        self._check_length(items)
        kept = set(self.indices)
        return [items[index] for index in self._trace.ranking if index in kept]

    def to_dict(self) -> dict[str, Any]:
        """Return the placement as JSON-ready values."""
        return {
            "indices": list(self.indices),
            "ranks": list(self.ranks),
            "order": self.order,
            "reason": self.reason,
            "dropped": [
                {name: getattr(drop, name) for name in ("index", "rank", "reason", "tokens", "duplicate_of")}
                for drop in self.dropped
            ],
            "texts": {str(index): text for index, text in self.texts.items()},
            "elisions": {str(index): [list(span) for span in spans] for index, spans in self.elisions.items()},
            "tokens": self.tokens,
        }

    def _check_length(self, items: Sequence[object]) -> None:
        if len(items) != len(self._trace.ranking):
            raise ValueError(f"this placement is of {len(self._trace.ranking)} items, not {len(items)}")
