"""A measured profile: the order that follows from it, what it says of itself, and that it survives being written."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeorder import Chunk, PositionProfile, place
from edgeorder.profile import LengthProfile

DIP = (0.9, 0.6, 0.5, 0.6, 0.8)
RECENCY = (0.5, 0.55, 0.6, 0.7, 0.9)
PRIMACY = RECENCY[::-1]
INVERTED = (0.5, 0.7, 0.9, 0.7, 0.6)
LONG = "x" * 2000


def profile(accuracy: tuple[float, ...] = RECENCY, proved: bool = True, chunks: int = 20) -> PositionProfile:
    """Return the profile of a model called m, at one length."""
    return PositionProfile("m", (LengthProfile(chunks, 60, "recency" if proved else "not enough", proved, accuracy),))


GOLDEN = {
    "dip": (
        DIP,
        {
            2: (0, 1),
            3: (0, 2, 1),
            4: (0, 2, 3, 1),
            5: (0, 2, 4, 3, 1),
            6: (0, 2, 4, 5, 3, 1),
            7: (0, 2, 4, 6, 5, 3, 1),
            8: (0, 2, 4, 6, 7, 5, 3, 1),
        },
    ),
    "recency": (RECENCY, {n: tuple(range(n - 1, -1, -1)) for n in range(2, 9)}),
    "primacy": (PRIMACY, {n: tuple(range(n)) for n in range(2, 9)}),
    "inverted": (
        INVERTED,
        {
            2: (1, 0),
            3: (2, 0, 1),
            4: (3, 0, 1, 2),
            5: (4, 1, 0, 2, 3),
            6: (5, 3, 0, 1, 2, 4),
            7: (6, 4, 1, 0, 2, 3, 5),
            8: (7, 5, 2, 0, 1, 3, 4, 6),
        },
    ),
}


@pytest.mark.parametrize(
    ("curve", "n", "order"),
    [
        pytest.param(curve, n, order, id=f"{name} {n}")
        for name, (curve, by_n) in GOLDEN.items()
        for n, order in by_n.items()
    ],
)
def test_better_ranks_go_where_the_model_reads_better(curve: tuple[float, ...], n: int, order: tuple[int, ...]) -> None:
    """Each slot gets its rank by expected accuracy, alike slots as in bookend; worked out by hand."""
    measured = profile(curve)
    assert measured.order(n) == tuple(measured(n)) == order


def test_slots_alike_to_a_tenth_of_a_point_are_ranked_as_in_bookend() -> None:
    """A proved curve that is level but for noise is bookended: a difference below 0.0005 decides nothing."""
    assert profile((0.8, 0.8004, 0.8, 0.8004, 0.8)).order(5) == (0, 2, 4, 3, 1)
    assert profile((0.8, 0.802, 0.8, 0.8, 0.8)).order(5) == (1, 0, 4, 3, 2)


@pytest.mark.parametrize(("n", "order"), [(0, ()), (1, (0,)), (4, (0, 1, 2, 3)), (5, (0, 2, 4, 3, 1))])
def test_without_a_proof_the_curve_decides_nothing(n: int, order: tuple[int, ...]) -> None:
    """As a plain callable an unproved profile is bookend, and relevance for up to four."""
    assert profile(RECENCY, proved=False).order(n) == order


def test_a_proof_at_one_length_does_not_hold_at_another() -> None:
    """The measured length next to n says whether its curve may decide, and a tie goes to the smaller."""
    both = PositionProfile(
        "m", (LengthProfile(20, 9, "recency", True, RECENCY), LengthProfile(6, 9, "no effect", False, (0.8, 0.8)))
    )
    assert [both.shows(n) for n in (1, 5, 12, 13, 14, 99)] == [False, False, False, False, True, True]
    assert both.order(6) == (0, 2, 4, 5, 3, 1)
    assert both.order(14) == tuple(range(13, -1, -1))


SHORT = LengthProfile(10, 50, "dip", True, (0.9, 0.5, 0.7))
LONGER = LengthProfile(30, 50, "dip", True, (0.8, 0.4, 0.4))


@pytest.mark.parametrize(
    ("depth", "n", "accuracy"),
    [
        (0.0, 10, 0.9),
        (0.25, 10, 0.7),
        (0.75, 10, 0.6),
        (1.0, 10, 0.7),
        (0.0, 20, 0.85),
        (0.5, 15, 0.475),
        (1.0, 25, 0.475),
        (0.25, 3, 0.7),
        (0.25, 99, 0.6),
        (0.25, None, 0.6),
        (-1.0, 10, 0.9),
        (2.0, 10, 0.7),
    ],
)
def test_accuracy_between_what_was_measured(depth: float, n: int | None, accuracy: float) -> None:
    """Linear between depths and between lengths, the nearest length beyond the ends, the longest without n."""
    assert PositionProfile("m", (LONGER, SHORT)).accuracy_at(depth, n) == pytest.approx(accuracy)


def test_an_unproved_length_does_not_bend_the_order_of_its_neighbours() -> None:
    """Between a proved and an unproved length the proved curve counts alone where it is nearer."""
    noise = LengthProfile(30, 50, "no effect", False, (0.1, 0.1, 0.1))
    assert PositionProfile("m", (SHORT, noise)).accuracy_at(0.0, 15) == 0.9
    assert PositionProfile("m", (SHORT, noise)).accuracy_at(0.0, 25) == pytest.approx(0.75 * 0.1 + 0.25 * 0.9)


def test_a_placement_follows_the_profile_and_says_so() -> None:
    """The record calls the order measured, and names model, shape, length and questions."""
    placement = place([Chunk(LONG) for _ in range(6)], order=profile())
    assert placement.indices == (5, 4, 3, 2, 1, 0)
    assert placement.record.order == "measured"
    assert placement.record.reason == "measured on m: recency at 20 chunks, 60 questions"


@pytest.mark.parametrize(
    ("texts", "order", "why"),
    [
        ([LONG] * 6, "bookend", "long block: more than 4 chunks and 4800 bytes"),
        ([LONG] * 4, "relevance", "short block: 4 chunks, at most 4"),
        (["x"] * 6, "relevance", "short block: at most 4800 bytes"),
        ([LONG], "relevance", "short block: 1 chunks, at most 4"),
    ],
)
def test_without_a_proof_auto_chooses(texts: list[str], order: str, why: str) -> None:
    """A placement by an unproved profile is auto's own; the reason names the profile and auto's rule."""
    chunks = [Chunk(text) for text in texts]
    placement = place(chunks, order=profile(proved=False))
    assert placement.indices == place(chunks).indices
    assert placement.record.order == order
    assert placement.record.reason == f"measured on m: not enough at 20 chunks, 60 questions; {why}"


def test_the_count_that_matters_is_that_of_the_units() -> None:
    """Neighbours of one source are one unit: two units out of six chunks get the order of two."""
    chunks = [Chunk(LONG, source="ab"[i // 3], offset=i) for i in range(6)]
    placement = place(chunks, order=profile(INVERTED, chunks=2))
    assert placement.indices == (3, 4, 5, 0, 1, 2)


curves = st.lists(st.floats(0, 1), min_size=2, max_size=9).map(tuple)


@given(
    st.dictionaries(st.integers(1, 40), st.tuples(curves, st.booleans()), min_size=1, max_size=3), st.integers(0, 50)
)
def test_an_order_is_a_permutation(lengths: dict[int, tuple[tuple[float, ...], bool]], n: int) -> None:
    """Whatever the curves say, every chunk has one place, and the order is the same every time."""
    made = [LengthProfile(chunks, 9, "dip", proved, curve) for chunks, (curve, proved) in lengths.items()]
    measured = PositionProfile("m", tuple(made))
    assert sorted(measured.order(n)) == list(range(n))
    assert measured.order(n) == PositionProfile("m", tuple(reversed(made))).order(n)


@given(curves, st.lists(st.sampled_from([LONG, "x", "é" * 900]), min_size=1, max_size=9), st.booleans())
def test_a_profile_of_noise_places_as_auto_does(curve: tuple[float, ...], texts: list[str], flat: bool) -> None:
    """Little evidence gives exactly auto's placement, whatever the curve."""
    chunks = [Chunk(text, score=0.5 if flat else 1 - i / 10) for i, text in enumerate(texts)]
    by_profile, by_auto = place(chunks, order=profile(curve, proved=False)), place(chunks)
    assert (by_profile.indices, by_profile.order) == (by_auto.indices, by_auto.order)


