"""The caller's documents: never changed, handed back as they are, copied only where something has to differ."""

import copy
from typing import Any

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from pydantic import Field

from edgeorder import Budget, EdgeOrderWarning, Rerank
from langchain_edgeorder import EdgeOrder, EdgeOrderRetriever


class Passage(Document):
    """A subclass with a field of its own, as loaders have."""

    language: str = "en"


def words(text: str) -> int:
    return len(text.split())


def by_number(query: str, texts: list[str]) -> list[float]:
    return [float(text.split()[1]) for text in texts]


def fails(query: str, texts: list[str]) -> list[float]:
    raise RuntimeError("down")


SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "bookend": {"order": "bookend", "reading": "off"},
    "source": {"reading": "source"},
    "score": {"rank_by": "score"},
    "dedupe": {"dedupe": "text"},
    "min_score": {"min_score": 0.5},
    "top_n": {"top_n": 2},
    "budget": {"budget": 45},
    "truncate": {"budget": Budget(20, counter=words, overflow="truncate")},
    "rerank": {"rerank": by_number},
    "rerank fails": {"rerank": Rerank(fails, on_error="input_order")},
    "annotate": {"annotate": True},
    "everything": {
        "annotate": True,
        "rerank": by_number,
        "rank_by": "score",
        "dedupe": "id",
        "budget": Budget(20, counter=words, overflow="truncate"),
        "reading": "source",
        "order": "reverse",
    },
}
COPIES = {"truncate", "annotate", "everything"}
TABLE = pytest.mark.parametrize("name", SETTINGS)


@pytest.fixture
def documents() -> list[Document]:
    """Six documents with ids, nested metadata, a subclass, and what else should survive."""
    return [
        Passage(
            f"Chunk {n} is a sentence of words. It has a second one.",
            id=f"id-{n}",
            language="fr",
            metadata={"source": "ab"[n % 2], "page": 5 - n, "score": n / 5, "tags": ["x", n], "edgeorder": "mine"},
        )
        for n in range(6)
    ]


async def placed(edge: EdgeOrder, documents: list[Document], face: str) -> list[Document]:
    # A scorer that is down and a list that comes in backwards are worth a warning, which is no matter here.
    expected = isinstance(edge.rerank, Rerank) or edge.rank_by == "score"
    if expected:
        with pytest.warns(EdgeOrderWarning):
            return await _placed(edge, documents, face)
    return await _placed(edge, documents, face)


async def _placed(edge: EdgeOrder, documents: list[Document], face: str) -> list[Document]:
    if face == "sync":
        return edge.compress_documents(documents, "?")
    return await edge.acompress_documents(documents, "?")


@pytest.mark.parametrize("face", ["sync", "async"])
@TABLE
class TestNothingChanges:
    """Whatever the setting, what the caller handed in is what the caller still has."""

    async def test_input_is_untouched(self, name, face, documents):
        """List, documents and metadata are equal before and after, and are the same objects."""
        before, objects = copy.deepcopy(documents), [id(document) for document in documents]
        metadata = [id(document.metadata) for document in documents]
        await placed(EdgeOrder(**SETTINGS[name]), documents, face)
        assert documents == before
        assert [id(document) for document in documents] == objects
        assert [id(document.metadata) for document in documents] == metadata

    async def test_same_objects_unless_changed(self, name, face, documents):
        """The documents that come back are the caller's own unless shortened or annotated."""
        found = await placed(EdgeOrder(**SETTINGS[name]), documents, face)
        own = [any(document is original for original in documents) for document in found]
        assert len(found) >= 2
        if name == "truncate":
            assert sorted(own) == [False, True]  # one whole, one shortened
        else:
            assert own == [name not in COPIES] * len(found)

    async def test_results_are_independent(self, name, face, documents):
        """A second query on the same list leaves the first result as it was, and gives an equal one."""
        edge = EdgeOrder(**SETTINGS[name])
        first = await placed(edge, documents, face)
        kept = copy.deepcopy(first)
        second = await placed(edge, documents, face)
        assert first == kept == second
        assert first is not second

    async def test_result_is_a_list_of_its_own(self, name, face, documents):
        """The result is a new list even when nothing moved."""
        found = await placed(EdgeOrder(**SETTINGS[name]), documents, face)
        assert type(found) is list
        found.clear()
        assert len(documents) == 6


