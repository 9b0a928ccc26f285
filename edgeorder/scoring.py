"""The rerank step: ask a scorer, or one after the other, sync or async, and check what each says."""

import inspect
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from edgeorder.alerts import warn
from edgeorder.checks import seconds, whole_number
from edgeorder.chunk import ChunkView
from edgeorder.errors import EdgeOrderWarning, RerankError, ReviewNeeded, bad_choice
from edgeorder.guard import aguarded, guarded
from edgeorder.message_parts import Wordless
from edgeorder.reranked import Reranked as Reranked
from edgeorder.reranked import Stage
from edgeorder.scorer import as_scorer, scorer_name
from edgeorder.scorers.lexical import LexicalScorer
from edgeorder.scores import Said, read_scores, sigmoid
from edgeorder.scores import Scored as Scored
from edgeorder.scores import Scorer as Scorer
from edgeorder.stopping import Stop, current, is_tireless
from edgeorder.unicode import clean

_NO_TEXT = "no chunk has any text to score; the order before it was kept"
_NO_QUESTION = "the question has no text to score by; the order before it was kept"


@dataclass(frozen=True)
class Rerank:
    """How chunks are scored anew.

    Args:
        scorer: Any callable from a query and a list of texts to one number for each text; one of `edgeorder.rerank`; a
            `CrossEncoder`, LangChain's `BaseCrossEncoder`, or another object with `predict(pairs)` or `score(pairs)`.
            Or a list of them, a cascade: each scores the best of the one before, so that a strong one sees only few.
        scale: What `min_score` compares with: `"raw"` scores, or their `"sigmoid"`. Ranks always come from raw scores.
            None is raw, with a warning where `min_score` looks like a probability and the scores do not.
        on_error: `"raise"`, or `"input_order"` to go on with the order before the scorer that failed; the record says
            why.
        timeout: Seconds, for all scorers together, each time that they are asked; None to wait as long as it takes. At
            the deadline the caller goes on as `on_error` says. A scorer that is async, speaks HTTP or works in batches
            is ended; the record says where another still runs, and it is not asked again before it has ended.
        keep: How many of the best go on to the next scorer of a cascade: a number, or one for each scorer but the last.

    Raises:
        ValueError: For an unknown name, a number that is too small, or a cascade without `keep`.
        TypeError: If a scorer is nothing that scores, or for a number that is none.
    """

    scorer: Any
    scale: Literal["raw", "sigmoid"] | None = None
    on_error: Literal["raise", "input_order"] = "raise"
    timeout: float | None = None
    keep: int | Sequence[int] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.scorer, list):
            object.__setattr__(self, "scorer", tuple(self.scorer))
        for scorer in self.scorers:
            as_scorer(scorer)
        if self.scale not in (None, "raw", "sigmoid"):
            raise bad_choice("Rerank.scale", self.scale, ("raw", "sigmoid"))
        if self.on_error not in ("raise", "input_order"):
            raise bad_choice("Rerank.on_error", self.on_error, ("raise", "input_order"))
        if self.timeout is not None:
            object.__setattr__(self, "timeout", seconds("Rerank.timeout", self.timeout))
        if len(self.keeps) != len(self.scorers) - 1:
            raise ValueError(
                f"Rerank.keep={self.keep!r} must say how many of the best go on to the next scorer, and there are "
                f"{len(self.scorers)} scorers: one number for each but the last"
            )

    @property
    def scorers(self) -> tuple[Any, ...]:
        """The scorers, in the order in which they are asked."""
        return self.scorer if isinstance(self.scorer, tuple) else (self.scorer,)

    @property
    def keeps(self) -> tuple[int, ...]:
        """How many of the best go on from each scorer but the last."""
        numbers = () if self.keep is None else self.keep if isinstance(self.keep, list | tuple) else (self.keep,)
        return tuple(whole_number("Rerank.keep", number, least=1) for number in numbers)

    @property
    def name(self) -> str:
        """The name under which the step is recorded."""
        names = [scorer_name(scorer) for scorer in self.scorers]
        more = [f", then {name} for the best {keep}" for name, keep in zip(names[1:], self.keeps, strict=True)]
        return names[0] + "".join(more)

    def check_scale(self, min_score: float, scores: Sequence[float | None]) -> None:
        """Warn if `min_score` looks like a probability, raw scores do not, and nobody said which is meant."""
        known = [score for score in scores if score is not None]
        if self.scale is None and 0 < min_score < 1 and known and (min(known) < 0 or max(known) > 1):
            warn(
                f"min_score={min_score} was compared with raw scores, which run from {min(known):.3g} to "
                f"{max(known):.3g}: they are no probabilities. Say Rerank(..., scale='sigmoid') to compare with those, "
                "or scale='raw' if this is meant."
            )

    def scaled(self, score: float | None) -> float | None:
        """Return a raw score on the scale that `min_score` is given in."""
        return score if score is None or self.scale != "sigmoid" else sigmoid(score)


