"""Where score, source and offset live in the metadata, and what ranking makes of them."""

from datetime import UTC, date, datetime

import pytest
from langchain_core.documents import Document

from edgeorder import EdgeOrderWarning
from langchain_edgeorder import EdgeOrder


def spelt_by(edge, documents):
    """Return the letter of each document as placed: the first one is A."""
    return "".join(chr(ord("A") + index) for index in edge.place(documents).indices)


def runs(edge, documents):
    """Return the input indices of each run."""
    found = {}
    for chunk in edge.place(documents).record.placed:
        found.setdefault(chunk.run, set()).add(chunk.index)
    return [run for number, run in found.items() if number is not None]


BY_SCORE = {"rank_by": "score", "order": "relevance"}
BY_SOURCE = {"reading": "source", "order": "relevance"}


def score(document):
    return document.metadata["deep"]["er"]["score"]


class TestScoreKey:
    """`score_key` is a name, names tried in order, a dotted path or a callable."""

    @pytest.mark.parametrize(
        ("key", "metadata"),
        [
            ("similarity", [{"similarity": 0.2}, {"similarity": 0.9}, {"similarity": 0.5}]),
            (["rrf", "similarity"], [{"similarity": 0.2}, {"similarity": 0.9}, {"similarity": 0.5}]),
            (
                ["rrf", "similarity"],
                [{"similarity": 3, "rrf": 0.2}, {"similarity": 2, "rrf": 0.9}, {"similarity": 1, "rrf": 0.5}],
            ),
            ("deep.er.score", [{"deep": {"er": {"score": s}}} for s in (0.2, 0.9, 0.5)]),
            (["x.y", "deep.er.score"], [{"deep": {"er": {"score": s}}} for s in (0.2, 0.9, 0.5)]),
            ("dotted.name", [{"dotted.name": s} for s in (0.2, 0.9, 0.5)]),
            (score, [{"deep": {"er": {"score": s}}} for s in (0.2, 0.9, 0.5)]),
        ],
    )
    def test_found(self, key, metadata, letters, spelt):
        """The documents are ranked by the score that the key finds."""
        edge = EdgeOrder(score_key=key, **BY_SCORE)
        assert spelt(edge.transform_documents(letters("ABC", *metadata))) == "BCA"
        assert [chunk.score for chunk in edge.place(letters("ABC", *metadata)).record.chunks] == [0.2, 0.9, 0.5]

    @pytest.mark.parametrize("name", ["relevance_score", "score"])
    def test_defaults(self, name, letters, spelt):
        """`relevance_score` and `score` are found without a setting."""
        documents = letters("ABC", {name: 0.2}, {name: 0.9}, {name: 0.5})
        assert spelt(EdgeOrder(**BY_SCORE).transform_documents(documents)) == "BCA"

    def test_relevance_score_comes_first(self, letters, spelt):
        """A reranker's `relevance_score` counts before the retriever's `score`."""
        pairs = [(0.1, 0.9), (0.2, 0.8), (0.3, 0.7)]
        documents = letters("ABC", *({"relevance_score": new, "score": old} for new, old in pairs))
        with pytest.warns(EdgeOrderWarning, match="sorted the other way"):
            assert spelt(EdgeOrder(**BY_SCORE).transform_documents(documents)) == "CBA"

    @pytest.mark.case(4)
    def test_one_key_for_all(self, letters, spelt):
        """A key that only some documents have gives way to one that all have: no two scales are mixed."""
        documents = letters("ABC", {"score": 0.5}, {"score": 0.9, "relevance_score": -3.0}, {"score": 0.7})
        assert spelt(EdgeOrder(**BY_SCORE).transform_documents(documents)) == "BCA"

    @pytest.mark.case(4)
    async def test_mixed_keys(self, letters, spelt):
        """Scores under different keys are not compared: one warning names the documents with none, the input order
        stays."""
        documents = letters("ABCD", {"score": 0.2}, {"relevance_score": 0.8}, {}, {"score": 0.9})
        with pytest.warns(EdgeOrderWarning, match=r"relevance_score, score.*documents \[2\] have none") as caught:
            assert spelt(EdgeOrder(**BY_SCORE).transform_documents(documents)) == "ABCD"
        assert len(caught) == 1
        with pytest.warns(EdgeOrderWarning, match=r"documents \[2\] have none"):
            assert spelt(await EdgeOrder(**BY_SCORE).atransform_documents(documents)) == "ABCD"

    def test_mixed_keys_matter_only_to_ranking_by_score(self, letters, spelt):
        """By default nothing is ranked by score, so mixed keys are no reason to warn."""
        documents = letters("ABCD", {"score": 0.2}, {"relevance_score": 0.8}, {}, {"score": 0.9})
        assert spelt(EdgeOrder().transform_documents(documents)) == "ABCD"

    @pytest.mark.parametrize("key", ["missing", None, ["a", "b"], lambda document: None])
    def test_no_score_at_all(self, key, letters, spelt):
        """Without any score the input order is the ranking, and a warning says so."""
        edge = EdgeOrder(score_key=key, **BY_SCORE)
        with pytest.warns(EdgeOrderWarning, match="found no score to rank by"):
            assert spelt(edge.transform_documents(letters("ABC", {"score": 1}, {"score": 2}, {"score": 3}))) == "ABC"

    def test_some_unscored(self, letters, spelt):
        """Documents without a usable score never stand above scored ones and keep their own order."""
        scores = (None, -3.0, float("nan"), -1.0, float("inf"), -8.0)
        documents = letters("ABCDEF", *({"score": score} for score in scores))
        assert spelt(EdgeOrder(**BY_SCORE).transform_documents(documents)) == "DBFACE"


