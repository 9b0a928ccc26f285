"""Deadlines and cascades: the caller goes on in time, and the record says what each scorer did."""

import asyncio
import contextlib
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeorder import Chunk, EdgeOrderWarning, Placement, Rerank, RerankError, aplace, place
from edgeorder.alerts import warn
from edgeorder.scorers.pairs import PairScorer
from edgeorder.scoring import Reranked, ascore_texts, score_texts
from edgeorder.stopping import current

ABCD = [Chunk(text) for text in "ABCD"]
LATE = pytest.mark.filterwarnings("ignore:rerank failed:edgeorder.EdgeOrderWarning")
FAST = 0.15  # seconds
LONG = 60  # seconds that nobody waits unless something is wrong; a busy machine may hold a thread for some


@pytest.fixture(params=["sync", "async"])
def placed(request: pytest.FixtureRequest) -> Callable[[Any], Placement]:
    """Return what places by a rerank step, by either face."""

    def placed(rerank: Any, chunks: Any = ABCD) -> Placement:
        settings = {"query": "q", "rerank": rerank, "order": "relevance"}
        return place(chunks, **settings) if request.param == "sync" else asyncio.run(aplace(chunks, **settings))

    return placed


class Slow:
    """A scorer that waits until it is let go."""

    def __init__(self) -> None:
        self.calls = 0
        self.begun, self.go, self.over = (threading.Event() for _ in range(3))

    def __call__(self, query: str, texts: list[str]) -> list[float]:
        self.calls += 1
        self.begun.set()
        self.go.wait(LONG)
        self.over.set()
        return [float(at) for at in range(len(texts))]


@pytest.fixture
def slow() -> Iterator[Slow]:
    scorer = Slow()
    yield scorer
    scorer.go.set()


def test_at_the_deadline_the_caller_goes_on(placed: Callable[[Any], Placement], slow: Slow) -> None:
    """With the order before it and a note, or an error; never earlier, nor only when the scorer has ended."""
    started = time.monotonic()
    with pytest.warns(EdgeOrderWarning, match=r"the order before it was kept: .*no scores within 0\.15 s.* still runs"):
        placement = placed(Rerank(slow, timeout=FAST, on_error="input_order"))
    assert time.monotonic() - started >= FAST
    assert not slow.over.is_set()
    assert placement.apply("ABCD") == list("ABCD")
    assert "gave no scores within 0.15 s, and still runs" in placement.record.notes[0]
    assert placement.record.scorer is None
    with pytest.raises(RerankError, match=r"scorer Slow gave no scores within 0\.15 s, and still runs"):
        placed(Rerank(other := Slow(), timeout=FAST))
    assert not other.over.is_set()
    other.go.set()


def test_a_scorer_in_time_is_as_without_a_deadline(placed: Callable[[Any], Placement]) -> None:
    """A deadline that is met changes nothing; what the scorer raises is what is raised."""
    placement = placed(Rerank(lambda query, texts: [1, 2, 3, 4], timeout=LONG))
    assert placement.apply("ABCD") == list("DCBA")

    def own(query: str, texts: list[str]) -> list[float]:
        raise TimeoutError("of my own")

    with pytest.raises(RerankError, match="failed with TimeoutError: of my own"):
        placed(Rerank(own, timeout=LONG))


@LATE
def test_a_scorer_that_still_runs_is_not_asked_again(placed: Callable[[Any], Placement], slow: Slow) -> None:
    """Calls do not pile up behind one that was given up; once it has ended, it is asked as before."""
    rerank = Rerank(slow, timeout=FAST, on_error="input_order")
    placed(rerank)
    assert "was not asked: it still runs, for a call that was given up" in placed(rerank).record.notes[0]
    assert "was not asked" in placed(Rerank(slow, timeout=LONG, on_error="input_order")).record.notes[0]
    assert slow.begun.wait(LONG)
    assert slow.calls == 1
    slow.go.set()
    until = time.monotonic() + LONG
    while slow.calls == 1 and time.monotonic() < until:  # until its thread has ended
        time.sleep(0.01)
        found = placed(Rerank(slow, timeout=LONG, on_error="input_order"))
    assert found.apply("ABCD") == list("DCBA")


