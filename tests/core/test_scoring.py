"""The rerank step takes any scorer and checks what it says."""

import asyncio
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from loops import Life

from edgeorder import Chunk, Dropped, EdgeOrderWarning, OrderRecord, Rerank, RerankError, aplace, place
from edgeorder.scoring import Scored, ascore_texts, score_texts

ABCD = [Chunk(text, score=1 - i / 10) for i, text in enumerate("ABCD")]


def returning(*scores: Any) -> Any:
    """Return a scorer that gives these scores."""

    def scorer(query: str, texts: list[str]) -> Any:
        assert query == "q"
        assert texts == [chunk.text for chunk in ABCD]
        return list(scores)

    return scorer


@pytest.mark.case(5)
def test_chunks_are_ranked_by_the_scorer() -> None:
    """The scorer's order replaces the retriever's; both scores are in the record."""
    placement = place(ABCD, query="q", rerank=returning(0.1, 0.9, -3, 2), order="relevance")
    assert placement.apply("ABCD") == ["D", "B", "A", "C"]
    assert [(c.score, c.rerank_score) for c in placement.record.chunks] == [(1, 0.1), (0.9, 0.9), (0.8, -3), (0.7, 2)]
    assert "returning" in (placement.record.scorer or "")


@pytest.mark.case(97)
def test_only_bodies_are_scored() -> None:
    """What the item template adds is not sent to the scorer."""
    seen: list[str] = []
    chunk = Chunk("body", head="title: ", tail="!")
    place([chunk], query="q", rerank=lambda query, texts: seen.extend(texts) or [1.0])  # type: ignore[func-returns-value]
    assert seen == ["body"]


@pytest.mark.case(72)
def test_all_are_scored_before_any_is_cut() -> None:
    """The best of fifty is kept by top_n=3 wherever it stood."""
    chunks = [Chunk(f"text {i}") for i in range(50)]
    placement = place(
        chunks,
        query="q",
        rerank=lambda query, texts: [float(t == "text 37") for t in texts],
        top_n=3,
        order="relevance",
    )
    assert placement.indices == (37, 0, 1)


def test_ties_keep_the_order_that_they_came_in() -> None:
    """Equal scores do not shuffle, on top of whatever `rank_by` said."""
    placement = place(ABCD, query="q", rerank=returning(1, 1, 1, 2), order="relevance")
    assert placement.apply("ABCD") == ["D", "A", "B", "C"]
    chunks = [Chunk("x", score=0.1), Chunk("y", score=0.3), Chunk("z", score=0.2)]
    with pytest.warns(EdgeOrderWarning, match="gave all 3 texts the same score, 1; their order was kept"):
        placement = place(chunks, query="q", rerank=lambda q, t: [1, 1, 1], rank_by="score", order="relevance")
    assert placement.indices == (1, 2, 0)


@pytest.mark.case(21)
def test_min_score_judges_by_the_scorer_on_the_scale_that_is_named() -> None:
    """Raw by default; as sigmoid when said so, and the threshold itself is kept."""
    scorer = returning(-8.3, -1.2, 7.1, 0.0)
    assert len(place(ABCD, query="q", rerank=scorer)) == 4
    assert place(ABCD, query="q", rerank=Rerank(scorer, scale="sigmoid"), min_score=0.5, order="relevance").indices == (
        2,
        3,
    )
    placement = place(ABCD, query="q", rerank=scorer, min_score=-2, order="relevance")
    assert placement.dropped == (Dropped(0, 4, "min_score"),)
    with pytest.warns(EdgeOrderWarning, match=r"min_score=0\.5 .* run from -8\.3 to 7\.1: .* scale='sigmoid'"):
        placement = place(ABCD, query="q", rerank=scorer, min_score=0.5, order="relevance")
    assert placement.indices == (2,)
    assert place(ABCD, query="q", rerank=Rerank(scorer, scale="raw"), min_score=0.5).indices == (2,)
    assert len(place(ABCD, query="q", rerank=returning(0.2, 0.6, 1.0, 0.0), min_score=0.5)) == 2


@pytest.mark.parametrize("scale", [-800.0, 800.0])
def test_the_sigmoid_never_overflows(scale: float) -> None:
    """Extreme logits have a sigmoid too."""
    assert Rerank(returning(), scale="sigmoid").scaled(scale) == pytest.approx(float(scale > 0))


@pytest.mark.parametrize("query", [None, ""])
def test_a_scorer_needs_the_query(query: str | None) -> None:
    """Without a query the error names the ways to pass one."""
    with pytest.raises(ValueError, match=r"EdgeOrderRetriever.*query_str"):
        place(ABCD, query=query, rerank=returning(1, 2, 3, 4))


