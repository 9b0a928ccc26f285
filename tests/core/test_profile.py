"""A measured profile: the order that follows from it, what it says of itself, and that it survives being written."""

import json
import os
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeorder import ORDERS, Chunk, PositionProfile, place
from edgeorder.profile import LengthProfile

DIP = (0.9, 0.6, 0.5, 0.6, 0.8)
RECENCY = (0.5, 0.55, 0.6, 0.7, 0.9)
PRIMACY = RECENCY[::-1]
INVERTED = (0.5, 0.7, 0.9, 0.7, 0.6)
LONG = "x" * 2000


def length(
    accuracy: tuple[float, ...] = RECENCY, *, chunks: int = 20, order: str = "measured", verdict: str = "recency"
) -> LengthProfile:
    """Return one length."""
    return LengthProfile(chunks, 60, verdict, order, 0.042, -0.003, 0.09, accuracy)


def profile(*args: Any, **settings: Any) -> PositionProfile:
    """Return the profile of a model called m, at one length."""
    return PositionProfile("m", (length(*args, **settings),))


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
    """A curve that is level but for noise is bookended: a difference below 0.0005 decides nothing."""
    assert profile((0.8, 0.8004, 0.8, 0.8004, 0.8)).order(5) == (0, 2, 4, 3, 1)
    assert profile((0.8, 0.802, 0.8, 0.8, 0.8)).order(5) == (1, 0, 4, 3, 2)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("n", [0, 1, 4, 5, 30])
def test_a_fixed_order_that_was_decided_holds_for_every_count(order: str, n: int) -> None:
    """Whatever the curve says, and at lengths that were not measured."""
    decided = profile(order=order, verdict="not enough")
    assert decided.order(n) == tuple(ORDERS[order](n))
    assert decided.decide(n)[0] == order


def test_each_length_decides_for_the_counts_next_to_it() -> None:
    """A tie goes to the smaller one."""
    both = PositionProfile("m", (length(), length((0.8, 0.8), chunks=6, order="relevance", verdict="no effect")))
    assert [both.decide(n)[0] for n in (1, 5, 12, 13, 14, 99)] == ["relevance"] * 4 + ["measured"] * 2
    assert both.order(6) == (0, 1, 2, 3, 4, 5)
    assert both.order(14) == tuple(range(13, -1, -1))


def test_an_edge_may_be_one_slot_wide_at_any_length() -> None:
    """A curve that says so by its depths gives rank 1 to the tail, and rank 2 to the head, however long the block."""
    sharp = replace(length((0.8, 0.5, 0.6, 0.9)), depths=(0, 0.001, 0.999, 1))
    for n in (3, 10, 60):
        order = PositionProfile("m", (sharp,)).order(n)
        assert order == (1, *range(n - 1, 1, -1), 0)
    assert sharp.at(0.5) == pytest.approx(0.55)
    assert (sharp.at(-1), sharp.at(2)) == (0.8, 0.9)


SHORT = length((0.9, 0.5, 0.7), chunks=10, verdict="dip")
LONGER = length((0.8, 0.4, 0.4), chunks=30, verdict="dip")


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


def test_a_placement_follows_the_profile_and_says_why() -> None:
    """The record calls the order measured, and names model, shape, length, questions and what is gained."""
    placement = place([Chunk(LONG) for _ in range(6)], order=profile())
    assert placement.indices == (5, 4, 3, 2, 1, 0)
    assert placement.record.order == "measured"
    assert placement.record.reason == (
        "measured on m: recency at 20 chunks, 60 questions; "
        "expected gain over bookend +4.2 points (95 % interval -0.3 to +9.0)"
    )


@pytest.mark.parametrize(
    ("order", "verdict", "indices", "over"),
    [
        ("relevance", "no effect", (0, 1, 2, 3, 4, 5), "bookend"),
        ("bookend", "not enough", (0, 2, 4, 5, 3, 1), "relevance"),
        ("bookend", "dip", (0, 2, 4, 5, 3, 1), "relevance"),
        ("two_to_one", "not enough", (0, 2, 3, 5, 4, 1), "bookend"),
    ],
)
def test_a_fixed_order_is_recorded_by_its_name(order: str, verdict: str, indices: tuple[int, ...], over: str) -> None:
    """And the reason says over which other order it gains."""
    placement = place([Chunk(LONG) for _ in range(6)], order=profile(order=order, verdict=verdict))
    assert (placement.indices, placement.record.order) == (indices, order)
    assert placement.record.reason.startswith(f"measured on m: {verdict} at 20 chunks, 60 questions; ")
    assert f"expected gain over {over} +4.2 points" in placement.record.reason


