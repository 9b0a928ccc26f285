"""What all scorers of (query, passage) pairs share: cleaning, long passages, and the shape of what a model returns."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from operator import index
from typing import Any, Literal, NamedTuple, TypeAlias

from edgeorder.alerts import warn
from edgeorder.errors import RerankError, bad_choice
from edgeorder.unicode import clean

LongPassages: TypeAlias = Literal["warn", "window"]
Pair: TypeAlias = tuple[str, str]

_AT_ONCE = 1024  # pairs that are read into tokens at a time: those of a whole table would fill the memory


class Reader(NamedTuple):
    """How a model reads text.

    Args:
        tokens: Gives the (start, end) characters of each token of each text.
        knows_offsets: Whether these are true; a slow tokenizer knows only how many there are.
        window: The most tokens that the model takes.
        specials: How many of them are special in a pair.
    """

    tokens: Callable[[Sequence[str]], list[list[tuple[int, int]]]]
    knows_offsets: bool
    window: int
    specials: int


class PairScorer(ABC):
    """A scorer that shows a model the query with each passage.

    Subclasses say how the model reads and what it makes of pairs. Lone surrogates are replaced, for scoring only.
    """

    long_passages: LongPassages
    relevant_label: int | None

    def __call__(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one raw score for each text, in the order of the texts; larger is better."""
        return PairScorer.score_many(self, [(query, texts)])[0]

    def score_many(self, questions: Sequence[tuple[str, Sequence[str]]]) -> list[list[float]]:
        """Return the scores of the texts of many questions.

        Pairs of all questions are scored together, longest first, so that batches are full and little is padded.

        Args:
            questions: Each query, and the texts to score for it.
        """
        pairs: list[Pair] = []
        owners: list[tuple[int, int]] = []
        best: list[list[float]] = []
        for question, (query, texts) in enumerate(questions):
            cleaned = clean(query), [clean(text) for text in texts]
            pieces, of = self._pieces(*cleaned) if cleaned[1] else ([], [])
            pairs += [(cleaned[0], piece) for piece in pieces]
            owners += [(question, text) for text in of]
            best.append([float("-inf")] * len(cleaned[1]))
        order = sorted(range(len(pairs)), key=lambda at: -len(pairs[at][0]) - len(pairs[at][1]))
        for start in range(0, len(order), _AT_ONCE):
            part = order[start : start + _AT_ONCE]
            for at, score in zip(part, self._scores([pairs[at] for at in part]), strict=True):
                question, text = owners[at]
                # A NaN must stay one: it is for the rerank step to say so.
                if score != score or score > best[question][text]:
                    best[question][text] = score
        return best

    def load(self) -> None:
        """Load the model now, not at the first call."""
        self._reader()

    async def acall(self, query: str, texts: Sequence[str]) -> list[float]:
        """The same in a thread, loading included: the event loop goes on."""
        import asyncio

        return await asyncio.to_thread(self, query, texts)

    @abstractmethod
    def _reader(self) -> Reader | None:
        """Return how the model reads, or None if it cannot be known."""

    @abstractmethod
    def _predict(self, pairs: list[Pair]) -> Any:
        """Return what the model makes of the pairs, as an array or a list."""

    def _scores(self, pairs: list[Pair]) -> list[float]:
        output = self._predict(pairs)
        rows = output.tolist() if hasattr(output, "tolist") else list(output)
        return [self._score(row) for row in rows]

    def _score(self, row: Any) -> float:
        if not isinstance(row, list | tuple):
            return float("nan") if row is None else float(row)
        if len(row) == 1:
            return float(row[0])
        if self.relevant_label is None:
            raise RerankError(
                f"the model gives {len(row)} scores for a pair; say which column means relevant: relevant_label=0 to "
                f"{len(row) - 1}"
            )
        if self.relevant_label >= len(row):
            raise RerankError(f"relevant_label={self.relevant_label}, but the model gives {len(row)} scores for a pair")
        # The log-odds against the strongest other label: with two, their sigmoid is the softmax of the label.
        others = [float(value) for label, value in enumerate(row) if label != self.relevant_label]
        return float(row[self.relevant_label]) - max(others)

    def _pieces(self, query: str, passages: list[str]) -> tuple[list[str], list[int]]:
        """Return what is shown to the model, and which passage each piece belongs to."""
        reader = self._reader()
        whole = passages, list(range(len(passages)))
        # A token is a byte or more: passages that fit by their bytes need not be read.
        if reader is not None and reader.window < reader.specials + 2:
            raise ValueError(
                f"max_length={reader.window} leaves no room for a query and a passage: the model's own marks take "
                f"{reader.specials}"
            )
        if reader is None or max(len(passage.encode()) for passage in passages) < reader.window - reader.specials - (
            len(query.encode())
        ):
            return whole
        asked, *read = reader.tokens([query, *passages])
        room = reader.window - reader.specials - len(asked)
        too_long = [at for at, tokens in enumerate(read) if len(tokens) > room]
        if not too_long:
            return whole
        if self.long_passages == "window" and room > 0:
            if not reader.knows_offsets:
                raise RerankError("long_passages='window' needs a model with a fast tokenizer, which knows offsets")
            return _windows(passages, read, room)
        warn(
            f"{len(too_long)} of {len(passages)} passages are longer than the {reader.window} tokens that the model "
            "reads with the query; the rest of them is not scored. long_passages='window' scores all of it."
        )
        return whole


def check_whole(scorer: object, **least: int) -> None:
    """Make the named fields of a frozen scorer plain ints, numpy's included; None stays.

    Args:
        scorer: The scorer.
        least: The smallest value of each field.

    Raises:
        TypeError: For what is no whole number.
        ValueError: For a number that is too small.
    """
    for name, smallest in least.items():
        value = getattr(scorer, name)
        if value is None:
            continue
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError(f"{name} must be a whole number, not {value!r}")
        if value < smallest:
            raise ValueError(f"{name}={value} must be at least {smallest}")
        object.__setattr__(scorer, name, index(value))


def check_long_passages(long_passages: object) -> None:
    """Raise ValueError unless `long_passages` is a known name."""
    if long_passages not in ("warn", "window"):
        raise bad_choice("long_passages", long_passages, ("warn", "window"))


def _windows(passages: list[str], read: list[list[tuple[int, int]]], room: int) -> tuple[list[str], list[int]]:
    """Cut long passages into windows that overlap by half (MaxP: Dai and Callan, SIGIR 2019)."""
    pieces: list[str] = []
    owners: list[int] = []
    for at, (passage, tokens) in enumerate(zip(passages, read, strict=True)):
        stride = max(1, room // 2)
        last = max(0, len(tokens) - room)
        starts = [*range(0, last, stride), last]
        for start in starts:
            window = tokens[start : start + room]
            whole = len(tokens) <= room
            pieces.append(passage if whole else passage[window[0][0] : window[-1][1]])
            owners.append(at)
    return pieces, owners