class TestRankBy:
    """The list is best first unless told otherwise."""

    @pytest.mark.parametrize("scores", [(0.81, 14.2, 0.79, 9.1), (3, 1, 2, 0), (None, 1.0, None, 2.0)])
    def test_input_is_trusted(self, scores, letters, spelt):
        """By default no list is sorted, however its scores look."""
        documents = letters("ABCD", *({"score": score} for score in scores))
        assert spelt(EdgeOrder(order="relevance").transform_documents(documents)) == "ABCD"

    def test_distance(self, letters, spelt):
        """rank_by="distance" puts the smallest first and those without one last."""
        documents = letters("ABCD", {"d": 0.41}, {}, {"d": 0.30}, {"d": 0.32})
        edge = EdgeOrder(rank_by="distance", score_key="d", order="relevance")
        assert spelt(edge.transform_documents(documents)) == "CDAB"

    @pytest.mark.case(6)
    def test_distances_taken_for_scores(self, letters, spelt):
        """A store's distances ranked as scores turn the list round, and a warning names rank_by="distance"."""
        documents = letters("ABC", {"score": 0.30}, {"score": 0.32}, {"score": 0.41})
        with pytest.warns(EdgeOrderWarning, match="rank_by='distance'"):
            assert spelt(EdgeOrder(**BY_SCORE).transform_documents(documents)) == "CBA"
        edge = EdgeOrder(rank_by="distance", order="relevance")
        assert spelt(edge.transform_documents(documents)) == "ABC"

    def test_cut_after_ranking(self, letters, spelt):
        """The best document is kept by top_n wherever it stood in the list."""
        documents = letters("ABCDEFGHIJ", *({"score": score} for score in (9, 8, 7, 6, 5, 4, 3, 2, 1, 10)))
        assert spelt(EdgeOrder(top_n=3, **BY_SCORE).transform_documents(documents)) == "JAB"

    def test_min_score(self, letters, spelt):
        """min_score keeps what reaches it, zero and negative scores included, and is off by default."""
        documents = letters("ABC", {"score": 0.2}, {"score": 0}, {"score": -0.2})
        assert spelt(EdgeOrder().transform_documents(documents)) == "ABC"
        assert spelt(EdgeOrder(min_score=0).transform_documents(documents)) == "AB"

    def test_newest_first(self, letters, spelt):
        """A callable gets the Document; dates, datetimes, ISO texts and a missing one are ranked without an error."""
        dates = (date(2024, 5, 1), None, datetime(2025, 7, 1, tzinfo=UTC), "2026-03-01", "2023-12-31")
        documents = letters("ABCDE", *({"date": value} for value in dates))
        edge = EdgeOrder(rank_by=lambda document: document.metadata.get("date"), order="relevance")
        assert spelt(edge.transform_documents(documents)) == "DCAEB"

    def test_callable_gets_the_very_document(self, letters):
        """The callable is asked once about each document, with the caller's own object."""
        documents, seen = letters("ABC"), []
        EdgeOrder(rank_by=seen.append).transform_documents(documents)
        assert [id(document) for document in seen] == [id(document) for document in documents]


