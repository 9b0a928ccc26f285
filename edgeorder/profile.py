"""A measured profile: how accurately a model reads each depth of a block, and the order that follows from it.

The probe makes one (`edgeorder.probe`, extra `probe`); using one needs nothing but the file.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from edgeorder.orders import bookend, relevance

if TYPE_CHECKING:
    from pathlib import Path

VERSION = 1
_SHORT = 4  # chunks; as in `Auto`, so few have no middle to speak of
_ALIKE = 3  # decimals of accuracy: slots closer than a tenth of a point are alike


@dataclass(frozen=True)
class LengthProfile:
    """The curve of one block length.

    Args:
        chunks: Chunks in the block.
        questions: Questions that it was measured with.
        verdict: "dip", "primacy", "recency", "inverted", "no effect" or "not enough".
        proved: Whether the depth was shown to matter at this length. Without, the curve is not used.
        accuracy: Expected accuracy (0..1) at evenly spread depths from head to tail.
        low: Lower ends of its 95 % intervals.
        high: Upper ends.

    Raises:
        ValueError: For a curve of fewer than two depths, or numbers outside 0..1.
    """

    chunks: int
    questions: int
    verdict: str
    proved: bool
    accuracy: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name in ("accuracy", "low", "high"):
            values = tuple(float(value) for value in getattr(self, name))
            object.__setattr__(self, name, values)
            if not all(0 <= value <= 1 for value in values):
                raise ValueError(f"LengthProfile.{name} must lie in 0..1: {values}")
        if len(self.accuracy) < 2:
            raise ValueError(f"LengthProfile.accuracy={self.accuracy} needs a head and a tail")
        if self.chunks < 1:
            raise ValueError(f"LengthProfile.chunks={self.chunks} must be at least 1")

    def at(self, depth: float) -> float:
        """Return the expected accuracy at a relative depth, 0 = head, 1 = tail."""
        place = min(max(depth, 0.0), 1.0) * (len(self.accuracy) - 1)
        left = min(int(place), len(self.accuracy) - 2)
        share = place - left
        return (1 - share) * self.accuracy[left] + share * self.accuracy[left + 1]


@dataclass(frozen=True)
class PositionProfile:
    """Accuracy by depth of one model and prompt, for one or several block lengths; usable wherever an order is.

    Better ranks go to slots of higher expected accuracy, slots that are alike as in `bookend`. Where position was not
    shown to matter, `order="auto"`'s own choice holds: a curve made of noise must not decide.

    Args:
        model: The model that was measured.
        lengths: Its curves, by number of chunks.
        prompt: How it was asked: question place, layout and so on.
        date: ISO 8601.
        version: Of this form.

    Raises:
        ValueError: Without a length, or with the same length twice.

    >>> curve = LengthProfile(5, 60, "recency", True, (0.5, 0.6, 0.9))
    >>> PositionProfile("a-model", (curve,)).order(5)
    (4, 3, 2, 1, 0)
    """

    model: str
    lengths: tuple[LengthProfile, ...]
    prompt: Mapping[str, Any] | None = None
    date: str = ""
    version: int = VERSION

    name = "measured"
    """The name under which the order is recorded."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengths", tuple(sorted(self.lengths, key=lambda length: length.chunks)))
        counts = [length.chunks for length in self.lengths]
        if not counts or len(set(counts)) < len(counts):
            raise ValueError(f"a profile needs one curve for each block length, not curves for {counts}")

    def __call__(self, n: int) -> Sequence[int]:
        """Return the order of n block units: the 0-based rank at each position."""
        return self.order(n)

    def __hash__(self) -> int:
        return hash((self.model, self.lengths, self.date))

    def shows(self, n: int) -> bool:
        """Say whether position was shown to matter at the measured length next to n chunks."""
        return n > 1 and self._nearest(n).proved

    def order(self, n: int) -> tuple[int, ...]:
        """Return the 0-based rank at each of n positions.

        The measured order where position was shown to matter; else bookend, or relevance for up to 4.
        """
        if n not in self._orders:
            self._orders[n] = self._measured(n) if self.shows(n) else tuple((bookend if n > _SHORT else relevance)(n))
        return self._orders[n]

    def accuracy_at(self, depth: float, n: int | None = None) -> float:
        """Return the expected accuracy (0..1) at a relative depth (0 = head, 1 = tail) of a block of n chunks.

        Between two measured lengths it is interpolated, beyond them it is that of the nearest. Without n: the longest.
        """
        if n is None:
            return self.lengths[-1].at(depth)
        lengths = [length for length in self.lengths if length.proved] if self._nearest(n).proved else self.lengths
        after = bisect_left([length.chunks for length in lengths], n)
        if after in (0, len(lengths)):
            return lengths[max(after - 1, 0)].at(depth)
        small, large = lengths[after - 1], lengths[after]
        share = (n - small.chunks) / (large.chunks - small.chunks)
        return (1 - share) * small.at(depth) + share * large.at(depth)

    def why(self, n: int) -> str:
        """Return the reason for the order of n chunks in words."""
        nearest = self._nearest(n)
        seen = f"{nearest.verdict} at {nearest.chunks} chunks, {nearest.questions} questions"
        return f"measured on {self.model}: {seen}"

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        lengths = [
            {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(length).items()}
            for length in self.lengths
        ]
        return {**asdict(self), "lengths": lengths}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "PositionProfile":
        """Return the profile that `to_dict` made.

        Raises:
            ValueError: For an unknown version, or fields that are missing or unknown.
        """
        if not isinstance(data, Mapping):
            raise ValueError(f"this is no profile: {data!r:.40}")
        if data.get("version") != VERSION:
            raise ValueError(f"a profile of version {data.get('version')!r} cannot be read; this is version {VERSION}")
        try:
            lengths = tuple(LengthProfile(**length) for length in data["lengths"])
            return cls(**{**data, "lengths": lengths})
        except (KeyError, TypeError) as error:
            raise ValueError(f"this is no profile: {error}") from error

    def save(self, path: "str | Path") -> None:
        """Write the profile as JSON."""
        import json
        from pathlib import Path

        Path(path).write_text(json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: "str | Path") -> "PositionProfile":
        """Read a profile.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If it holds no profile, naming the file.
        """
        import json
        from pathlib import Path

        try:
            return cls.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))
        except ValueError as error:  # JSON errors are ValueErrors too
            raise ValueError(f"{path}: {error}") from error

    @cached_property
    def _orders(self) -> dict[int, tuple[int, ...]]:
        return {}

    def _nearest(self, n: int) -> LengthProfile:
        return min(self.lengths, key=lambda length: abs(length.chunks - n))

    def _measured(self, n: int) -> tuple[int, ...]:
        worth = [round(self.accuracy_at(slot / (n - 1), n), _ALIKE) for slot in range(n)]
        hedge = bookend(n)
        ranks = [0] * n
        for rank, slot in enumerate(sorted(range(n), key=lambda slot: (-worth[slot], hedge[slot]))):
            ranks[slot] = rank
        return tuple(ranks)