def test_a_gain_of_nothing_has_one_sign() -> None:
    """A gain that is rounded to nothing is not called negative."""
    nothing = replace(length(), gain=-0.0001, gain_low=-0.0001, gain_high=0.0)
    reason = PositionProfile("m", (nothing,)).decide(20)[1]
    assert reason.endswith("expected gain over bookend +0.0 points (95 % interval +0.0 to +0.0)")


def test_the_count_that_matters_is_that_of_the_units() -> None:
    """Neighbours of one source are one unit: two units out of six chunks get the order of two."""
    chunks = [Chunk(LONG, source="ab"[i // 3], offset=i) for i in range(6)]
    placement = place(chunks, order=profile(INVERTED, chunks=2, verdict="inverted"))
    assert placement.indices == (3, 4, 5, 0, 1, 2)


curves = st.lists(st.floats(0, 1), min_size=2, max_size=9).map(tuple)


names = st.sampled_from(["measured", *ORDERS])


@given(st.dictionaries(st.integers(1, 40), st.tuples(curves, names), min_size=1, max_size=3), st.integers(0, 50))
def test_an_order_is_a_permutation(lengths: dict[int, tuple[tuple[float, ...], str]], n: int) -> None:
    """Whatever the curves say, every chunk has one slot, and the order is the same every time."""
    made = [length(curve, chunks=chunks, order=order) for chunks, (curve, order) in lengths.items()]
    measured = PositionProfile("m", tuple(made))
    assert sorted(measured.order(n)) == list(range(n))
    assert measured.order(n) == PositionProfile("m", tuple(reversed(made))).order(n)


FULL = PositionProfile(
    "acme/m-8b",
    (
        LengthProfile(
            *(20, 60, "dip", "measured", 0.02, 0.01, 0.05, DIP, (0, 0.1, 0.5, 0.9, 1)),
            low=(0.8, 0.5, 0.4, 0.5, 0.7),
            high=(0.95, 0.7, 0.6, 0.7, 0.9),
        ),
        SHORT,
    ),
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
    return {**FULL.to_dict(), "lengths": [{**FULL.to_dict()["lengths"][1], **changes}]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{not JSON", "Expecting property name"),
        ("", "Expecting value"),
        ([1], "this is no profile"),
        (None, "this is no profile"),
        (
            {**FULL.to_dict(), "version": 1},
            "a profile of version 1 cannot be read, only version 2; run the probe again",
        ),
        (_without("version"), "a profile of version None cannot be read"),
        (_without("model"), "this is no profile: .*model"),
        (_without("lengths"), "this is no profile: 'lengths'"),
        ({**FULL.to_dict(), "colour": "red"}, "this is no profile: .*colour"),
        ({**FULL.to_dict(), "model": 7}, "PositionProfile.model must be a text, not 7"),
        ({**FULL.to_dict(), "date": None}, "PositionProfile.date must be a text, not None"),
        ({**FULL.to_dict(), "prompt": "after"}, "PositionProfile.prompt must be a mapping, not 'after'"),
        ({**FULL.to_dict(), "lengths": []}, "one curve for each block length"),
        ({**FULL.to_dict(), "lengths": "none"}, "this is no profile"),
        ({**FULL.to_dict(), "lengths": [FULL.to_dict()["lengths"][0]] * 2}, r"not curves for \[10, 10\]"),
        (_curve(colour="red"), "this is no profile: .*colour"),
        (_curve(accuracy=[0.5, 1.2, 0.5, 0.5, 0.5]), "LengthProfile.accuracy must lie in 0..1: 1.2"),
        (_curve(accuracy="01010"), "LengthProfile.accuracy must hold numbers, not '01010'"),
        (_curve(accuracy=["0.5", "0.6"]), "LengthProfile.accuracy must be a number, not '0.5'"),
        (_curve(accuracy=[True, False]), "LengthProfile.accuracy must be a number, not True"),
        (_curve(accuracy=[0.5], depths=[], low=[], high=[]), "needs a head and a tail"),
        (_curve(accuracy=0.5), "LengthProfile.accuracy must hold numbers, not 0.5"),
        (_curve(accuracy=None), "LengthProfile.accuracy must hold numbers, not None"),
        (_curve(low=[-0.1, 0.5, 0.5, 0.5, 0.5]), "LengthProfile.low must lie in 0..1"),
        (_curve(low=[0.5]), "LengthProfile.low must hold 5 numbers"),
        (_curve(high=[float("nan")] * 5), "LengthProfile.high must lie in 0..1: nan"),
        (_curve(depths=[0, 0.5, 0.5, 0.9, 1]), r"LengthProfile.depths=.* must rise from 0 to 1"),
        (_curve(depths=[0.1, 0.2, 0.5, 0.9, 1]), r"LengthProfile.depths=.* must rise from 0 to 1"),
        (_curve(chunks=0), "LengthProfile.chunks=0 must be at least 1"),
        (_curve(chunks="ten"), "LengthProfile.chunks must be a whole number, not 'ten'"),
        (_curve(chunks=float("nan")), "LengthProfile.chunks must be a whole number, not nan"),
        (_curve(chunks=True), "LengthProfile.chunks must be a whole number, not True"),
        (_curve(questions=1.5), "LengthProfile.questions must be a whole number, not 1.5"),
        (_curve(questions=-1), "LengthProfile.questions=-1 must be at least 0"),
        (_curve(verdict="false"), "LengthProfile.verdict='false' is not one of: dip"),
        (_curve(order="best"), "LengthProfile.order='best' is not one of: measured, relevance"),
        (_curve(order=["relevance"]), r"LengthProfile.order=\['relevance'\] is not one of"),
        (_curve(gain="0.5"), "LengthProfile.gain must be a number, not '0.5'"),
        (_curve(gain=False), "LengthProfile.gain must be a number, not False"),
        (_curve(gain_low=float("-inf")), "LengthProfile.gain_low must lie in -1..1: -inf"),
        (_curve(gain_low=0.5), "LengthProfile.gain_low=0.5 lies above gain_high=0.05"),
        (_curve(gain_high=1.5), "LengthProfile.gain_high must lie in -1..1: 1.5"),
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


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stood there stays when writing fails, nothing is left beside it, and a link or a mode stays as it was."""
    file, link = tmp_path / "p.json", tmp_path / "link.json"
    profile().save(file)
    file.chmod(0o640)
    link.symlink_to(file)
    FULL.save(link)
    assert link.is_symlink()
    assert PositionProfile.load(file) == FULL
    assert file.stat().st_mode & 0o777 == 0o640

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr("os.fsync", full)
        with pytest.raises(OSError, match="No space left"):
            profile().save(file)
    assert PositionProfile.load(file) == FULL
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.json", "p.json"]
    with pytest.raises(FileNotFoundError, match=r"no folder .*none to write p\.json into; make it first"):
        FULL.save(tmp_path / "none" / "p.json")


def test_what_is_no_regular_file_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    """A pipe stays a pipe."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    FULL.save(pipe)
    assert json.loads(os.read(reader, 100_000)) == FULL.to_dict()
    os.close(reader)
    assert pipe.is_fifo()


def test_only_lengths_make_a_profile() -> None:
    """Anything else in their place is refused by its type."""
    with pytest.raises(TypeError, match=r"PositionProfile\.lengths must hold LengthProfiles, not \(1, 2\)"):
        PositionProfile("m", (1, 2))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"PositionProfile\.lengths must hold LengthProfiles, not 5"):
        PositionProfile("m", 5)  # type: ignore[arg-type]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """A path that leads nowhere is the usual error of a missing file."""
    with pytest.raises(FileNotFoundError, match=r"none\.json"):
        PositionProfile.load(tmp_path / "none.json")