def test_nothing_to_rank_loads_no_model() -> None:
    """An empty list never reaches the scorer."""

    def never(query: str, texts: list[str]) -> list[float]:
        raise AssertionError

    assert place([], query="q", rerank=never).indices == ()
    assert asyncio.run(aplace([], rerank=never)).indices == ()


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([1.0, 2.0], "returned 2 scores for 4 texts"),
        ("1234", "must return one number for each text"),
        (None, "must return one number for each text, not None"),
        ([None] * 4, "no usable score for any of 4 texts"),
        ([float("nan")] * 4, "no usable score for any of 4 texts"),
    ],
)
def test_unusable_scores_are_an_error(scores: Any, message: str) -> None:
    """A scorer that does not give one number for each text is named."""
    with pytest.raises(RerankError, match=message):
        place(ABCD, query="q", rerank=lambda query, texts: scores)


@pytest.mark.case(59)
def test_a_score_that_is_no_number_ranks_last_with_a_warning() -> None:
    """One NaN does not spoil the others."""
    with pytest.warns(EdgeOrderWarning, match="no usable score for 1 of 4 texts"):
        placement = place(ABCD, query="q", rerank=returning(0.1, float("nan"), 0.3, 0.2), order="relevance")
    assert placement.apply("ABCD") == ["C", "D", "A", "B"]


def test_arrays_are_scores_too() -> None:
    """What has `tolist`, in shape (n,) or (n, 1), is read as numbers."""

    class Column:
        def tolist(self) -> list[list[float]]:
            return [[0.1], [0.4], [0.3], [0.2]]

    assert place(ABCD, query="q", rerank=lambda q, t: Column(), order="relevance").indices == (1, 2, 3, 0)


@pytest.mark.parametrize("pair", [tuple, list])
def test_index_and_score_pairs_are_scores_too(pair: Any) -> None:
    """A scorer may answer with (index, score) pairs in any order."""
    pairs = [pair((2, 0.1)), pair((0, 0.3)), pair((3, 0.9)), pair((1, 0.2))]
    assert place(ABCD, query="q", rerank=lambda q, t: pairs, order="relevance").indices == (3, 0, 1, 2)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(0, 0.1), (0, 0.2), (1, 0.3), (2, 0.4)], r"must score each of 0..3 once, not \[0, 0, 1, 2\]"),
        ([(1, 0.1), (2, 0.2), (3, 0.3), (4, 0.4)], r"not \[1, 2, 3, 4\]"),
        ([(0.5, 0.1)] * 4, r"or \(index, score\) pairs.*relevant_label"),
        ([(1, 2, 3)] * 4, "relevant_label"),
        ([0.1, (1, 0.2), 0.3, 0.4], "one number for each text"),
    ],
)
def test_pairs_are_checked(pairs: Any, message: str) -> None:
    """Repeated or invented indices, and rows of several scores, are errors that say what is wrong."""
    with pytest.raises(RerankError, match=message):
        place(ABCD, query="q", rerank=lambda q, t: pairs)


def test_detail_goes_into_the_record_and_annotations() -> None:
    """What a scorer says beyond its score is kept with the chunk it is about."""
    detail = [{"why": text} for text in "ABCD"]
    placement = place(ABCD, query="q", rerank=lambda q, t: Scored([1, 4, 3, 2], detail), order="relevance")
    assert [chunk.rerank_detail for chunk in placement.record.placed] == [{"why": text} for text in "BCDA"]
    assert placement.record.placed[0].annotation()["rerank_detail"] == {"why": "B"}
    assert OrderRecord.from_json(placement.record.to_json()) == placement.record


@pytest.mark.parametrize("detail", [["a"], "abcd", [float("nan")] * 4, [object()] * 4])
def test_detail_is_checked(detail: Any) -> None:
    """A detail that is not one JSON value for each text is an error, not a broken record."""
    with pytest.raises(RerankError, match="detail"):
        place(ABCD, query="q", rerank=lambda q, t: Scored([1, 2, 3, 4], detail))


def test_chunks_without_text_keep_their_place() -> None:
    """An image without text is not sent to the scorer; it keeps its rank, and the record says so."""
    chunks = [Chunk("A"), Chunk(" \n"), Chunk("C"), Chunk("D")]
    seen: list[str] = []

    def scorer(query: str, texts: list[str]) -> list[float]:
        seen.extend(texts)
        return [0.1, 0.2, 0.3]

    placement = place(chunks, query="q", rerank=scorer, order="relevance")
    assert seen == ["A", "C", "D"]
    assert placement.indices == (3, 1, 2, 0)
    assert [chunk.rerank_score for chunk in placement.record.chunks] == [0.1, None, 0.2, 0.3]
    assert "1 chunks without text were not sent to the scorer and kept their place" in placement.record.notes