class _Awaited:
    """An async scorer that notes how it ended."""

    def __init__(self) -> None:
        self.ended = ""

    async def acall(self, query: str, texts: list[str]) -> list[float]:
        try:
            await asyncio.sleep(LONG)
        except asyncio.CancelledError:
            self.ended = "cancelled"
            raise
        return [1.0] * len(texts)

    def __call__(self, query: str, texts: list[str]) -> list[float]:
        raise AssertionError


async def test_an_async_scorer_is_cancelled() -> None:
    """It ends at the deadline, and is asked again the next time."""
    scorer = _Awaited()
    for _ in range(2):
        with pytest.raises(RerankError, match=r"gave no scores within 0\.15 s, and was cancelled"):
            await aplace(ABCD, query="q", rerank=Rerank(scorer, timeout=FAST))
        assert scorer.ended == "cancelled"


async def test_a_scorer_that_ignores_its_cancellation_holds_nobody() -> None:
    """The caller goes on; the record says that it still runs."""
    over = asyncio.Event()

    async def stubborn(query: str, texts: list[str]) -> list[float]:
        while not over.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await over.wait()
        return [1.0] * len(texts)

    for said in ("still runs", "was not asked"):
        with pytest.raises(RerankError, match=said):
            await asyncio.wait_for(aplace(ABCD, query="q", rerank=Rerank(stubborn, timeout=FAST)), LONG)
    over.set()


MANY = [Chunk(f"text {number}") for number in range(2000)]


class Model(PairScorer):
    """A model that takes its time for each batch of one pair, and counts them: all of `MANY` take minutes."""

    long_passages = "warn"
    relevant_label = None

    def __init__(self) -> None:
        self.batches = 0
        self.begun, self.ended = threading.Event(), threading.Event()

    def _reader(self) -> None:
        return None

    def _model(self) -> object:
        return self

    def _predict(self, pairs: Any, stop: Any) -> list[float]:
        try:
            for _ in pairs:
                stop.check()
                self.begun.set()
                time.sleep(0.05)
                self.batches += 1
        finally:
            self.ended.set()
        return [float(at) for at in range(len(pairs))]


@LATE
def test_a_model_stops_between_two_batches(placed: Callable[[Any], Placement]) -> None:
    """It is not left to score what nobody waits for, and is free for the next call."""
    model = Model()
    for _ in range(20):  # on a busy machine the deadline may be over before the model begins
        placement = placed(Rerank(model, timeout=5 * FAST, on_error="input_order"), MANY)
        assert "gave no scores within 0.75 s, and was stopped" in placement.record.notes[0]
        if model.begun.is_set():
            break
    assert model.ended.wait(LONG)
    assert model.batches < len(MANY)
    assert placed(Rerank(model, timeout=LONG), MANY[:3]).indices == (2, 1, 0)


async def test_a_model_stops_where_the_caller_is_cancelled() -> None:
    """A user who goes away leaves no work behind, with or without a deadline."""
    for seconds in (None, 2 * LONG):
        model = Model()
        task = asyncio.create_task(aplace(MANY, query="q", rerank=Rerank(model, timeout=seconds)))
        assert await asyncio.to_thread(model.begun.wait, LONG)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(model.ended.wait, LONG)
        assert model.batches < len(MANY)


async def test_what_waits_for_a_thread_never_starts_after_the_caller_gave_up() -> None:
    """A scorer that is still in the queue of a busy loop is taken out of it."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    go, calls = threading.Event(), []
    busy = asyncio.create_task(asyncio.to_thread(go.wait, LONG))
    await asyncio.sleep(0.05)
    task = asyncio.create_task(aplace(ABCD, query="q", rerank=lambda query, texts: calls.append(1)))
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.wait({task})
    go.set()
    await busy
    await asyncio.to_thread(lambda: None)
    assert calls == []


@LATE
async def test_calls_that_are_given_up_hold_no_thread_of_the_loop() -> None:
    """Scorers that hang run in threads of their own: the loop's executor stays free."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    scorers = [Slow() for _ in range(5)]
    calls = (aplace(ABCD, query="q", rerank=Rerank(one, timeout=FAST, on_error="input_order")) for one in scorers)
    assert [placement.indices for placement in await asyncio.gather(*calls)] == [(0, 1, 2, 3)] * 5
    await asyncio.wait_for(asyncio.to_thread(lambda: None), LONG)
    for scorer in scorers:
        scorer.go.set()


