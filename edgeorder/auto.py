"""`order="auto"`: choose between plain relevance and bookending, and say why."""

from collections.abc import Sequence
from dataclasses import dataclass

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
        flat: Scores that descend with rank and span at most this much are flat.
        decisive: If given, a best score that leads the second by at least this much needs no bookend either.
            Off by default: the unit of rank 1 sits at the head in both orders.

    Raises:
        ValueError: For a negative value.
        TypeError: For anything but a number.
    """

    short_chunks: int = 4
    short_bytes: int = 4800
    flat: float = 1e-6
    decisive: float | None = None

    def __post_init__(self) -> None:
        for name in ("short_chunks", "short_bytes", "flat", "decisive"):
            value = getattr(self, name)
            if value is None and name == "decisive":
                continue
            whole = name.startswith("short")
            if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
                raise TypeError(f"Auto.{name} must be a {'whole ' if whole else ''}number, not {value!r}")
            if value < 0:
                raise ValueError(f"Auto.{name}={value} must not be negative")

    def choose(self, view: ChunkView, indices: Sequence[int], scores: Sequence[float | None] | None) -> tuple[str, str]:
        """Return the name of the order, and the reason in words.

        Args:
            view: The chunks.
            indices: Input indices of the chunks in the block, best first.
            scores: A scorer's score by input index, if one ran.
        """
        if len(indices) <= self.short_chunks:
            return "relevance", f"short block: {len(indices)} chunks, at most {self.short_chunks}"
        if self._fits_short_bytes(view, indices):
            return "relevance", f"short block: at most {self.short_bytes} bytes"
        known = self._known_scores(view, indices, scores)
        if known is not None:
            if known[0] - known[-1] <= self.flat:
                return "relevance", f"flat scores: they span at most {self.flat:g}"
            if self.decisive is not None and known[0] - known[min(1, len(known) - 1)] >= self.decisive:
                return "relevance", f"decisive best chunk: it leads by at least {self.decisive:g}"
        return "bookend", f"long block: more than {self.short_chunks} chunks and {self.short_bytes} bytes"

    def is_short(self, view: ChunkView, indices: Sequence[int]) -> bool:
        """Say whether a block of these chunks is short."""
        return len(indices) <= self.short_chunks or self._fits_short_bytes(view, indices)

    def _fits_short_bytes(self, view: ChunkView, indices: Sequence[int]) -> bool:
        # A character is one byte or more, so most long blocks are told after a chunk or two, unencoded.
        length = 0
        for index in indices:
            length += len(view.rendered(index))
            if length > self.short_bytes:
                return False
        return sum(len(view.rendered(i).encode("utf-8", "surrogatepass")) for i in indices) <= self.short_bytes

    def _known_scores(
        self, view: ChunkView, indices: Sequence[int], scores: Sequence[float | None] | None
    ) -> list[float] | None:
        """Return the scores by rank if all are known, descend, and could matter; else None."""
        if scores is None:
            # Most scores are neither flat nor missing: both ends are looked at before the rest is read.
            best, last = as_score(view.score(indices[0])), as_score(view.score(indices[-1]))
            if best is None or last is None or (best - last > self.flat and self.decisive is None):
                return None
            scores = [as_score(score) for score in view.scores()]
        known = [score for score in (scores[index] for index in indices) if score is not None]
        return known if len(known) == len(indices) and descends(known) else None