FULL = PositionProfile(
    "acme/m-8b",
    (LengthProfile(20, 60, "dip", True, DIP, (0.8, 0.5, 0.4, 0.5, 0.7), (0.95, 0.7, 0.6, 0.7, 0.9)), SHORT),
    {"question": "after", "seed": 7, "layout": None},
    "2026-11-30T07:00:00+00:00",
)


def test_it_survives_being_written(tmp_path: Path) -> None:
    """What was saved is loaded, equal, with the same hash and orders; the file is plain JSON."""
    FULL.order(20)
    FULL.save(tmp_path / "p.json")
    loaded = PositionProfile.load(tmp_path / "p.json")
    assert loaded == FULL
    assert hash(loaded) == hash(FULL)
    assert loaded.order(20) == FULL.order(20)
    assert json.loads((tmp_path / "p.json").read_text()) == FULL.to_dict()
    assert len({FULL, loaded, profile()}) == 2
    again = pickle.loads(pickle.dumps(FULL))
    assert (again, again.order(20)) == (FULL, FULL.order(20))


def _without(field: str) -> dict[str, Any]:
    return {name: value for name, value in FULL.to_dict().items() if name != field}


def _curve(**changes: Any) -> dict[str, Any]:
    return {**FULL.to_dict(), "lengths": [{**FULL.to_dict()["lengths"][0], **changes}]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{not JSON", "Expecting property name"),
        ("", "Expecting value"),
        ([1], "this is no profile"),
        (None, "this is no profile"),
        ({**FULL.to_dict(), "version": 2}, "a profile of version 2 cannot be read; this is version 1"),
        (_without("version"), "a profile of version None cannot be read"),
        (_without("model"), "this is no profile: .*model"),
        (_without("lengths"), "this is no profile: 'lengths'"),
        ({**FULL.to_dict(), "colour": "red"}, "this is no profile: .*colour"),
        ({**FULL.to_dict(), "lengths": []}, "one curve for each block length"),
        ({**FULL.to_dict(), "lengths": [FULL.to_dict()["lengths"][0]] * 2}, r"not curves for \[10, 10\]"),
        (_curve(colour="red"), "this is no profile: .*colour"),
        (_curve(accuracy=[0.5, 1.2]), r"LengthProfile.accuracy must lie in 0..1: \(0.5, 1.2\)"),
        (_curve(low=[-0.1, 0.5, 0.5]), "LengthProfile.low must lie in 0..1"),
        (_curve(high=[float("nan")]), "LengthProfile.high must lie in 0..1"),
        (_curve(accuracy=[0.5]), "needs a head and a tail"),
        (_curve(accuracy=0.5), "this is no profile"),
        (_curve(chunks=0), "LengthProfile.chunks=0 must be at least 1"),
        (_curve(chunks="ten"), "this is no profile"),
    ],
)
def test_a_file_that_holds_no_profile_is_named(tmp_path: Path, content: Any, message: str) -> None:
    """What is wrong with a file is said in one line that begins with its path."""
    file = tmp_path / "p.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(ValueError, match=message) as caught:
        PositionProfile.load(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """A path that leads nowhere is the usual error of a missing file."""
    with pytest.raises(FileNotFoundError, match=r"none\.json"):
        PositionProfile.load(tmp_path / "none.json")