def test_warnings_of_a_thread_reach_the_caller(placed: Callable[[Any], Placement]) -> None:
    """What a scorer warns of in its thread is given where it was called, and may be made an error there."""

    def warning(query: str, texts: list[str]) -> list[float]:
        warn("something to know")
        return [1, 2, 3, 4]

    with pytest.warns(EdgeOrderWarning, match="something to know"):
        placed(Rerank(warning, timeout=LONG))
    with warnings.catch_warnings():
        warnings.simplefilter("error", EdgeOrderWarning)
        with pytest.raises(EdgeOrderWarning, match="something to know"):
            placed(Rerank(warning, timeout=LONG, on_error="input_order"))


def by_length(query: str, texts: list[str]) -> list[float]:
    return [float(len(text)) for text in texts]


def test_in_a_cascade_each_scorer_sees_the_best_of_the_one_before(placed: Callable[[Any], Placement]) -> None:
    """The fast one scores all, the strong one the best of them; the others follow in the fast one's order."""
    seen: list[list[str]] = []

    def strong(query: str, texts: list[str]) -> list[float]:
        seen.append(texts)
        return [-float(len(text)) for text in texts]

    chunks = [Chunk("x" * length) for length in (3, 9, 1, 7, 5)]
    placement = placed(Rerank([by_length, strong], keep=3), chunks)
    assert seen == [["x" * 9, "x" * 7, "x" * 5]]
    assert placement.indices == (4, 3, 1, 0, 2)
    assert [chunk.rerank_score for chunk in placement.record.chunks] == [None, -9.0, None, -7.0, -5.0]
    assert placement.record.scorer is not None
    assert "by_length, then " in placement.record.scorer
    assert placement.record.scorer.endswith(" for the best 3")


def test_each_stage_is_on_record() -> None:
    """Who scored what, and how long it took."""
    found = score_texts(Rerank([by_length, lambda query, texts: [1.0, 2.0]], keep=[2]), "q", ["a", "bbb", " ", "cc"])
    first, second = found.stages
    assert (first.scorer, first.scores, first.failure) == ("by_length", {0: 1.0, 1: 3.0, 3: 2.0}, None)
    assert second.scores == {1: 1.0, 3: 2.0}
    assert found.scores == [None, 1.0, None, 2.0]
    assert all(0 <= stage.seconds < LONG for stage in found.stages)
    assert found.order(range(4)) == [3, 1, 2, 0]  # the blank one keeps its place


@pytest.mark.filterwarnings("ignore:strong failed:edgeorder.EdgeOrderWarning")
def test_where_a_later_scorer_fails_the_earlier_one_counts(placed: Callable[[Any], Placement]) -> None:
    """The order before it is that of the scorer before it, whose scores count."""

    def strong(query: str, texts: list[str]) -> list[float]:
        raise OSError("no route")

    strong.__qualname__ = "strong"
    chunks = [Chunk("x" * length) for length in (3, 9, 1)]
    placement = placed(Rerank([by_length, strong], keep=2, on_error="input_order"), chunks)
    assert placement.indices == (1, 0, 2)
    assert [chunk.rerank_score for chunk in placement.record.chunks] == [3.0, 9.0, 1.0]
    assert placement.record.notes[0] == "strong failed, the order of by_length was kept: OSError: no route"
    with pytest.raises(RerankError, match="strong failed with OSError"):
        placed(Rerank([by_length, strong], keep=2), chunks)