class TestSourceKey:
    """`source_key` is a name, names tried in order, a dotted path or a callable."""

    @pytest.mark.parametrize(
        ("key", "make"),
        [
            ("file", lambda name: {"file": name}),
            (["url", "file"], lambda name: {"file": name}),
            (["file", "url"], lambda name: {"file": name, "url": "same"}),
            ("meta.file", lambda name: {"meta": {"file": name}}),
            (lambda document: document.metadata["file"][:1], lambda name: {"file": name}),
            (["file"], lambda name: {"file": [name]}),  # unhashable
        ],
    )
    def test_found(self, key, make, letters, spelt):
        """The documents are grouped by what the key finds."""
        documents = letters("ABCD", *map(make, "xyxy"))
        assert spelt(EdgeOrder(source_key=key, **BY_SOURCE).transform_documents(documents)) == "ACBD"

    def test_default(self, letters, spelt):
        """`source` is found without a setting."""
        documents = letters("ABCD", *({"source": name} for name in "xyxy"))
        assert spelt(EdgeOrder(**BY_SOURCE).transform_documents(documents)) == "ACBD"

    @pytest.mark.case(23)
    @pytest.mark.parametrize("missing", [{}, {"source": None}, {"source": ""}])
    def test_missing(self, missing, letters, spelt):
        """A document without a source is its own group."""
        documents = letters("ABCDE", missing, {"source": "x"}, missing, {"source": "x"}, missing)
        assert spelt(EdgeOrder(**BY_SOURCE).transform_documents(documents)) == "ABDCE"

    def test_none(self, letters, spelt):
        """source_key=None groups nothing."""
        documents = letters("ABC", *({"source": "x", "page": page} for page in (3, 2, 1)))
        assert spelt(EdgeOrder(source_key=None, **BY_SOURCE).transform_documents(documents)) == "ABC"

    def test_group_rank_is_that_of_its_best(self, letters, spelt):
        """One source with many documents does not outrank the best document of another."""
        documents = letters("ABCD", {"source": "b"}, *({"source": "a"} for _ in range(3)))
        assert spelt(EdgeOrder(order="bookend", reading="source").transform_documents(documents)) == "ABCD"
        assert spelt(EdgeOrder(order="reverse", reading="source").transform_documents(documents)) == "BCDA"


