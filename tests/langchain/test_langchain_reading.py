"""Reading order on chunks from LangChain's real splitter: neighbours are read in document order, others are not."""

import pytest
from langchain_core.documents import Document
from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_edgeorder import EdgeOrder, EdgeOrderRetriever

OVERLAPS = pytest.mark.parametrize("overlap", [0, 50, 200])
PLAIN = EdgeOrder(order="relevance")


def runs(edge: EdgeOrder, documents: list[Document]) -> list[list[int]]:
    """Return the block units with more than one chunk, by input index in reading order."""
    units: dict[int, list[int]] = {}
    for chunk in edge.place(documents).record.placed:
        if chunk.run is not None:
            units.setdefault(chunk.run, []).append(chunk.index)
    return list(units.values())


def numbers(documents: list[Document], chunks: list[Document]) -> list[int]:
    """Return the place of each document in the list that the splitter made."""
    return [chunks.index(document) for document in documents]


@OVERLAPS
class TestSplitter:
    """What RecursiveCharacterTextSplitter cuts is put together again, whatever its overlap."""

    def test_cuts_are_as_expected(self, overlap, split):
        """The splitter leaves small gaps without overlap and real overlaps with it: the tests below test both."""
        chunks = [chunk for chunk in split(overlap) if chunk.metadata["source"] == "sampling.md"]
        starts = [chunk.metadata["start_index"] for chunk in chunks]
        ends = [start + len(chunk.page_content) for start, chunk in zip(starts, chunks, strict=True)]
        gaps = {after - before for before, after in zip(ends[:-1], starts[1:], strict=True)}
        assert gaps <= {1, 2} if overlap == 0 else min(gaps) < -overlap * 0.8
        assert len(chunks) >= 9

    def test_neighbours_make_one_run(self, overlap, split):
        """Neighbours retrieved out of order come out as one run in document order, at the rank of the best."""
        chunks = split(overlap)
        retrieved = [chunks[n] for n in (20, 4, 2, 14, 3, 1, 21)]
        placed = PLAIN.transform_documents(retrieved)
        assert numbers(placed, chunks) == [20, 21, 1, 2, 3, 4, 14]
        assert runs(PLAIN, retrieved) == [[0, 6], [5, 2, 4, 1]]

    def test_others_do_not(self, overlap, split):
        """Chunks of one document that are no neighbours stay where their ranks put them."""
        chunks = split(overlap)
        retrieved = [chunks[n] for n in (7, 3, 11, 23, 15, 19)]
        assert {"sampling.md"} < {chunk.metadata["source"] for chunk in retrieved}
        assert numbers(PLAIN.transform_documents(retrieved), chunks) == [7, 3, 11, 23, 15, 19]
        assert runs(PLAIN, retrieved) == []

    def test_all_shuffled(self, overlap, split):
        """All chunks of three documents, shuffled, are three documents again, each in order."""
        chunks = split(overlap)
        n = len(chunks)
        shuffled = [chunks[index * 7 % n] for index in range(n)]
        assert sorted(numbers(shuffled, chunks)) == list(range(n))
        placed = PLAIN.transform_documents(shuffled)
        assert sorted(len(run) for run in runs(PLAIN, shuffled)) == sorted(
            sum(chunk.metadata["source"] == source for chunk in chunks)
            for source in ("sampling.md", "boats.md", "visitors.md")
        )
        for source in ("sampling.md", "boats.md", "visitors.md"):
            assert [d for d in placed if d.metadata["source"] == source] == [
                d for d in chunks if d.metadata["source"] == source
            ]

    def test_across_documents(self, overlap, split):
        """The last chunk of a document and the first of the next are no neighbours, nor are equal offsets."""
        chunks = split(overlap)
        firsts = [n for n, chunk in enumerate(chunks) if chunk.metadata["start_index"] == 0]
        retrieved = [chunks[n] for n in (firsts[1], firsts[1] - 1, firsts[2], firsts[0])]
        assert PLAIN.transform_documents(retrieved) == retrieved
        assert runs(PLAIN, retrieved) == []

    def test_whole_sources(self, overlap, split):
        """reading="source" puts all chunks of a document together, in document order, neighbours or not."""
        chunks = split(overlap)
        retrieved = [chunks[n] for n in (7, 23, 3, 0, 19, 5)]
        placed = EdgeOrder(order="relevance", reading="source").transform_documents(retrieved)
        same = [n for n in (0, 3, 5, 7) if chunks[n].metadata["source"] == chunks[7].metadata["source"]]
        assert numbers(placed, chunks)[: len(same)] == same == [0, 3, 5, 7]
        assert sorted(numbers(placed, chunks)[len(same) :]) == [19, 23]

    def test_off(self, overlap, split):
        """reading="off" leaves neighbours where their ranks put them."""
        chunks = split(overlap)
        retrieved = [chunks[n] for n in (4, 2, 3)]
        edge = EdgeOrder(order="relevance", reading="off")
        assert numbers(edge.transform_documents(retrieved), chunks) == [4, 2, 3]


