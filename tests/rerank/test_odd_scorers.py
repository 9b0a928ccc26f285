"""What scorers of others do: they raise what no future takes, cancel themselves, and say more than anyone wants."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import numpy as np
import pytest

from edgeorder import Budget, Chunk, EdgeOrderWarning, OrderRecord, Placement, Rerank, RerankError, aplace, place
from edgeorder.checks import seconds, share
from edgeorder.masking import message_of, presentable
from edgeorder.scorers import models
from edgeorder.scores import Scored

ABC = [Chunk(text) for text in ("alpha", "beta", "gamma")]
NO_ANSWER = 20  # seconds, after which a test says that nobody answered


def awaited(work: Awaitable[Placement]) -> Placement:
    """Return what comes of a coroutine; a TimeoutError where nothing does."""
    return asyncio.run(asyncio.wait_for(work, NO_ANSWER))  # type: ignore[arg-type]


def raising(error: BaseException) -> Callable[..., Any]:
    """Return a scorer that raises this."""

    def scorer(query: str, texts: list[str]) -> Any:
        raise error

    return scorer


def exhausted(query: str, texts: list[str]) -> Any:
    """Ask an iterator that has nothing left, as a scorer that replays what was recorded does."""
    nothing: Iterator[list[float]] = iter(())
    return next(nothing)


async def cancelling(query: str, texts: list[str]) -> Any:
    """Let the cancellation of own work escape."""
    inner = asyncio.ensure_future(asyncio.sleep(60))
    await asyncio.sleep(0)
    inner.cancel()
    await inner


class Untellable(Exception):  # noqa: N818 - an error of somebody else's
    """An error whose class makes no message of it."""

    def __str__(self) -> str:
        return self.args[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize("timeout", [None, 60.0])
@pytest.mark.parametrize("scorer", [exhausted, raising(asyncio.CancelledError()), raising(Untellable(7))])
def test_whatever_a_scorer_raises_is_its_failure(scorer: Any, timeout: float | None) -> None:
    """Sync or async, with a deadline or without: nobody waits for ever, and `on_error` is kept to."""
    for on_error in ("raise", "input_order"):
        rerank = Rerank(scorer, on_error=on_error, timeout=timeout)
        runs: list[Callable[[], Placement]] = [
            lambda step=rerank: place(ABC, query="q", rerank=step),  # type: ignore[misc]
            lambda step=rerank: awaited(aplace(ABC, query="q", rerank=step)),  # type: ignore[misc]
        ]
        for run in runs:
            if on_error == "raise":
                with pytest.raises(RerankError, match="failed with"):
                    run()
            else:
                with pytest.warns(EdgeOrderWarning, match="the order before it was kept"):
                    assert run().indices == (0, 1, 2)


async def test_a_scorer_that_cancels_itself_cancels_nobody_else() -> None:
    """A coroutine that lets a cancellation of its own escape has failed; its caller was not cancelled."""
    with pytest.raises(RerankError, match="failed with RuntimeError: its own work was cancelled"):
        await aplace(ABC, query="q", rerank=cancelling)
    with pytest.warns(EdgeOrderWarning, match="its own work was cancelled"):
        kept = await aplace(ABC, query="q", rerank=Rerank(cancelling, on_error="input_order", timeout=30))
    assert kept.indices == (0, 1, 2)


async def test_whoever_is_cancelled_meanwhile_still_is() -> None:
    """The cancellation of the caller is no failure of a scorer."""
    begun = asyncio.Event()

    async def waiting(query: str, texts: list[str]) -> Any:
        begun.set()
        await asyncio.sleep(60)

    task = asyncio.create_task(aplace(ABC, query="q", rerank=Rerank(waiting, on_error="input_order")))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    "settings",
    [
        {"order": lambda n: exhausted("", [])},
        {"budget": Budget(100, counter=lambda text: exhausted("", []))},
    ],
)
def test_nor_does_another_stage_wait_for_ever(settings: dict[str, Any]) -> None:
    """What a callable of the user's raises in a thread comes back from it."""
    with pytest.raises(Exception, match="StopIteration"):
        awaited(aplace(ABC, **{"budget": Budget(100, counter=len), **settings}))


