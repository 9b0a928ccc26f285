"""The result of placing: which chunk sits where, and what was left out."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from edgeorder.call import Call
from edgeorder.placed import Placed
from edgeorder.register import Numbered, Register
from edgeorder.rendering import Block, Passage, passage_of
from edgeorder.selecting import Dropped
from edgeorder.settled import Settled, block_text, block_tokens
from edgeorder.settling import split

if TYPE_CHECKING:
    from edgeorder.records import OrderRecord

T = TypeVar("T")
_FACTS = ("indices", "ranks", "order", "reason", "dropped", "texts", "elisions", "tokens")


class Placement:
    """Where each chunk goes. It holds indices into the input, so any parallel list can be placed with it.

    It is saved as JSON, or pickled: `Placement.from_dict(placement.to_dict())` is equal, and does all that it does but
    `passes`, which need the chunks.

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
        kept, dropped = len(self.indices), len(self.dropped)
        return f"Placement({self.order}: ranks {list(self.ranks)}, {kept} kept, {dropped} dropped; {self.reason})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Placement):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in _FACTS)

    def __hash__(self) -> int:
        return hash((self.indices, self.order))

    def __reduce__(self) -> tuple[Any, ...]:
        return Placement.from_dict, (self.to_dict(),)

    @cached_property
    def n(self) -> int:
        """How many chunks were placed, those that were dropped included."""
        return len(self.call.ranking)

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

    @cached_property
    def decision(self) -> str | None:
        """What the scorer advises to do with all of the chunks, such as "retrieve again"; None if it says nothing."""
        return None if self.call.reranked is None else self.call.reranked.decision

    @cached_property
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
            for number, index in zip(self._numbers, self.indices, strict=True)
        )
        return Block(self._text, self.tokens, passages)

    @cached_property
    def text(self) -> str:
        """What the budget holds on: the prompt if `place` was asked for one, else the block."""
        prompt = self.call.plan.prompt
        return self._text if prompt is None else prompt.around(self._text, self.call.query, self._numbers)

    @cached_property
    def has_prompt(self) -> bool:
        """Whether `place` was asked for a prompt."""
        return self.call.plan.prompt is not None

    @property
    def prompt(self) -> str:
        """The whole prompt, the very text that was counted.

        Raises:
            ValueError: If `place` was not asked for one.
        """
        if not self.has_prompt:
            raise ValueError("this placement has a block but no prompt: use place(..., prompt='after')")
        return self.text

    @cached_property
    def register(self) -> Register:
        """What stands in the block, as a part of the register of a conversation."""
        view = self.call.view
        register = Register()
        numbered = view if isinstance(view, Numbered) else Numbered(view, register)
        register.add(numbered.shown(self.indices, self.settled.first))
        return register

    @property
    def _numbers(self) -> Sequence[int]:
        return self.call.view.numbers(self.indices, self.settled.first)

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
            ValueError: For a placement that was loaded: it has no chunks.
        """
        if not hasattr(self, "call"):
            raise ValueError("a placement that was loaded has no chunks to split: use passes() where it is made")
        return [Placement(call, settled) for call, settled in split(self.call, self.settled, max_tokens)]

    def apply(self, items: Sequence[T]) -> Placed[T]:
        """Return the kept items in the order of the block, in a list that carries this placement.

        Raises:
            ValueError: If `items` is not as long as the list that was placed.
        """
        self._check_length(items)
        return Placed(map(items.__getitem__, self.indices), self)

    def by_rank(self, items: Sequence[T]) -> list[T]:
        """Return the kept items best first, as a list of sources shows them.

        Raises:
            ValueError: If `items` is not as long as the list that was placed.
        """
        self._check_length(items)
        return [items[index] for _, index in sorted(zip(self.ranks, self.indices, strict=True))]

    def to_dict(self) -> dict[str, Any]:
        """Return the placement as JSON-ready values, its block and its record included, but for its times."""
        record = self.record.to_dict()
        stages = [{**stage, "seconds": None} for stage in record["stages"]]
        return {
            "n": self.n,
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
            "echoes": list(self.echoes),
            "tokens": self.tokens,
            "block": {"text": self.block.text, "passages": [asdict(passage) for passage in self.block.passages]},
            "register": self.register.to_dict(),
            "prompt": self.text if self.has_prompt else None,
            "prompt_tokens": self.prompt_tokens,
            "record": {**record, "stages": stages, "time": ""},  # the same input gives the same bytes
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Placement":
        """Return the placement that `to_dict` made.

        Raises:
            KeyError, TypeError: For a dict that it did not make.
        """
        from edgeorder.records import OrderRecord

        block = Block(
            data["block"]["text"], data["tokens"], tuple(Passage(**passage) for passage in data["block"]["passages"])
        )
        record = OrderRecord.from_dict(data["record"])
        placement = cls.__new__(cls)
        placement.indices = tuple(data["indices"])
        placement.order, placement.reason = data["order"], data["reason"]
        placement.texts = {int(index): text for index, text in data["texts"].items()}
        placement.elisions = {int(at): [(a, b) for a, b in spans] for at, spans in data["elisions"].items()}
        placement.echoes = tuple(data["echoes"])
        vars(placement).update(
            n=data["n"],
            ranks=tuple(data["ranks"]),
            dropped=tuple(Dropped(**drop) for drop in data["dropped"]),
            tokens=data["tokens"],
            prompt_tokens=data["prompt_tokens"],
            decision=record.decision,
            block=block,
            register=Register.from_dict(data["register"]),
            has_prompt=data["prompt"] is not None,
            text=block.text if data["prompt"] is None else data["prompt"],
            record=record,
        )
        return placement

    def _check_length(self, items: Sequence[object]) -> None:
        if len(items) != self.n:
            raise ValueError(f"this placement is of {self.n} items, not {len(items)}")
