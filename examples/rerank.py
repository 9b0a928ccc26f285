"""Retrieve 50, rerank, keep 12, place: what a reranker changes, and what edgeorder records of it.

The passages are single sentences, in the order of the sections that a search finds: a retriever that knows the right
page, not the right line. The scorer is BM25 over the candidates, which needs no model and no download; with a
cross-encoder only the line that makes the scorer changes.

Run it: `pip install 'edgeorder[langchain,text]'`, then
`python examples/rerank.py`. It needs no network and no tokenizer: tokens are counted by
`approximate_counter`, an upper bound.
"""

import re

from handbook import search
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from edgeorder import Budget, approximate_counter, capture
from edgeorder.rerank import LexicalScorer
from langchain_edgeorder import EdgeOrder, EdgeOrderRetriever

QUESTION = "Who approves a hotel above the limit when I stay for more than 14 nights?"

# With a model: CrossEncoderScorer("cross-encoder/ms-marco-MiniLM-L6-v2")       pip install 'edgeorder[rerank]'
# without torch: OnnxCrossEncoderScorer("cross-encoder/ms-marco-MiniLM-L6-v2")  pip install 'edgeorder[onnx]'
scorer = LexicalScorer()


def main() -> None:
    """Ask once, and show the record."""
    retriever = EdgeOrderRetriever(
        base_retriever=RunnableLambda(find),
        placer=EdgeOrder(rerank=scorer, budget=Budget(6000, approximate_counter())),
        k=12,
    )
    with capture() as records:
        retriever.invoke(QUESTION)
    (record,) = records

    print(f"{QUESTION}\n")
    print(f"Scorer {record.scorer}; order {record.order} ({record.reason}); {record.tokens} tokens\n")
    print("position  rank  retrieved as  score  sentence")
    for chunk in record.placed:
        print(f"{chunk.position:8}  {chunk.rank:4}  {chunk.index + 1:12}  {chunk.rerank_score:5.2f}  {chunk.id}")
    reasons = [chunk.dropped for chunk in record.dropped]
    print(f"\ndropped: {reasons.count('top_n')} beyond the best 12, {reasons.count('budget')} beyond the budget")


def find(query: str) -> list[Document]:
    """Return 50 sentences, those of the best section first. `chunk_index` tells edgeorder which are neighbours."""
    passages = [
        Document(sentence, id=f"{section} #{number}", metadata={"source": str(section), "chunk_index": number})
        for section, _ in search(query, 20)
        for number, sentence in enumerate(re.split(r"(?<=[.?!])\s+", section.text), start=1)
    ]
    return passages[:50]


if __name__ == "__main__":
    main()
