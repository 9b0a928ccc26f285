"""The budget: how many tokens there are, what counts them, and what happens when they do not suffice."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from edgeorder.checks import check_number, whole_number
from edgeorder.chunk import TokenCounter
from edgeorder.compressing import Compress
from edgeorder.errors import BudgetError, bad_choice
from edgeorder.message_parts import IMAGE_TOKENS, MessageParts, is_message, read_message
from edgeorder.messages import MessageCounter
from edgeorder.packing import Packer, Refuse, Skip, Stop, Truncate

OverflowName: TypeAlias = Literal["skip", "stop", "truncate", "compress", "error"]
Overflow: TypeAlias = OverflowName | type[Packer]
Reserve: TypeAlias = Any
"""Tokens (int), texts to count (str), messages of a chat, or lists of them."""

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
            of a tiktoken encoding or of an OpenAI model, or any callable from text to a number of tokens. A
            `message_counter(counter, image_tokens=...)` says also what images in reserved messages count.
        overflow: What happens at a chunk that does not fit. `"skip"` goes on to smaller ones and gives up after 8
            misfits in a row; `"stop"` keeps a prefix of the ranking; `"truncate"` cuts the first misfit to the room
            left, at the end of a sentence or else a word, and goes on; `"compress"` (extra `text`, needs the query)
            keeps what "skip" keeps, whole or without the units (sentences, rows, items, lines) that score lowest by
            the scorer or BM25, marks the gaps, and keeps more chunks in the room that this frees; `"error"` raises
            `BudgetError`. Or a `Packer` of your own.
        reserve: What shares the window with the block (question, instruction, history, answer): a number of tokens, a
            text to count, a message of LangChain, LlamaIndex or a chat endpoint (counted as by `message_counter`), or a
            list of them.

    Raises:
        ValueError: For a value out of range, naming it.
        TypeError: For a value of the wrong type; a bool is no number here.
        CounterError: For a counter name that tiktoken does not know.

    >>> Budget(6000, reserve=["What is the refund limit?", 500]).overflow
    'skip'
    """

    tokens: int
    counter: TokenCounter | MessageCounter | str | None = None
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
        # As plain data in a tuple, so that what was loaded from JSON equals what was written.
        parts = tuple(_reserved(self.reserve))
        object.__setattr__(self, "reserve", parts if isinstance(self.reserve, list | tuple) else parts[0])

    @classmethod
    def for_model(cls, model: Any, share: float = 0.5, **settings: Any) -> "Budget":
        """Return a budget of a share of a model's window.

        Args:
            model: A chat model of LangChain, whose `profile` knows the window, or an LLM of LlamaIndex, whose
                `metadata` does; less what its metadata keeps for the output.
            share: Of the window, above 0 and at most 1.
            settings: The other settings of a budget, such as `counter`.

        Raises:
            ValueError: If the model does not know its window, or for a share out of range.
            TypeError: For a share that is no number.
        """
        check_number("share", share)
        if not 0 < share <= 1:
            raise ValueError(f"share={share!r} must be above 0 and at most 1")
        return cls(max(1, int(_window_of(model) * share)), **settings)

    @property
    def packer(self) -> type[Packer]:
        """The overflow policy."""
        return OVERFLOWS[self.overflow] if isinstance(self.overflow, str) else self.overflow

    @property
    def image_tokens(self) -> int:
        """What each image in reserved messages counts."""
        return self.counter.image_tokens if isinstance(self.counter, MessageCounter) else IMAGE_TOKENS

    @property
    def notes(self) -> tuple[str, ...]:
        """What a record should say of the messages in the reserve."""
        messages = [part for part in self._parts() if isinstance(part, MessageParts)]
        notes = dict.fromkeys(note for message in messages for note in message.notes)
        if images := sum(message.images for message in messages):
            notes[f"images in the reserve were counted by a rule: {images} at {self.image_tokens} tokens each"] = None
        return tuple(notes)

    def reserving(self, more: Reserve) -> "Budget":
        """Return the same budget with more in its reserve: what one request adds, such as history and question."""
        return replace(self, reserve=(*self._parts(), more))

    def left(self, count: TokenCounter) -> int:
        """Return the tokens left for the block: below 1 if the reserve leaves none."""
        return self.tokens - sum(self._tokens_of(part, count) for part in self._parts())

    def room(self, count: TokenCounter) -> int:
        """Return the tokens left for the block.

        Raises:
            BudgetError: If the reserve leaves none.
        """
        left = self.left(count)
        if left < 1:
            raise BudgetError(
                f"the reserve of {self.tokens - left} tokens leaves nothing of the budget of {self.tokens}"
            )
        return left

    def _parts(self) -> tuple[int | str | MessageParts, ...]:
        return self.reserve if isinstance(self.reserve, tuple) else (self.reserve,)

    def _tokens_of(self, part: int | str | MessageParts, count: TokenCounter) -> int:
        if isinstance(part, MessageParts):
            return part.count(count, self.image_tokens)
        return part if isinstance(part, int) else count(part)


def _reserved(part: Any) -> Iterator[int | str | MessageParts]:
    """Yield the parts of a reserve as plain data."""
    if isinstance(part, str | MessageParts):
        yield part
    elif isinstance(part, list | tuple):
        for inner in part:
            yield from _reserved(inner)
    elif isinstance(part, Mapping) and part.keys() == {field.name for field in fields(MessageParts)}:  # from JSON
        yield MessageParts(tuple(part["texts"]), part["tokens"], part["images"], tuple(part["notes"]))
    elif is_message(part):
        yield read_message(part)
    else:
        tokens = whole_number("Budget.reserve", part, what="tokens (int) or texts (str), or messages of a chat")
        if tokens < 0:
            raise ValueError(f"Budget.reserve={tokens} must not be negative")
        yield tokens


def _window_of(model: Any) -> int:
    """Return the tokens that a model takes in."""
    bound = getattr(model, "bound", None)  # in LangChain's wrapper of a model with tools or settings
    inner = bound if hasattr(bound, "profile") or hasattr(bound, "metadata") else model
    profile = getattr(inner, "profile", None)
    if isinstance(profile, Mapping) and profile.get("max_input_tokens"):
        return int(profile["max_input_tokens"])
    metadata = getattr(inner, "metadata", None)
    window = getattr(metadata, "context_window", None)
    if window:
        left = int(window) - max(0, int(getattr(metadata, "num_output", 0)))  # -1 where no limit is set
        if left < 1:
            raise ValueError(f"{inner!r:.80} has a window of {window} tokens and keeps them all for its output")
        return left
    raise ValueError(
        f"{inner!r:.80} does not say how large its window is: LangChain's models do in profile['max_input_tokens'], "
        "LlamaIndex's in metadata.context_window. Give the number: Budget(tokens), or to the model: "
        "profile={'max_input_tokens': tokens}."
    )


def as_budget(budget: Budget | int | None) -> Budget | None:
    """Return the budget that was asked for; a bare number is `Budget(number)`."""
    return budget if budget is None or isinstance(budget, Budget) else Budget(budget)