@pytest.mark.filterwarnings("ignore:.* failed, the order:edgeorder.EdgeOrderWarning")
def test_one_deadline_is_for_the_whole_cascade(
    placed: Callable[[Any], Placement], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the fast one takes, the strong one has less; at the deadline, the fast one's order is kept."""
    passed, had = 0.0, []
    monkeypatch.setattr("edgeorder.stopping.time", SimpleNamespace(monotonic=lambda: time.monotonic() + passed))

    def taking(seconds: float) -> Callable[[str, list[str]], list[float]]:
        def scorer(query: str, texts: list[str]) -> list[float]:
            nonlocal passed
            stop = current()
            assert stop
            had.append(stop.left())
            passed += seconds
            stop.check()
            return by_length(query, texts)

        return scorer

    chunks = [Chunk("x" * length) for length in (3, 9, 1)]
    rerank = Rerank([taking(2 * LONG), taking(LONG)], keep=2, timeout=3 * LONG, on_error="input_order")
    placement = placed(rerank, chunks)
    assert placement.indices == (1, 0, 2)
    assert "gave no scores within 180 s, and was stopped" in placement.record.notes[0]
    assert 2 * LONG < had[0] <= 3 * LONG
    assert 0 < had[1] <= LONG


scores = st.lists(st.floats(-9, 9) | st.none(), min_size=1, max_size=8)


@given(scores, st.data())
@pytest.mark.filterwarnings("ignore::edgeorder.EdgeOrderWarning")
def test_a_cascade_loses_and_invents_nothing(fast: list[float | None], data: st.DataObject) -> None:
    """Whatever two scorers say: a permutation, the strong one's best first, and the two faces agree."""
    keep = data.draw(st.integers(1, 9))
    strong = data.draw(st.lists(st.floats(-9, 9) | st.none(), min_size=keep, max_size=keep))
    texts = [f"text {at}" for at in range(len(fast))]
    rerank = Rerank(
        [lambda query, sent: fast, lambda query, sent: strong[: len(sent)]], keep=keep, on_error="input_order"
    )

    def told(found: Reranked) -> tuple[Any, ...]:
        return found.scores, found.failure, list(found.order(range(len(texts))))

    found = score_texts(rerank, "q", texts)
    order = told(found)[-1]
    assert sorted(order) == list(range(len(texts)))
    assert told(asyncio.run(ascore_texts(rerank, "q", texts))) == told(found)
    if found.failure is None:
        given = list(found.stages[1].scores)
        assert sorted(order[: len(given)]) == sorted(given)
        known = [score for at in order[: len(given)] if (score := found.stages[1].scores[at]) is not None]
        assert all(after - before <= 1e-6 for before, after in pairwise(known))


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"timeout": 0}, ValueError, "Rerank.timeout=0 must be a positive number of seconds"),
        ({"timeout": float("inf")}, ValueError, "Rerank.timeout=inf"),
        ({"timeout": "1"}, TypeError, "Rerank.timeout must be a number of seconds, not '1'"),
        ({"timeout": True}, TypeError, "Rerank.timeout"),
        ({"keep": 5}, ValueError, "Rerank.keep=5 must say .* and there are 1 scorers"),
        ({"scorer": [print, print]}, ValueError, "Rerank.keep=None must say how many"),
        ({"scorer": [print, print], "keep": 0}, ValueError, "Rerank.keep=0 must be at least 1"),
        ({"scorer": [print, print], "keep": True}, TypeError, "Rerank.keep"),
        ({"scorer": [print, print, print], "keep": 5}, ValueError, "there are 3 scorers"),
        ({"scorer": [print, 7], "keep": 5}, TypeError, "rerank must be a callable"),
        ({"scorer": []}, ValueError, "there are 0 scorers"),
    ],
)
def test_impossible_steps_are_refused(settings: Any, error: type[Exception], message: str) -> None:
    """At construction, naming the value."""
    with pytest.raises(error, match=message):
        Rerank(**{"scorer": print, **settings})


@pytest.mark.parametrize("query", [" ", "\n"])
def test_a_blank_query_is_none(query: str) -> None:
    """Blanks ask for nothing; around a query they are not shown to the scorer."""
    with pytest.raises(ValueError, match="reranking needs the query"):
        place(ABCD, query=query, rerank=by_length)
    seen: list[str] = []
    place([Chunk("A")], query=" refund\n", rerank=lambda query, texts: seen.append(query) or [1.0])  # type: ignore[func-returns-value]
    assert seen == ["refund"]
