"""Subclasses: a loader's own kind of document stays what it is, and a user's own EdgeOrder works wherever ours does."""

import copy
from typing import Any

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from pydantic import Field

from edgeorder import Budget
from langchain_edgeorder import EdgeOrder, EdgeOrderRetriever


class Passage(Document):
    """A subclass with a field of its own, as loaders have."""

    language: str = "en"


@pytest.mark.case(74)
@pytest.mark.parametrize("annotate", [False, True])
async def test_a_copy_keeps_everything_else(annotate):
    """Id, type, subclass and the fields of the subclass are kept in what was shortened or annotated."""
    body = "Chunk {} is a sentence of words. It has a second one."
    documents = [Passage(body.format(n), id=f"id-{n}", language="fr", metadata={"page": n}) for n in range(2)]
    budget = Budget(20, counter=lambda text: len(text.split()), overflow="truncate")
    edge = EdgeOrder(budget=budget, order="relevance", annotate=annotate)
    for found in (edge.compress_documents(documents, "?"), await edge.acompress_documents(documents, "?")):
        for original, copied in zip(documents, found, strict=True):
            assert type(copied) is Passage
            different = {name for name in Passage.model_fields if getattr(copied, name) != getattr(original, name)}
            assert different == ({"metadata"} if annotate else set()) | (
                {"page_content"} if original.id[-1] == "1" else set()
            )
            assert {**copied.metadata, "edgeorder": 0} == {**original.metadata, "edgeorder": 0}
            assert (copied.id, copied.type, copied.language) == (original.id, "Document", "fr")


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

    @pytest.mark.case(94)
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
        """A subclass refuses misspelt fields, checks its settings as EdgeOrder does, and is copied as what it is."""
        with pytest.raises(ValueError, match="bugdet"):
            Logged("mine", bugdet=5)
        with pytest.raises((ValueError, TypeError), match="top_n"):
            Logged("mine", top_n=0)
        with pytest.raises(TypeError, match="label"):
            Logged()
        edge = Logged("mine", budget=Budget(5))
        assert copy.deepcopy(edge) == edge
        assert edge.model_dump()["label"] == "mine"