class TestShortened:
    """`overflow="truncate"` returns a copy with a shorter body and everything else."""

    @pytest.fixture
    def pair(self, documents) -> tuple[Document, Document]:
        """A document that had to be shortened, and its copy."""
        edge = EdgeOrder(budget=Budget(20, counter=words, overflow="truncate"), order="relevance", reading="off")
        first, second = edge.transform_documents(documents)
        assert first is documents[0]
        return documents[1], second

    def test_body(self, pair):
        """The body is cut at the end of a sentence, and the original keeps its own."""
        original, shortened = pair
        assert original.page_content == "Chunk 1 is a sentence of words. It has a second one."
        assert shortened.page_content == "Chunk 1 is a sentence of words. […]"

    def test_everything_else(self, pair):
        """Id, metadata, type, subclass and the fields of the subclass are kept."""
        original, shortened = pair
        assert type(shortened) is Passage
        assert shortened.model_dump(exclude={"page_content"}) == original.model_dump(exclude={"page_content"})
        assert (shortened.id, shortened.type, shortened.language) == ("id-1", "Document", "fr")

    def test_metadata_is_its_own(self, pair):
        """Writing into the copy's metadata does not reach the original."""
        original, shortened = pair
        shortened.metadata["page"] = "changed"
        assert original.metadata["page"] == 4

    def test_what_fits_is_counted(self, documents):
        """The shortened documents joined are the block, and it fits."""
        edge = EdgeOrder(budget=Budget(20, counter=words, overflow="truncate"), order="relevance", reading="off")
        found = edge.transform_documents(documents)
        block = edge.place(documents).block
        assert "\n\n".join(document.page_content for document in found) == block.text
        assert block.tokens == words(block.text) == 20


class TestAnnotate:
    """`annotate=True` writes rank, position and scores into copies; by default nothing is written."""

    async def test_off(self, documents):
        """By default no document has a key that it did not have before."""
        for found in (EdgeOrder().transform_documents(documents), await EdgeOrder().ainvoke(documents)):
            assert all(document.metadata["edgeorder"] == "mine" for document in found)
        bare = Document("text")
        assert EdgeOrder().transform_documents([bare])[0].metadata == {}

    async def test_on(self, letters):
        """Rank counts from 1, position from 0; both scores are Python floats, or None where there is none."""
        numpy = pytest.importorskip("numpy")
        documents = letters("ABCD", {"score": 0.9}, {"score": 0.8}, {}, {"score": numpy.float32(0.5)})
        edge = EdgeOrder(
            annotate=True, order="bookend", rerank=lambda query, texts: numpy.array([1, 4, 3, 2], dtype="float32")
        )
        expected = [
            ("B", {"rank": 1, "position": 0, "score": 0.8, "rerank_score": 4.0, "number": 1}),
            ("D", {"rank": 3, "position": 1, "score": 0.5, "rerank_score": 2.0, "number": 2}),
            ("A", {"rank": 4, "position": 2, "score": 0.9, "rerank_score": 1.0, "number": 3}),
            ("C", {"rank": 2, "position": 3, "score": None, "rerank_score": 3.0, "number": 4}),
        ]
        for found in (edge.compress_documents(documents, "?"), await edge.acompress_documents(documents, "?")):
            assert [(document.page_content, document.metadata["edgeorder"]) for document in found] == expected
            assert {type(value) for d in found for value in d.metadata["edgeorder"].values()} <= {
                int,
                float,
                type(None),
            }
        assert all("edgeorder" not in document.metadata for document in documents)
        assert found[0].metadata["score"] == 0.8  # the retriever's own is still there

    def test_without_a_scorer(self, letters):
        """Without a scorer there is no rerank score."""
        [found] = EdgeOrder(annotate=True).transform_documents(letters("A", {"score": 1}))
        assert found.metadata == {
            "score": 1,
            "edgeorder": {"rank": 1, "position": 0, "score": 1.0, "rerank_score": None, "number": 1},
        }

    def test_copies_are_whole(self, documents):
        """An annotated copy keeps body, id, subclass and its fields, and the rest of the metadata."""
        for found in EdgeOrder(annotate=True, order="reverse", reading="off").transform_documents(documents):
            [original] = [document for document in documents if document.id == found.id]
            assert type(found) is Passage
            assert found.model_dump(exclude={"metadata"}) == original.model_dump(exclude={"metadata"})
            assert {**found.metadata, "edgeorder": "mine"} == original.metadata

    def test_shortened_too(self, documents):
        """A document that is shortened is annotated as well."""
        edge = EdgeOrder(annotate=True, budget=Budget(20, counter=words, overflow="truncate"), reading="off")
        found = edge.transform_documents(documents)
        assert [document.metadata["edgeorder"]["rank"] for document in found] == [1, 2]
        assert found[1].page_content == "Chunk 1 is a sentence of words. […]"

    def test_annotated_again(self, letters):
        """Placing annotated documents again writes the new annotation into new copies."""
        edge = EdgeOrder(annotate=True, order="reverse")
        first = edge.transform_documents(letters("AB"))
        second = edge.transform_documents(first)
        assert [document.metadata["edgeorder"]["position"] for document in first] == [0, 1]
        assert [d.page_content for d in second] == ["A", "B"]
        assert [document.metadata["edgeorder"]["rank"] for document in second] == [2, 1]

    def test_dropped_by_position(self, letters):
        """The annotation tells the rank in the whole list, the position in what was kept."""
        found = EdgeOrder(annotate=True, order="bookend", top_n=3).transform_documents(letters("ABCDE"))
        assert [(d.page_content, d.metadata["edgeorder"]["rank"]) for d in found] == [("A", 1), ("C", 3), ("B", 2)]
        assert [d.metadata["edgeorder"]["position"] for d in found] == [0, 1, 2]


