"""A LlamaIndex query engine that answers in one call of the model, however many nodes are retrieved.

The `compact` synthesizer makes a second call when the nodes do not fit the model's window. `room` computes what fits
in one call, and inside a window of it `EdgeOrderPostprocessor` keeps the block within it. An echo answers.

Run it: `pip install 'edgeorder[llamaindex,text]'`, then
`python examples/llamaindex_query_engine.py`. It needs no network.
"""

from typing import Any

from handbook import Section, search
from llama_index.core.llms import CompletionResponse, CompletionResponseGen, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import ResponseMode, get_response_synthesizer
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode

from edgeorder import capture, window
from llamaindex_edgeorder import EdgeOrderPostprocessor, room

QUESTION = "May I travel home at weekends during a long stay, and what does the company pay?"


class EchoLLM(CustomLLM):
    """A model with a small window that repeats the end of its prompt and counts its calls."""

    calls: int = 0

    @property
    def metadata(self) -> LLMMetadata:
        """The window that `room` works with."""
        return LLMMetadata(context_window=2600, num_output=256, model_name="echo")

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Repeat the end of the prompt."""
        self.calls += 1
        return CompletionResponse(text=f"(echo) ... {prompt[-120:].strip()}")

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        """Give the same in one piece."""
        yield self.complete(prompt, formatted, **kwargs)


class HandbookRetriever(BaseRetriever):
    """Finds 20 sections of the handbook."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=as_node(section), score=score) for section, score in search(str(query_bundle), 20)]


def as_node(section: Section) -> TextNode:
    """Return a section as a node that knows its document and its place in it, as one from an index does."""
    return TextNode(
        text=section.text,
        id_=str(section),
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=section.document)},
        metadata={"chunk_index": section.number},
        excluded_llm_metadata_keys=["chunk_index"],
    )


def main() -> None:
    """Ask the same question without and with edgeorder."""
    llm = EchoLLM()
    synthesizer = get_response_synthesizer(llm=llm, response_mode=ResponseMode.COMPACT)
    retriever = HandbookRetriever()

    RetrieverQueryEngine(retriever, synthesizer).query(QUESTION)
    print(f"Model calls without edgeorder: {llm.calls}")

    llm.calls = 0
    engine = RetrieverQueryEngine(retriever, synthesizer, node_postprocessors=[EdgeOrderPostprocessor()])
    budget = room(engine, QUESTION)
    with window(budget), capture() as records:
        engine.query(QUESTION)
    print(f"Model calls with edgeorder:    {llm.calls}, as one call has room for {budget.tokens} tokens of context\n")

    record = records[0]
    print(f"Order {record.order} ({record.reason}); {record.tokens} tokens, by {record.counter}")
    print("position  rank  tokens  node")
    for chunk in record.placed:
        print(f"{chunk.position:8}  {chunk.rank:4}  {chunk.tokens:6}  {chunk.id}")
    for chunk in record.dropped:
        print(f" dropped  {chunk.rank:4}  {chunk.tokens or '-':>6}  {chunk.id} ({chunk.dropped})")


if __name__ == "__main__":
    main()