class TestOffsetKey:
    """`offset_key` is a name, names tried in order, a dotted path or a callable; `end_key` makes it a span."""

    @pytest.mark.parametrize(
        ("key", "make"),
        [
            ("nr", lambda n: {"nr": n}),
            (["part", "nr"], lambda n: {"nr": n}),
            (["nr", "part"], lambda n: {"nr": n, "part": -n}),
            ("at.nr", lambda n: {"at": {"nr": n}}),
            (lambda document: document.metadata["nr"] % 100, lambda n: {"nr": n + 100}),
            ("nr", lambda n: {"nr": str(n)}),
            ("nr", lambda n: {"nr": f"section {n}"}),
            ("nr", lambda n: {"nr": (1, n)}),
            ("nr", lambda n: {"nr": float(n)}),
        ],
    )
    @pytest.mark.parametrize("reading", ["runs", "source"])
    def test_found(self, key, make, reading, letters, spelt):
        """The documents of a source are read in the order of what the key finds, numbers in texts as numbers."""
        documents = letters("ABC", *({"source": "x", **make(n)} for n in (10, 9, 11)))
        edge = EdgeOrder(offset_key=key, reading=reading, order="relevance")
        assert spelt(edge.transform_documents(documents)) == "BAC"

    @pytest.mark.parametrize("name", ["start_index", "chunk_index", "seq_num"])
    def test_defaults(self, name, letters, spelt):
        """The usual names are found without a setting."""
        documents = letters("ABC", *({"source": "x", name: n} for n in (2, 1, 3)))
        assert spelt(EdgeOrder(order="relevance").transform_documents(documents)) == "BAC"

    @pytest.mark.parametrize("reading", ["runs", "source"])
    def test_mixed_and_missing(self, reading, letters, spelt):
        """Keys of any kind in one source, missing ones among them, raise no error and lose no document."""
        keys = (3, "2", None, "iv", 1.5, -1, float("nan"), (1, 2), "", True, "10")
        documents = letters("ABCDEFGHIJK", *({"source": "x", "nr": key} for key in keys))
        edge = EdgeOrder(offset_key="nr", reading=reading, order="relevance")
        assert sorted(spelt(edge.transform_documents(documents))) == list("ABCDEFGHIJK")

    def test_equal_places(self, letters, spelt):
        """Documents at the same place keep their rank order."""
        documents = letters("ABCD", *({"source": "x", "page": page} for page in (2, 1, 2, 1)))
        assert spelt(EdgeOrder(**BY_SOURCE).transform_documents(documents)) == "BDAC"

    @pytest.mark.parametrize(("gap", "expected"), [(-30, "BAC"), (0, "BAC"), (8, "BAC"), (9, "ABC")])
    def test_end_key(self, gap, expected, letters, spelt):
        """With end_key the offset is a character offset: a gap of at most 8 characters, or an overlap, makes
        neighbours."""
        spans = ((100 + gap, 200), (0, 100), (900, 1000))
        documents = [
            Document("x" * (end - start), metadata={"source": "x", "at": {"from": start, "to": end}})
            for start, end in spans
        ]
        edge = EdgeOrder(offset_key="at.from", end_key="at.to", order="relevance")
        assert spelt_by(edge, documents) == expected

    def test_end_key_callable(self):
        """end_key is a key like the others: a callable will do."""
        documents = [Document("x" * 100, metadata={"source": "x", "at": at}) for at in (104, 0)]
        edge = EdgeOrder(offset_key="at", end_key=lambda document: document.metadata["at"] + 100, order="relevance")
        assert spelt_by(edge, documents) == "BA"

    def test_end_that_is_not_where_the_text_ends(self):
        """A span that is not as long as its text says where it starts, and nothing of its neighbours."""
        documents = [Document("x" * 90, metadata={"source": "x", "at": at, "to": at + 100}) for at in (104, 0)]
        edge = EdgeOrder(offset_key="at", end_key="to", order="relevance")
        assert spelt_by(edge, documents) == "AB"
        note = "spans that are not as long as their texts were used by their starts only: input indices [0, 1] (2 of 2)"
        assert note in edge.place(documents).record.notes

    def test_compound(self):
        """A list in the list of names is one offset made of several: the last counts within the others."""
        pages = [(2, 0), (1, 102), (1, 0), (1, 400)]
        documents = [Document("x" * 100, metadata={"source": "x", "leaf": p, "start_index": s}) for p, s in pages]
        for names in (("leaf", "start_index"), ["leaf", "start_index"]):
            edge = EdgeOrder(offset_key=[names, "nr"], order="relevance")
            assert spelt_by(edge, documents) == "ACBD"
            assert spelt_by(edge.model_copy(update={"reading": "source"}), documents) == "CBDA"
        assert EdgeOrder.model_validate_json(edge.model_dump_json()) == edge

    def test_compound_ordinal(self, letters, spelt):
        """Of ordinals, the last counts up while the others stay."""
        documents = letters("ABCD", *({"source": "x", "part": p, "nr": n} for p, n in ((1, 2), (2, 2), (1, 1), (2, 1))))
        edge = EdgeOrder(offset_key=[("part", "nr")], order="relevance")
        assert spelt(edge.transform_documents(documents)) == "CADB"

    def test_compound_source(self, letters, spelt):
        """A source may be made of several names, too; a document that lacks one of them has no such source."""
        tenants = ({"tenant": "t", "source": "x"}, {"tenant": "u", "source": "x"}, {"tenant": "t", "source": "x"})
        documents = letters("ABCD", *tenants, {"source": "x"})
        edge = EdgeOrder(source_key=[("tenant", "source")], **BY_SOURCE)
        assert spelt(edge.transform_documents(documents)) == "ACBD"

    def test_another_offset_is_an_ordinal(self, letters, spelt):
        """Without end_key only `start_index` counts characters: 3 and 5 of another key are no neighbours."""
        documents = letters("AB", {"source": "x", "nr": 5}, {"source": "x", "nr": 3})
        assert spelt(EdgeOrder(offset_key="nr", order="relevance").transform_documents(documents)) == "AB"
        documents = letters("AB", {"source": "x", "start_index": 5}, {"source": "x", "start_index": 3})
        assert spelt(EdgeOrder(order="relevance").transform_documents(documents)) == "BA"


