"""The budget: how many tokens there are, what counts them, and what happens when they do not suffice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, TypeAlias

from edgeorder.checks import whole_number
from edgeorder.chunk import TokenCounter
from edgeorder.compressing import Compress
from edgeorder.errors import BudgetError, bad_choice
from edgeorder.packing import Packer, Refuse, Skip, Stop, Truncate

OverflowName: TypeAlias = Literal["skip", "stop", "truncate", "compress", "error"]
Overflow: TypeAlias = OverflowName | type[Packer]
Reserve: TypeAlias = int | str | Sequence[int | str]

OVERFLOWS: Mapping[str, type[Packer]] = MappingProxyType(
    {"skip": Skip, "stop": Stop, "truncate": Truncate, "compress": Compress, "error": Refuse}
)
"""The overflow policies that have a name."""


@dataclass(frozen=True)
class Budget:
    """A token budget for the rendered block, or for the whole prompt where `place` is given one.

    Args:
        tokens: The window, in tokens.
        counter: What counts: None for tiktoken's o200k_base (in LlamaIndex, the tokenizer of its `Settings`), the name
            of a tiktoken encoding or of an OpenAI model, or any callable from text to a number of tokens.
        overflow: What happens at a chunk that does not fit. `"skip"` goes on to smaller ones and gives up after 8
            misfits in a row; `"stop"` keeps a prefix of the ranking; `"truncate"` cuts the first misfit to the room
            left, at the end of a sentence or else a word, and goes on; `"compress"` (extra `text`, needs the query)
            keeps what "skip" keeps, whole or without the units (sentences, rows, items, lines) that score lowest by
            the scorer or BM25, marks the gaps, and keeps more chunks in the room that this frees; `"error"` raises
            `BudgetError`. Or a `Packer` of your own.
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
        tokens = whole_number("budget", self.tokens, what="a whole number of tokens")
        if tokens < 1:
            raise ValueError(f"budget={tokens} leaves no room; use at least 1 token, or None for no budget")
        object.__setattr__(self, "tokens", tokens)
        if isinstance(self.counter, str):
            from edgeorder.tokens import tiktoken_counter

            tiktoken_counter(self.counter)
        elif self.counter is not None and not callable(self.counter):
            raise TypeError(f"Budget.counter must be a name or a callable from text to tokens, not {self.counter!r}")
        if not (isinstance(self.overflow, type) and issubclass(self.overflow, Packer)) and (
            self.overflow not in OVERFLOWS
        ):
            raise bad_choice("Budget.overflow", self.overflow, (*OVERFLOWS, "a Packer class"))
        parts = self.reserve if isinstance(self.reserve, list | tuple) else (self.reserve,)
        checked = tuple(part if isinstance(part, str) else _reserved(part) for part in parts)
        # As a tuple, so that what was loaded from JSON equals what was written.
        object.__setattr__(self, "reserve", checked if isinstance(self.reserve, list | tuple) else checked[0])

    @property
    def packer(self) -> type[Packer]:
        """The overflow policy."""
        return OVERFLOWS[self.overflow] if isinstance(self.overflow, str) else self.overflow

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

    def _reserved_parts(self) -> Sequence[int | str]:
        return self.reserve if isinstance(self.reserve, tuple) else (self.reserve,)


def _reserved(part: object) -> int:
    tokens = whole_number("Budget.reserve", part, what="tokens (int) or texts (str)")
    if tokens < 0:
        raise ValueError(f"Budget.reserve={tokens} must not be negative")
    return tokens


def as_budget(budget: Budget | int | None) -> Budget | None:
    """Return the budget that was asked for; a bare number is `Budget(number)`."""
    return budget if budget is None or isinstance(budget, Budget) else Budget(budget)
