"""`order="auto"`: choose between plain relevance and bookending, and say why."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from types import MappingProxyType

from edgeorder.chunk import ChunkView
from edgeorder.ranking import as_score, descends


@dataclass(frozen=True)
class Auto:
    """The rules by which `auto` chooses an order.

    Bookending is a hedge against the weak middle of a long block. It is needless when the block is short, and
    pointless when the scores cannot tell the chunks apart; then the plain order of relevance is used.

    Args:
        short_chunks: A block of at most this many chunks is short.
        short_bytes: A block of at most this many UTF-8 bytes is short (4,800 are about 1,200 English tokens).
        flat: Scores that descend with rank and span at most this much are flat: a number, or a share of the best score
            such as `"2.5%"`, by which cosines from .830 to .811 are. No share is the default, since some embedding
            models keep all their cosines that close and still rank well. On real retrieval with a small one, 2.5%
            changes nothing: the best 5 span 5% of the best score at least, the best 20 27% (200 questions).
        decisive: If given, a best score that leads the second by at least this much needs no bookend either.
            Off by default: the unit of rank 1 sits at the head in both orders.

    Raises:
        ValueError: For a negative value, or a text that is no percentage.
        TypeError: For anything but a number.

    >>> from edgeorder import Chunk, place
    >>> near = [Chunk("x" * 900, score=0.83 - rank / 1000) for rank in range(20)]
    >>> place(near, order=Auto(flat="2.5%")).reason, place(near).order
    ('flat scores: they span at most 2.5% of the best', 'bookend')
    """

    short_chunks: int = 4
    short_bytes: int = 4800
    flat: float | str = 1e-6
    decisive: float | None = None

    def __post_init__(self) -> None:
        for name in ("short_chunks", "short_bytes", "flat", "decisive"):
            value = getattr(self, name)
            if value is None and name == "decisive":
                continue
            if isinstance(value, str) and name == "flat":
                if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?%", value):
                    raise ValueError(f"Auto.flat={value!r} is no percentage; write a number, or a share such as '2.5%'")
                continue
            whole = name.startswith("short")
            if isinstance(value, bool) or not isinstance(value, Integral if whole else Real):
                raise TypeError(f"Auto.{name} must be a {'whole ' if whole else ''}number, not {value!r}")
            number = int(value) if isinstance(value, Integral) else float(value)
            if not number >= 0:
                raise ValueError(f"Auto.{name}={value} must not be negative")
            object.__setattr__(self, name, number)  # numpy's numbers as Python's own, so that they can be JSON

    def choose(
        self,
        view: ChunkView,
        indices: Sequence[int],
        scores: Sequence[float | None] | None,
        bodies: Mapping[int, str] = MappingProxyType({}),
    ) -> tuple[str, str]:
        """Return the name of the order, and the reason in words.

        Args:
            view: The chunks.
            indices: Input indices of the chunks in the block, best first.
            scores: A scorer's score by input index, if one ran.
            bodies: Shortened bodies by input index: what the model will see.
        """
        if len(indices) <= self.short_chunks:
            return "relevance", f"short block: {len(indices)} chunks, at most {self.short_chunks}"
        if self._fits_short_bytes(view, indices, bodies):
            return "relevance", f"short block: at most {self.short_bytes} bytes"
        known = self._known_scores(view, indices, scores)
        if known is not None:
            if known[0] - known[-1] <= self._span(known[0]):
                flat = f"{self.flat} of the best" if isinstance(self.flat, str) else f"{self.flat:g}"
                return "relevance", f"flat scores: they span at most {flat}"
            if self.decisive is not None and known[0] - known[min(1, len(known) - 1)] >= self.decisive:
                return "relevance", f"decisive best chunk: it leads by at least {self.decisive:g}"
        return "bookend", f"long block: more than {self.short_chunks} chunks and {self.short_bytes} bytes"

    def is_short(self, view: ChunkView, indices: Sequence[int], bodies: Mapping[int, str]) -> bool:
        """Say whether a block of these chunks is short; arguments as in `choose`."""
        return len(indices) <= self.short_chunks or self._fits_short_bytes(view, indices, bodies)

    def _span(self, best: float) -> float:
        """Return the largest span of flat scores."""
        return abs(best) * float(self.flat[:-1]) / 100 if isinstance(self.flat, str) else self.flat

    def _fits_short_bytes(self, view: ChunkView, indices: Sequence[int], bodies: Mapping[int, str]) -> bool:
        # A character is one byte or more, so most long blocks are told after a chunk or two, unencoded.
        length = 0
        for index in indices:
            length += len(view.rendered(index, bodies.get(index)))
            if length > self.short_bytes:
                return False
        texts = (view.rendered(index, bodies.get(index)) for index in indices)
        return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) <= self.short_bytes

    def _known_scores(
        self, view: ChunkView, indices: Sequence[int], scores: Sequence[float | None] | None
    ) -> list[float] | None:
        """Return the scores by rank if all are known, descend, and could matter; else None."""
        if scores is None:
            # Most scores are neither flat nor missing: both ends are looked at before the rest is read.
            best, last = as_score(view.score(indices[0])), as_score(view.score(indices[-1]))
            if best is None or last is None or (best - last > self._span(best) and self.decisive is None):
                return None
            scores = [as_score(score) for score in view.scores()]
        known = [score for score in (scores[index] for index in indices) if score is not None]
        return known if len(known) == len(indices) and descends(known) else None