class TestPages:
    """A PDF loader gives pages, and start_index begins anew on each of them."""

    @pytest.fixture
    def pages(self, split) -> list[list[Document]]:
        """Three pages of one file, each split by itself."""
        paragraphs = [
            "\n".join(chunk.page_content for chunk in split(0) if chunk.metadata["source"] == source)
            for source in ("sampling.md", "boats.md", "visitors.md")
        ]
        loaded = [
            Document(text, metadata={"source": "handbook.pdf", "page": page, "total_pages": 3})
            for page, text in enumerate(paragraphs)
        ]
        splitter = RecursiveCharacterTextSplitter(chunk_size=300, chunk_overlap=0, add_start_index=True)
        chunks = splitter.split_documents(loaded)
        assert [chunk.metadata["page"] for chunk in chunks if chunk.metadata["start_index"] == 0] == [0, 1, 2]
        return [[chunk for chunk in chunks if chunk.metadata["page"] == page] for page in range(3)]

    def test_no_false_run(self, pages):
        """Chunks whose offsets would join but for the page are no run."""
        retrieved = [pages[1][1], pages[0][0], pages[2][2], pages[0][3]]
        assert 0 < retrieved[0].metadata["start_index"] - len(retrieved[1].page_content) <= 8  # would join
        assert PLAIN.transform_documents(retrieved) == retrieved
        assert runs(PLAIN, retrieved) == []

    def test_runs_within_pages(self, pages):
        """Neighbours on one page make a run, although other pages have the same offsets."""
        retrieved = [pages[1][1], pages[0][1], pages[2][4], pages[0][0], pages[1][0], pages[1][2]]
        expected = [pages[1][0], pages[1][1], pages[1][2], pages[0][0], pages[0][1], pages[2][4]]
        assert PLAIN.transform_documents(retrieved) == expected
        assert runs(PLAIN, retrieved) == [[4, 0, 5], [3, 1]]

    def test_whole_source(self, pages):
        """With reading="source" the file is read page by page, and each page by its offsets."""
        retrieved = [pages[2][1], pages[0][3], pages[1][0], pages[2][0], pages[0][1]]
        placed = EdgeOrder(order="relevance", reading="source").transform_documents(retrieved)
        assert placed == [pages[0][1], pages[0][3], pages[1][0], pages[2][0], pages[2][1]]
        assert EdgeOrder().place(retrieved).record.chunks[0].source == "handbook.pdf"

    def test_pages_without_offsets(self):
        """Chunks of two pages need not be neighbours; where documents are whole pages, the page is the offset_key."""
        retrieved = [
            Document(f"page {page}", metadata={"source": "handbook.pdf", "page": page}) for page in ("10", 2, "9", "4")
        ]
        whole = EdgeOrder(order="relevance", offset_key="page")
        for edge, expected in ((PLAIN, ["10", "2", "9", "4"]), (whole, ["9", "10", "2", "4"])):
            assert [document.page_content[5:] for document in edge.transform_documents(retrieved)] == expected
        parts = [*retrieved, Document("another part of page 9", metadata=retrieved[2].metadata)]
        assert runs(whole, parts) == []
        assert "contradict each other" in whole.place(parts).record.notes[-1]


def test_best_runs_stand_at_the_edges(split):
    """Orders place runs as one: the run of rank 1 at the head, the unit of the next rank at the tail."""
    chunks = split(0)
    retrieved = [chunks[n] for n in (4, 10, 16, 20, 3, 11, 22)]
    placed = EdgeOrder(order="bookend").transform_documents(retrieved)
    assert numbers(placed, chunks) == [3, 4, 16, 22, 20, 10, 11]


def test_real_retrieval_is_read_in_order(retriever, query):
    """Whatever a real retriever finds, the chunks of a run follow each other in the text."""
    documents = EdgeOrderRetriever(base_retriever=retriever, placer=PLAIN).invoke(query)
    retrieved = retriever.invoke(query)
    found = runs(PLAIN, retrieved)
    assert max(map(len, found)) >= 5
    for run in found:
        starts = [retrieved[index].metadata["start_index"] for index in run]
        assert starts == sorted(starts)
        assert len({retrieved[index].metadata["source"] for index in run}) == 1
        first = documents.index(retrieved[run[0]])
        assert documents[first : first + len(run)] == [retrieved[index] for index in run]