class Logged(EdgeOrder):
    """What a user writes: a field, an `__init__` of its own, and one hook."""

    label: str
    seen: list[str] = Field(default_factory=list)

    def __init__(self, label: str, **settings: Any) -> None:
        super().__init__(label=label, **settings)
        self.seen.append("made")

    def transform_documents(self, documents, **kwargs):
        self.seen.append(self.label)
        return super().transform_documents(documents, **kwargs)

    def compress_documents(self, documents, query, callbacks=None):
        self.seen.append(query)
        return super().compress_documents(documents, query, callbacks)


class TestSubclass:
    """A user's subclass works wherever EdgeOrder does."""

    def test_in_a_chain(self, letters, spelt):
        """An overridden transform_documents is what `retriever | ...` runs, with the settings of the subclass."""
        edge = Logged("mine", order="bookend", reading="off")
        assert spelt((RunnableLambda(lambda query: letters("ABCDE")) | edge).invoke("?")) == "ACEDB"
        assert edge.seen == ["made", "mine"]

    def test_as_a_compressor(self, letters, spelt):
        """An overridden compress_documents is what ContextualCompressionRetriever runs."""
        edge = Logged("mine", order="bookend", reading="off")
        base = RunnableLambda(lambda query: letters("ABCDE"))
        found = ContextualCompressionRetriever(base_compressor=edge, base_retriever=base).invoke("why?")
        assert spelt(found) == "ACEDB"
        assert edge.seen == ["made", "why?"]

    def test_as_a_placer(self, letters, spelt):
        """EdgeOrderRetriever takes a subclass as its placer."""
        base = RunnableLambda(lambda query: letters("ABCDE"))
        retriever = EdgeOrderRetriever(base_retriever=base, placer=Logged("mine", order="reverse"), k=3)
        assert spelt(retriever.invoke("?")) == "CBA"
        assert type(retriever.placer) is Logged

    def test_still_strict(self):
        """A subclass refuses misspelt fields and checks its settings as EdgeOrder does."""
        with pytest.raises(ValueError, match="bugdet"):
            Logged("mine", bugdet=5)
        with pytest.raises((ValueError, TypeError), match="top_n"):
            Logged("mine", top_n=0)
        with pytest.raises(TypeError, match="label"):
            Logged()

    def test_copies(self):
        """A subclass is copied as what it is."""
        edge = Logged("mine", budget=Budget(5))
        assert copy.deepcopy(edge) == edge
        assert edge.model_dump()["label"] == "mine"