def as_rerank(rerank: Rerank | Scorer | None) -> Rerank | None:
    """Return the rerank step that was asked for; a bare scorer is `Rerank(scorer)`."""
    return rerank if rerank is None or isinstance(rerank, Rerank) else Rerank(rerank)


def score(rerank: Rerank, query: str | None, view: ChunkView) -> Reranked:
    """Score every chunk's body for the query, see `score_texts`."""
    return score_texts(rerank, query, [view.text(index) for index in range(len(view))])


async def ascore(rerank: Rerank, query: str | None, view: ChunkView) -> Reranked:
    """The same, never blocking the event loop, see `ascore_texts`."""
    return await ascore_texts(rerank, query, [view.text(index) for index in range(len(view))])


def judged(rerank: Rerank | None, query: str | None, texts: Sequence[str]) -> Sequence[float | None]:
    """Return the scores of parts of chunks, by the scorer of the call or by BM25; none if it failed and may."""
    return score_texts(rerank or _bm25(), query, texts, ties=False).scores or ()


async def ajudged(rerank: Rerank | None, query: str | None, texts: Sequence[str]) -> Sequence[float | None]:
    """The same, never blocking the event loop."""
    return (await ascore_texts(rerank or _bm25(), query, texts, ties=False)).scores or ()


def _bm25() -> Rerank:
    return Rerank(LexicalScorer())


def score_texts(rerank: Rerank, query: str | None, texts: Sequence[str], *, ties: bool = True) -> Reranked:
    """Score every text for the query.

    Args:
        rerank: The step.
        query: The question.
        texts: What is scored; blank ones are left out.
        ties: Whether equal scores throughout are worth a warning.

    Raises:
        ValueError: If there is no query.
        RerankError: If a scorer fails or gives unusable scores, unless `on_error` says otherwise.
    """
    steps = _steps(rerank, query, texts, ties)
    try:
        asked = next(steps)
        while True:
            try:
                found = guarded(_sync, asked)
            except Exception as error:  # noqa: BLE001 - on_error decides, whatever a scorer raises
                found = _Raised(error)
            asked = steps.send(found)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def ascore_texts(rerank: Rerank, query: str | None, texts: Sequence[str], *, ties: bool = True) -> Reranked:
    """The same, never blocking the event loop: a scorer's `acall`, the awaited scorer, or a thread."""
    from edgeorder.calling import acall

    steps = _steps(rerank, query, texts, ties)
    try:
        asked = next(steps)
        while True:
            try:
                found = await aguarded(acall(*asked))
            except Exception as error:  # noqa: BLE001 - on_error decides, whatever a scorer raises
                found = _Raised(error)
            asked = steps.send(found)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


class _Asked(NamedTuple):
    """A question to a scorer, see `edgeorder.calling.call`."""

    scorer: Any
    query: str
    texts: Sequence[str]
    stop: Stop
    key: object


class _Raised(NamedTuple):
    """What a scorer raised instead of an answer."""

    error: Exception


def _sync(asked: _Asked) -> Any:
    from edgeorder.calling import call

    found = call(*asked)
    if inspect.isawaitable(found):
        getattr(found, "close", lambda: None)()
        raise RerankError(
            f"scorer {scorer_name(asked.key)} is async; use the async methods, or give it a sync __call__"
        )
    return found