def test_nothing_but_blank_chunks_is_not_scored() -> None:
    """Without any text there is nothing to score: the order stays, and the record says why."""
    placement = place([Chunk(""), Chunk(" ")], query="q", rerank=returning())
    assert placement.indices == (0, 1)
    assert placement.record.notes[0] == "no chunk has any text to score; the order before it was kept"


def test_lone_surrogates_are_cleaned_for_scoring_only() -> None:
    """A scorer gets text that can be encoded; the chunk keeps what it had."""
    seen: list[str] = []

    def scorer(query: str, texts: list[str]) -> list[float]:
        seen.extend([query, *texts])
        return [1.0]

    placement = place([Chunk("a\ud800b")], query="q\udfff", rerank=scorer)
    assert seen == ["q?", "a?b"]
    assert placement.block.text == "a\ud800b"


def test_a_warning_made_an_error_stays_itself() -> None:
    """`on_error` is about scorers: it does not swallow the caller's own strictness."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", EdgeOrderWarning)
        with pytest.raises(EdgeOrderWarning, match="same score"):
            place(ABCD, query="q", rerank=Rerank(returning(1, 1, 1, 1), on_error="input_order"))


def test_a_failing_scorer_raises_by_default() -> None:
    """The error says which scorer failed and how."""

    def broken(query: str, texts: list[str]) -> list[float]:
        raise RuntimeError("CUDA out of memory")

    with pytest.raises(RerankError, match=r"scorer .*broken failed with RuntimeError: CUDA out of memory"):
        place(ABCD, query="q", rerank=broken)


@pytest.mark.case(36)
def test_a_failing_scorer_may_leave_the_order_as_it_was() -> None:
    """With `on_error="input_order"` the earlier ranking stays, with a warning and the reason in the record."""

    def broken(query: str, texts: list[str]) -> list[float]:
        raise TimeoutError("too slow")

    with pytest.warns(EdgeOrderWarning, match="too slow"):
        placement = place(ABCD, query="q", rerank=Rerank(broken, on_error="input_order"), order="relevance")
    assert placement.indices == (0, 1, 2, 3)
    assert placement.record.notes[0] == "rerank failed, the order before it was kept: TimeoutError: too slow"
    assert (placement.record.chunks[0].score, placement.record.chunks[0].rerank_score) == (1.0, None)
    assert placement.record.scorer is None


async def _coroutine(query: str, texts: list[str]) -> list[float]:
    await asyncio.sleep(0)
    return [0.1, 0.4, 0.3, 0.2]


class _Twins:
    def __call__(self, query: str, texts: list[str]) -> list[float]:
        raise AssertionError("the async twin is there to be used")

    async def acall(self, query: str, texts: list[str]) -> list[float]:
        return await _coroutine(query, texts)


@pytest.mark.parametrize("scorer", [_coroutine, _Twins(), lambda query, texts: [0.1, 0.4, 0.3, 0.2]])
async def test_scorers_may_be_async(scorer: Any) -> None:
    """A coroutine function, an object with `acall`, and a plain function give the same placement in async use."""
    assert (await aplace(ABCD, query="q", rerank=scorer, order="relevance")).indices == (1, 2, 3, 0)


def test_an_async_scorer_in_a_sync_call_is_a_clear_error() -> None:
    """A coroutine is not a list of scores, and is not left unawaited."""
    with pytest.raises(RerankError, match="is async; use the async methods"):
        place(ABCD, query="q", rerank=_coroutine)


@pytest.mark.case(42)
async def test_scoring_never_blocks_the_event_loop() -> None:
    """While a scorer blocks its thread, the loop answers it."""
    life = Life()

    def slow(query: str, texts: list[str]) -> list[float]:
        life.ask()
        return [1, 2, 3, 4]

    assert (await aplace(ABCD, query="q", rerank=slow, order="relevance")).indices == (3, 2, 1, 0)
    assert (await aplace(ABCD, query="q", rerank=Rerank(slow, timeout=300), order="relevance")).indices == (3, 2, 1, 0)
    assert life.signs == 2


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"scorer": 3}, TypeError, "rerank must be a callable from .* to scores, not 3$"),
        ({"scorer": "a/model"}, TypeError, "not 'a/model'. A model's name goes to CrossEncoderScorer or Onnx"),
        ({"scorer": Chunk}, TypeError, r"^rerank is the class Chunk, not an object made from it: Chunk\(\.\.\.\)$"),
        ({"scorer": print, "scale": "softmax"}, ValueError, "Rerank.scale='softmax' is not one of: raw, sigmoid"),
        (
            {"scorer": print, "on_error": "ignore"},
            ValueError,
            "Rerank.on_error='ignore' is not one of: raise, input_order",
        ),
    ],
)
def test_impossible_rerank_settings_are_refused(settings: Any, error: type[Exception], message: str) -> None:
    """A value out of range or of the wrong type is named at construction."""
    with pytest.raises(error, match=message):
        Rerank(**settings)


@pytest.mark.parametrize("method", ["compress_documents", "postprocess_nodes"])
def test_a_framework_s_reranker_is_told_where_it_goes(method: str) -> None:
    """It hands on documents, so it is no scorer; and however long it is in print, the error ends with the next step."""

    class Long:
        def __repr__(self) -> str:
            return "Reranker(" + "prompt " * 1000 + ")"

    setattr(Long, method, print)
    with pytest.raises(TypeError, match=r"not Reranker\(.{71}\. It hands on documents, not scores: put it before"):
        Rerank(Long())


@pytest.mark.filterwarnings("ignore:.*gave all 2 texts the same score")
def test_plain_texts_are_scored_without_chunks() -> None:
    """What is scored need not be a chunk: texts in, scores by their index out, blank ones left alone."""
    texts = ["refund", " ", "trains"]

    def scorer(query: str, sent: list[str]) -> list[float]:
        return [float(len(text)) for text in sent]

    found = score_texts(Rerank(scorer), "q", texts)
    assert found.scores == [6.0, None, 6.0]
    assert found.blank == {1}
    assert asyncio.run(ascore_texts(Rerank(scorer), "q", texts, ties=False)).scores == found.scores
    assert score_texts(Rerank(scorer), "q", []).scores is None


@pytest.mark.parametrize("scorer", [_coroutine, _Twins(), lambda query, texts: [0.1, 0.4, 0.3, 0.2]])
async def test_many_calls_finish_on_one_thread(scorer: Any) -> None:
    """200 calls at once need no more of the loop's own executor than one thread."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    calls = [aplace(ABCD, query="q", rerank=scorer, order="relevance") for _ in range(200)]
    placements = await asyncio.wait_for(asyncio.gather(*calls), 60)
    assert {placement.indices for placement in placements} == {(1, 2, 3, 0)}