def test_a_long_message_is_not_kept_whole() -> None:
    """A page of HTML in an error fills neither warning nor record."""
    with pytest.warns(EdgeOrderWarning) as given:
        kept = place(ABC, query="q", rerank=Rerank(raising(ValueError("x" * 10**6)), on_error="input_order"))
    assert len(kept.record.to_json()) < 3000
    assert len(str(given[0].message)) < 1000
    assert message_of(ValueError("short")) == "short"
    assert message_of(Untellable(7)) == "without a message (TypeError)"
    assert presentable(Untellable(7)) is None


@pytest.mark.parametrize(
    ("said", "indices"),
    [
        ([np.array([0.1]), np.array([0.3]), np.array([0.2])], (1, 2, 0)),
        ([np.array(0.1), np.array(0.3), np.array(0.2)], (1, 2, 0)),
        ([np.array([0, 0.1]), np.array([1, 0.3]), np.array([2, 0.2])], None),
    ],
)
def test_an_array_for_each_text_is_read_as_a_row(said: Any, indices: tuple[int, ...] | None) -> None:
    """As a model gives it that is asked text by text; two numbers for each need to be told apart."""
    if indices is None:
        with pytest.raises(RerankError, match="relevant_label"):
            place(ABC, query="q", rerank=lambda query, texts: said)
    else:
        assert place(ABC, query="q", rerank=lambda query, texts: said, order="relevance").indices == indices


def test_what_a_scorer_notes_is_recorded_as_it_is_read_again() -> None:
    """One note is no list of letters, a tuple comes back as the list that it is in JSON."""
    detail = [{"span": (1, 2), 3: "three"}] * 3

    def scorer(query: str, texts: list[str]) -> Scored:
        return Scored([1, 2, 3], detail, "one note")

    record = place(ABC, query="q", rerank=scorer).record
    assert "one note" in record.notes
    assert OrderRecord.from_json(record.to_json()) == record
    assert record.chunks[0].rerank_detail == {"span": [1, 2], "3": "three"}
    json.dumps(record.to_dict(), allow_nan=False)


@pytest.mark.parametrize("said", [{"notes": [object()]}, {"decision": 5}])
def test_what_is_no_word_is_no_note(said: dict[str, Any]) -> None:
    """It would make the record unreadable, long after the call."""
    with pytest.raises(RerankError, match="must say notes and decision in words"):
        place(ABC, query="q", rerank=lambda query, texts: Scored([1, 2, 3], **said))


@pytest.mark.parametrize(
    ("check", "value", "error"),
    [
        (seconds, 10**400, ValueError),
        (seconds, 1e300, ValueError),
        (seconds, float("nan"), ValueError),
        (seconds, 3j, TypeError),
        (seconds, None, TypeError),
        (share, "1", TypeError),
        (share, True, TypeError),
        (share, 10**400, ValueError),
        (share, float("nan"), ValueError),
    ],
)
def test_an_odd_number_is_named(check: Any, value: Any, error: type[Exception]) -> None:
    """Whatever was given, the error is of the kind that is documented."""
    with pytest.raises(error, match="name"):
        check("name", value)


def test_numbers_of_numpy_are_numbers() -> None:
    """A setting that was computed is as good as one that was typed."""
    assert (seconds("name", np.float32(2.5)), seconds("name", np.int64(3))) == (2.5, 3.0)
    assert type(Rerank(len, timeout=np.int64(3)).timeout) is float  # type: ignore[arg-type]
    assert type(share("name", np.float64(0.5))) is float


def test_models_that_are_forgotten_while_one_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever loaded it gets it, and the next one loads it anew."""

    class Forgotten(dict[Any, Any]):
        """Models of which another thread forgets each as soon as it is there."""

        def __setitem__(self, key: Any, model: Any) -> None:
            super().__setitem__(key, model)
            self.clear()

    monkeypatch.setattr(models, "_models", Forgotten())
    assert [models.loaded("key", lambda number=number: number) for number in (1, 2)] == [1, 2]