class TestSectionKey:
    """`section_key` says what offsets start anew in; all its names count together."""

    @pytest.mark.parametrize(
        "name", [*(f"Header {n}" for n in range(1, 7)), "header_path", "section", "heading", "parent_id", "doc_id"]
    )
    def test_defaults(self, name):
        """What header splitters and parent retrievers write keeps sections apart, and joins within one."""
        documents = [
            Document("x" * 100, metadata={"source": "x", "start_index": start, name: section})
            for start, section in ((102, "s"), (0, "s"), (306, "t"), (204, "s"))
        ]
        assert runs(EdgeOrder(), documents) == [{0, 1, 3}]
        assert runs(EdgeOrder(section_key=None), documents) == [{0, 1, 2, 3}]

    def test_a_finer_header_counts_beside_a_coarser(self):
        """Two sections under one first header are two."""
        documents = [
            Document("x" * 100, metadata={"source": "x", "start_index": start, "Header 1": "a", "Header 2": section})
            for start, section in ((102, "b"), (0, "c"))
        ]
        assert spelt_by(EdgeOrder(order="relevance"), documents) == "AB"

    @pytest.mark.parametrize("key", ["chapter", ["nope", "chapter"], "at.chapter", lambda d: d.metadata["chapter"]])
    def test_set(self, key):
        """It is a name, names that all count, a dotted path or a callable."""
        documents = [
            Document("x" * 100, metadata={"source": "x", "start_index": s, "chapter": c, "at": {"chapter": c}})
            for s, c in ((102, "s"), (0, "t"))
        ]
        assert spelt_by(EdgeOrder(order="relevance"), documents) == "BA"
        assert spelt_by(EdgeOrder(order="relevance", section_key=key), documents) == "AB"


@pytest.mark.parametrize("field", ["score_key", "source_key", "section_key", "offset_key", "end_key"])
@pytest.mark.parametrize("value", ["", [], 5, [1], ["a", ""], {"a": 1}, [["a", ""]], [[]], [["a", ["b"]]]])
def test_no_key(field, value):
    """What is no key is refused at construction, naming the field."""
    with pytest.raises((ValueError, TypeError), match=field):
        EdgeOrder(**{field: value})


class TestDuplicates:
    """Equal documents are two documents unless `dedupe` says otherwise."""

    def test_off(self, letters, spelt):
        """By default equal texts are kept, each with its own metadata."""
        documents = letters("AABC", {"source": "x"}, {"source": "y"}, {}, {})
        found = EdgeOrder(order="bookend").transform_documents(documents)
        assert spelt(found) == "ABCA"
        assert [found[0].metadata, found[-1].metadata] == [{"source": "x"}, {"source": "y"}]

    @pytest.mark.parametrize("dedupe", ["text", "id"])
    def test_higher_rank_stays(self, dedupe, letters, spelt):
        """Of two duplicates the better one stays, and the record says which it stands for."""
        documents = letters("BACA", {"source": "w"}, {"source": "x"}, {"source": "y"}, {"source": "z"})
        for document, own in zip(documents, (None, "1", None, "1"), strict=True):
            document.id = own
        edge = EdgeOrder(dedupe=dedupe, order="relevance")
        found = edge.transform_documents(documents)
        assert spelt(found) == "BAC"
        assert found[1].metadata == {"source": "x"}
        [dropped] = edge.place(documents).dropped
        assert (dropped.index, dropped.reason, dropped.duplicate_of) == (3, "duplicate", 1)
