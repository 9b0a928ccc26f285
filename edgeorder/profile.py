"""A measured profile: how accurately a model reads each depth of a block, and the order that was decided by that.

The probe makes one (`edgeorder.probe`, extra `probe`); using one needs nothing but the file.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING, Any

from edgeorder.checks import whole_number
from edgeorder.errors import bad_choice
from edgeorder.orders import ORDERS, by_accuracy

if TYPE_CHECKING:
    from pathlib import Path

VERSION = 2
MEASURED = "measured"
"""The name of the order that follows from a curve."""
_SHAPES = ("dip", "primacy", "recency", "inverted")
_VERDICTS = (*_SHAPES, "no effect", "not enough")


def rival(order: str) -> str:
    """Return the name of the order against which the gain of a decided one is told."""
    return "relevance" if order == "bookend" else "bookend"


def gain_words(order: str, gain: float, low: float, high: float) -> str:
    """Return in words what a decided order is expected to gain, and the 95 % interval of that; accuracies, -1..1."""
    points, least, most = (f"{round(100 * part, 1) + 0.0:+}" for part in (gain, low, high))
    return f"expected gain over {rival(order)} {points} points (95 % interval {least} to {most})"


@dataclass(frozen=True)
class LengthProfile:
    """The curve of one block length, and what was decided by it.

    Args:
        chunks: Chunks in the block.
        questions: Questions that it was measured with.
        verdict: The shape that was proved, "dip", "primacy", "recency" or "inverted"; else "no effect" or "not enough".
        order: The order to use: "measured" for the one that follows from the curve, or the name of a fixed one.
        gain: Accuracy (-1..1) that this order is expected to gain over bookend; that bookend is, over relevance.
        gain_low: Lower end of its 95 % interval.
        gain_high: Upper end.
        accuracy: Expected accuracy (0..1) at the depths.
        depths: Relative depths that rise from 0 (head) to 1 (tail); evenly spread if none are given.
        low: Lower ends of the 95 % intervals of the accuracy.
        high: Upper ends.

    Raises:
        ValueError: For numbers out of their range, an unknown name, or fields that do not fit each other.
        TypeError: For values of another type.
    """

    chunks: int
    questions: int
    verdict: str
    order: str
    gain: float
    gain_low: float
    gain_high: float
    accuracy: tuple[float, ...]
    depths: tuple[float, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name, least in (("chunks", 1), ("questions", 0)):
            object.__setattr__(self, name, whole_number(f"LengthProfile.{name}", getattr(self, name), least=least))
        if self.verdict not in _VERDICTS:
            raise bad_choice("LengthProfile.verdict", self.verdict, _VERDICTS)
        if self.order not in (MEASURED, *ORDERS):
            raise bad_choice("LengthProfile.order", self.order, (MEASURED, *ORDERS))
        for name in ("gain", "gain_low", "gain_high"):
            object.__setattr__(self, name, _number(getattr(self, name), f"LengthProfile.{name}", -1))
        if self.gain_low > self.gain_high:
            raise ValueError(f"LengthProfile.gain_low={self.gain_low} lies above gain_high={self.gain_high}")
        for name in ("accuracy", "depths", "low", "high"):
            object.__setattr__(self, name, _numbers(getattr(self, name), f"LengthProfile.{name}"))
            if len(getattr(self, name)) not in (len(self.accuracy), 0):
                raise ValueError(f"LengthProfile.{name} must hold {len(self.accuracy)} numbers, as many as accuracy")
        if len(self.accuracy) < 2:
            raise ValueError(f"LengthProfile.accuracy={self.accuracy} needs a head and a tail")
        if self.depths and not (
            self.depths[0] == 0 and self.depths[-1] == 1 and list(self.depths) == sorted(set(self.depths))
        ):
            raise ValueError(f"LengthProfile.depths={self.depths} must rise from 0 to 1")

    @property
    def proved(self) -> bool:
        """Whether the depth was shown to matter at this length."""
        return self.verdict in _SHAPES

    def at(self, depth: float) -> float:
        """Return the expected accuracy at a relative depth, 0 = head, 1 = tail."""
        last = len(self.accuracy) - 1
        depth = min(max(depth, 0.0), 1.0)
        if self.depths:
            left = min(bisect_right(self.depths, depth), last) - 1
            share = (depth - self.depths[left]) / (self.depths[left + 1] - self.depths[left])
        else:
            left = min(int(depth * last), last - 1)
            share = depth * last - left
        return (1 - share) * self.accuracy[left] + share * self.accuracy[left + 1]


@dataclass(frozen=True)
class PositionProfile:
    """Accuracy by depth of one model and prompt, for one or several block lengths; usable wherever an order is.

    Each length holds the order that is expected to serve best, be it learned or a fixed one; the nearest length decides
    for any other. Which order to use is a decision, and is taken on little evidence too; only the verdict is a claim.

    Args:
        model: The model that was measured.
        lengths: Its curves, by number of chunks.
        prompt: How it was asked: question place, layout and so on.
        date: ISO 8601.
        version: Of this form.

    Raises:
        ValueError: Without a length, or with the same length twice.
        TypeError: For values of another type.

    >>> curve = LengthProfile(5, 60, "recency", "measured", 0.12, 0.07, 0.18, (0.5, 0.6, 0.9))
    >>> PositionProfile("a-model", (curve,)).order(5)
    (4, 3, 2, 1, 0)
    """

    model: str
    lengths: tuple[LengthProfile, ...]
    prompt: Mapping[str, Any] | None = None
    date: str = ""
    version: int = VERSION

    name = MEASURED
    """The name under which the order is recorded where it is compared with others."""

    def __post_init__(self) -> None:
        for field in ("model", "date"):
            if not isinstance(getattr(self, field), str):
                raise TypeError(f"PositionProfile.{field} must be a text, not {getattr(self, field)!r}")
        if not (self.prompt is None or isinstance(self.prompt, Mapping)):
            raise TypeError(f"PositionProfile.prompt must be a mapping, not {self.prompt!r}")
        lengths = self.lengths if isinstance(self.lengths, list | tuple) else [None]
        if not all(isinstance(length, LengthProfile) for length in lengths):
            raise TypeError(f"PositionProfile.lengths must hold LengthProfiles, not {self.lengths!r:.60}")
        object.__setattr__(self, "lengths", tuple(sorted(self.lengths, key=lambda length: length.chunks)))
        counts = [length.chunks for length in self.lengths]
        if not counts or len(set(counts)) < len(counts):
            raise ValueError(f"a profile needs one curve for each block length, not curves for {counts}")

    def __call__(self, n: int) -> Sequence[int]:
        """Return the order of n block units: the 0-based rank at each position."""
        return self.order(n)

    def __hash__(self) -> int:
        return hash((self.model, self.lengths, self.date))

    def order(self, n: int) -> tuple[int, ...]:
        """Return the 0-based rank at each of n positions, as the measured length next to n decides."""
        if n not in self._orders:
            name = self._nearest(n).order
            self._orders[n] = (
                by_accuracy([self.accuracy_at(slot / max(n - 1, 1), n) for slot in range(n)])
                if name == MEASURED
                else tuple(ORDERS[name](n))
            )
        return self._orders[n]

    def decide(self, n: int) -> tuple[str, str]:
        """Return the name of the order of n chunks, and the reason in words."""
        nearest = self._nearest(n)
        return nearest.order, (
            f"measured on {self.model}: {nearest.verdict} at {nearest.chunks} chunks, {nearest.questions} questions; "
            + gain_words(nearest.order, nearest.gain, nearest.gain_low, nearest.gain_high)
        )

    def accuracy_at(self, depth: float, n: int | None = None) -> float:
        """Return the expected accuracy (0..1) at a relative depth (0 = head, 1 = tail) of a block of n chunks.

        Between two measured lengths it is interpolated, beyond them it is that of the nearest. Without n: the longest.
        """
        if n is None:
            return self.lengths[-1].at(depth)
        after = bisect_left([length.chunks for length in self.lengths], n)
        if after in (0, len(self.lengths)):
            return self.lengths[max(after - 1, 0)].at(depth)
        small, large = self.lengths[after - 1], self.lengths[after]
        share = (n - small.chunks) / (large.chunks - small.chunks)
        return (1 - share) * small.at(depth) + share * large.at(depth)

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
            ValueError: For another version, or fields that are missing, unknown or of another type.
        """
        if not isinstance(data, Mapping):
            raise ValueError(f"this is no profile: {data!r:.40}")
        if data.get("version") != VERSION:
            raise ValueError(
                f"a profile of version {data.get('version')!r} cannot be read, only version {VERSION}; "
                "run the probe again (kept answers are asked for only once)"
            )
        try:
            lengths = tuple(LengthProfile(**length) for length in data["lengths"])
            return cls(**{**data, "lengths": lengths})
        except (KeyError, TypeError) as error:
            raise ValueError(f"this is no profile: {error}") from error

    def save(self, path: "str | Path") -> None:
        """Write the profile as JSON, whole or not at all."""
        import json

        from edgeorder.files import write_text

        write_text(path, json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n")

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


def _number(value: Any, name: str, least: int) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, not {value!r}")
    number = float(value)
    if not (isfinite(number) and least <= number <= 1):
        raise ValueError(f"{name} must lie in {least}..1: {value!r}")
    return number


def _numbers(values: Any, name: str) -> tuple[float, ...]:
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__iter__"):
        raise TypeError(f"{name} must hold numbers, not {values!r}")
    return tuple(_number(value, name, 0) for value in values)