def _steps(rerank: Rerank, query: str | None, texts: Sequence[str], ties: bool) -> Generator[_Asked, Any, Reranked]:
    """Yield the questions, get an answer to each, and return what was found: what both faces share."""
    wordless = isinstance(query, Wordless)
    query, sent = _to_send(query, texts)
    if not sent or wordless:
        return Reranked(None, _NO_QUESTION if sent else _NO_TEXT)
    if rerank.timeout is not None and is_tireless():
        from edgeorder.calling import await_free

        await_free(rerank.scorers, rerank.timeout)
    stop = Stop(rerank.timeout, current())
    result = Reranked(None, None, frozenset(range(len(texts))) - sent.keys())
    left = list(sent)
    for scorer, keep in zip(rerank.scorers, (*rerank.keeps, None), strict=True):
        started, name, said = time.perf_counter(), scorer_name(scorer), None
        found = yield _Asked(as_scorer(scorer), query, [sent[index] for index in left], stop, scorer)
        try:
            if isinstance(found, _Raised):
                raise found.error
            said = _checked(name, found, len(left), ties)
        except Exception as error:  # noqa: BLE001 - on_error decides, whatever a scorer raises
            failure = error
        took = time.perf_counter() - started
        if said is None:
            return _failed(rerank, name, failure, result, took)
        if isinstance(scorer, LexicalScorer) and (note := scorer.note_on(said.scores)):
            said = said._replace(notes=(*said.notes, note))
        result = _with_stage(result, name, left, said, took, len(texts))
        left = result.stages[-1].order(left)[:keep]
    return result


def _to_send(query: str | None, texts: Sequence[str]) -> tuple[str, dict[int, str]]:
    """Return the query and the texts to score by index: those that hold any text, cleaned."""
    if not query or not (query.strip() or isinstance(query, Wordless)):
        raise ValueError(
            "reranking needs the query. LangChain: use EdgeOrderRetriever or ContextualCompressionRetriever, which "
            "pass it on, or give query=...; LlamaIndex: query_str=... or query_bundle=...; core: place(..., query=...)."
        )
    return clean(query.strip()), {index: clean(text) for index, text in enumerate(texts) if text.strip()}


def _checked(name: str, found: Any, n: int, ties: bool) -> Said:
    """Return what a scorer said, once it is one finite number for each text that it did not leave out."""
    said = read_scores(name, found, n)
    known = [number for number in said.scores if number is not None]
    unusable = n - len(known) - said.left
    if not known and unusable:
        raise RerankError(f"scorer {name} gave no usable score for any of {n} texts: {found!r:.80}")
    if unusable:
        warn(f"scorer {name} gave no usable score for {unusable} of {n} texts; they rank last")
    elif ties and len(known) > 1 and max(known) == min(known):
        warn(f"scorer {name} gave all {len(known)} texts the same score, {known[0]:g}; their order was kept")
    return said


def _with_stage(result: Reranked, name: str, left: list[int], said: Said, seconds: float, n: int) -> Reranked:
    """Return a result with what one more scorer said of the texts that were left."""
    by_index = dict(zip(left, said.scores, strict=True))
    return result._replace(
        scores=[by_index.get(index) for index in range(n)],
        detail={**result.detail, **dict(zip(left, said.detail, strict=False))},
        notes=result.notes + said.notes,
        stages=(*result.stages, Stage(name, seconds, by_index, tuple(left[at] for at in said.order))),
        decision=said.decision or result.decision,
    )


def _failed(rerank: Rerank, name: str, error: Exception, result: Reranked, seconds: float) -> Reranked:
    """Raise what a scorer raised, or keep the order before it; without the secrets that may stand in the message."""
    # A warning that the caller made an error, or a call for a person, is no failure of the scorer.
    if isinstance(error, EdgeOrderWarning | ReviewNeeded):
        raise error
    from edgeorder.masking import message_of, presentable

    cause, message = presentable(error), message_of(error)
    if rerank.on_error == "raise":
        if isinstance(error, RerankError | ImportError) and cause is not None:
            raise error
        raise RerankError(f"scorer {name} failed with {type(error).__name__}: {message}") from cause
    failure = f"rerank failed, the order before it was kept: {type(error).__name__}: {message}"
    if result.stages:
        failure = f"{name} failed, the order of {result.stages[-1].scorer} was kept: {type(error).__name__}: {message}"
    warn(failure)
    return result._replace(failure=failure, stages=(*result.stages, Stage(name, seconds, {}, (), failure)))
