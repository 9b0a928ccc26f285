"""What all scorers of (query, passage) pairs share: deadlines, devices that fail, and how a model's rows are read."""

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from edgeorder.errors import RerankError
from edgeorder.scorers.windows import LongPassages, Pair, Reader, fitted
from edgeorder.stopping import Stop, current, is_tireless, watching
from edgeorder.threads import in_thread
from edgeorder.unicode import clean

_AT_ONCE = 1024  # pairs that are read into tokens at a time: those of a whole table would fill the memory
_REST = 30.0  # seconds for which a model is left alone after its device failed
_DEVICE = re.compile(r"\b(CUDA|HIP|MPS)\b|\bcu(DNN|BLAS)|device-side|out of memory|failed to allocate", re.IGNORECASE)
_resting: dict[int, tuple[float, str, object]] = {}  # until when and why, by the id of the model, which is kept alive


class PairScorer(ABC):
    """A scorer that shows a model the query with each passage.

    Subclasses say how the model reads and what it makes of pairs. Lone surrogates are replaced, for scoring only. Every
    passage is shown with the same query; where the model's window is short, passages are cut and the query is not.
    """

    long_passages: LongPassages
    relevant_label: int | None

    @property
    def stops(self) -> bool:
        """Whether the work ends between two batches once nobody waits for it."""
        return True

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
        reader = self._reader() if any(texts for _, texts in questions) else None
        for question, (query, texts) in enumerate(questions):
            best.append([float("-inf")] * len(texts))
            if texts:
                shown, pieces, of = fitted(
                    reader, clean(query.strip()), [clean(text) for text in texts], self.long_passages
                )
                pairs += [(shown, piece) for piece in pieces]
                owners += [(question, text) for text in of]
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
        self._model()

    async def acall(self, query: str, texts: Sequence[str]) -> list[float]:
        """The same in a thread, loading included: the event loop goes on. Where it is cancelled, the thread stops."""
        import asyncio

        stop = Stop(above=current())
        try:
            with watching(stop):
                return await in_thread(self, query, texts)
        except asyncio.CancelledError:
            stop.set()
            raise

    @abstractmethod
    def _reader(self) -> Reader | None:
        """Return how the model reads, or None if it cannot be known."""

    @abstractmethod
    def _predict(self, pairs: list[Pair], stop: Stop) -> Sequence[Any]:
        """Return what the model makes of each pair, which come longest first: a number, or a row of them.

        Raises:
            StoppedError: Between two batches, if `stop` is set.
        """

    @abstractmethod
    def _model(self) -> object:
        """Return the model, loaded."""

    def _scores(self, pairs: list[Pair]) -> list[float]:
        stop = current() or Stop()
        stop.check()
        model = self._model()
        until, why, _ = _resting.get(id(model), (0.0, "", None))
        if (left := until - time.monotonic()) > 0 and not is_tireless():
            raise RerankError(f"the model was not asked: its device failed ({why}); it is left alone for {left:.0f} s")
        _resting.pop(id(model), None)
        try:
            rows = self._predict(pairs, stop)
        except Exception as error:
            what = f"{type(error).__name__}: {error!s:.200}"
            if _DEVICE.search(what):
                _resting[id(model)] = time.monotonic() + _REST, what, model
            raise
        if len(rows) != len(pairs):
            raise RerankError(f"the model gave {len(rows)} scores for {len(pairs)} pairs of query and passage")
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


def as_rows(output: Any) -> list[Any]:
    """Return what a model gave as plain values, one for each pair."""
    return list(output.tolist()) if hasattr(output, "tolist") else list(output)