def test_pairs_for_some_of_the_texts_leave_the_others_unscored() -> None:
    """A scorer that answers for its best only is taken at its word; the rest ranks last, and the record says so."""
    placement = place(ABCD, query="q", rerank=lambda q, t: [(3, 0.2), (1, 0.9)], order="relevance")
    assert placement.apply("ABCD") == ["B", "D", "A", "C"]
    assert [chunk.rerank_score for chunk in placement.record.chunks] == [None, 0.9, None, 0.2]
    assert any("scored 2 of 4 texts; the others rank last" in note for note in placement.record.notes)


def test_what_a_scorer_left_out_on_purpose_is_no_fault() -> None:
    """A `Scored` may hold None; its notes go into the record, and nothing is warned of."""
    said = Scored([0.1, None, 0.3, None], notes=["two were not worth it"])
    placement = place(ABCD, query="q", rerank=lambda q, t: said, order="relevance")
    assert placement.apply("ABCD") == ["C", "A", "B", "D"]
    assert "two were not worth it" in placement.record.notes


@pytest.mark.parametrize("odd", [10**400, Decimal("sNaN"), "0.9", 1j, object()])
@pytest.mark.filterwarnings("ignore:.*no usable score for 1 of 4 texts")
def test_odd_scores_are_unscored(odd: Any) -> None:
    """What cannot be a float spoils nothing but itself."""
    assert place(ABCD, query="q", rerank=returning(0.1, odd, 0.3, 0.2), order="relevance").apply("ABCD") == list("CDAB")


class _Whole:
    """A whole number of another library."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


def test_indices_of_other_libraries_are_indices() -> None:
    """Pairs may hold what counts as a whole number, as numpy's do."""
    pairs = [(_Whole(1), 0.9), (_Whole(0), 0.1), (_Whole(3), 0.3), (_Whole(2), 0.2)]
    assert place(ABCD, query="q", rerank=lambda q, t: pairs, order="relevance").indices == (1, 3, 2, 0)


@pytest.mark.parametrize("on_error", ["raise", "input_order"])
def test_no_secret_leaves_with_an_error(on_error: Any, recwarn: pytest.WarningsRecorder) -> None:
    """A key in a scorer's error stands in no message, warning, note, record or traceback."""
    key = "sk-planted0123456789"

    def leaking(query: str, texts: list[str]) -> list[float]:
        try:
            raise ValueError(f"Illegal header value b'Bearer {key}'")
        except ValueError as error:
            raise OSError("the request failed: Authorization: Bearer " + key) from error

    shown = ""
    try:
        shown = place(ABCD, query="q", rerank=Rerank(leaking, on_error=on_error)).record.to_json()
    except RerankError:
        shown = traceback.format_exc()
    shown += str([str(one.message) for one in recwarn])
    assert "the request failed" in shown
    assert "planted" not in shown
