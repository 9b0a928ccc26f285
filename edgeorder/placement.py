"""The result of placing: which chunk sits where, and what was left out."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from edgeorder.call import Call
from edgeorder.rendering import Block, passage_of
from edgeorder.selecting import Dropped
from edgeorder.settling import Settled, block_text, block_tokens, split

if TYPE_CHECKING:
    from edgeorder.records import OrderRecord

T = TypeVar("T")


class Placement:
    """Where each chunk goes. It holds indices into the input, so any parallel list can be placed with it.

    Attributes:
        indices: The input index (0-based) at each position; position 0 is the head.
        order: The name of the order that was used.
        reason: Why that order, in words.
        texts: Bodies that were shortened to fit, by input index.
        echoes: Input indices that `Layout(echo=...)` repeats at the far end of the block, best first.
        elisions: What was cut out of them: spans (0-based start, stop) of characters of the body.
        call: What was asked.
        settled: What came of it; all else is derived from these two.

    >>> from edgeorder import Chunk, place
    >>> placement = place([Chunk(text) for text in "ABCD"], order="bookend")
    >>> placement.apply("ABCD"), placement.ranks, placement.order
    (['A', 'C', 'D', 'B'], (1, 3, 4, 2), 'bookend')
    """

    __slots__ = ("__dict__", "call", "echoes", "elisions", "indices", "order", "reason", "settled", "texts")

    def __init__(self, call: Call, settled: Settled) -> None:
        self.call = call
        self.settled = settled
        self.indices = tuple(settled.indices)
        self.order = settled.arrangement.order
        self.reason = settled.arrangement.reason
        self.texts = settled.texts
        self.elisions = settled.elisions
        self.echoes = tuple(settled.echoes)

    def __len__(self) -> int:
        return len(self.indices)

    def __repr__(self) -> str:
        kept, dropped = len(self.indices), len(self.settled.cuts)
        return f"Placement({self.order}: ranks {list(self.ranks)}, {kept} kept, {dropped} dropped; {self.reason})"

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, Placement) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.indices, self.order))

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """The rank (1 = best) of the chunk at each position."""
        return tuple(rank + 1 for rank in self.settled.arrangement.ranks)

    @cached_property
    def dropped(self) -> tuple[Dropped, ...]:
        """The chunks that were left out, by rank."""
        return tuple(Dropped(*cut) for cut in self.settled.cuts)

    @cached_property
    def record(self) -> "OrderRecord":
        """The record of this placement, without texts."""
        from edgeorder.recording import build_record

        return build_record(self.call, self.settled)

    @cached_property
    def tokens(self) -> int | None:
        """Length of the rendered block by the budget's counter; None without a budget."""
        return block_tokens(self.call, self.settled)

    @property
    def decision(self) -> str | None:
        """What the scorer advises to do with all of the chunks, such as "retrieve again"; None if it says nothing."""
        return None if self.call.reranked is None else self.call.reranked.decision

    @property
    def prompt_tokens(self) -> int | None:
        """Length of the whole prompt by the budget's counter; None without a budget or a prompt."""
        weighed = self.settled.weighed
        return None if weighed is None or self.call.plan.prompt is None else weighed.tokens

    @cached_property
    def block(self) -> Block:
        """The rendered block, the very text that was counted, with its citation numbers."""
        view = self.call.view
        passages = tuple(
            passage_of(view, index, self.texts.get(index), number)
            for number, index in enumerate(self.indices, start=self.settled.first)
        )
        return Block(self._text, self.tokens, passages)

    @property
    def text(self) -> str:
        """What the budget holds on: the prompt if `place` was asked for one, else the block."""
        return self._text if self.call.plan.prompt is None else self.prompt

    @cached_property
    def prompt(self) -> str:
        """The whole prompt, the very text that was counted.

        Raises:
            ValueError: If `place` was not asked for one.
        """
        prompt = self.call.plan.prompt
        if prompt is None:
            raise ValueError("this placement has a block but no prompt: use place(..., prompt='after')")
        first = self.settled.first
        return prompt.around(self._text, self.call.query, range(first, first + len(self.indices)))

    @cached_property
    def _text(self) -> str:
        return block_text(self.call, self.settled)

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
        return [Placement(call, settled) for call, settled in split(self.call, self.settled, max_tokens)]

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
        ranking = self.call.ranking
        return [items[ranking[rank]] for rank in sorted(self.settled.arrangement.ranks)]

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
        if len(items) != len(self.call.ranking):
            raise ValueError(f"this placement is of {len(self.call.ranking)} items, not {len(items)}")
