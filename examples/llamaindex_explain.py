"""Why was this answer wrong? A query engine with a local model, and the record of a wrong answer tells the cause.

As `langchain_explain.py`, with LlamaIndex: an engine, a postprocessor, and the record from `capture()`.

Run it: `pip install 'edgeorder[llamaindex,local]'`, then
`python examples/llamaindex_explain.py`.
"""

import asyncio
from typing import Any

from langchain_explain import INSTRUCTION, retrieved
from llama_index.core.llms import CompletionResponse, CompletionResponseGen, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import ResponseMode, get_response_synthesizer
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from edgeorder import capture, explain
from edgeorder.probe import Case, as_model, load_cases
from edgeorder.probe.grading import is_right
from llamaindex_edgeorder import EdgeOrderPostprocessor, text_qa_template


class Retrieved(BaseRetriever):
    """Gives what was retrieved for a case. Your index's retriever stands here."""

    def __init__(self, case: Case) -> None:
        self.nodes = [
            NodeWithScore(node=TextNode(id_=document.id, text=document.page_content), score=1 - at / 20)
            for at, document in enumerate(retrieved(case))
        ]
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self.nodes


class Local(CustomLLM):
    """The local model. `llama-index-llms-openai` or the like stands here in your code."""

    runner: Any
    model: Any

    @property
    def metadata(self) -> LLMMetadata:
        """Its window."""
        return LLMMetadata(context_window=8192, num_output=16, model_name="local")

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Ask it."""
        return CompletionResponse(text=self.runner.run(self.model.ask(prompt)).text)

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        """Give the same in one piece."""
        yield self.complete(prompt, formatted, **kwargs)


def main() -> None:
    """Ask until an answer is wrong, and explain it."""
    with asyncio.Runner() as runner:
        llm = Local(runner=runner, model=as_model("local", max_tokens=16))
        for case in load_cases("facts", 20, 100, 3):
            retriever = Retrieved(case)
            engine = RetrieverQueryEngine(
                retriever,
                get_response_synthesizer(
                    llm, response_mode=ResponseMode.COMPACT, text_qa_template=text_qa_template("after", INSTRUCTION)
                ),
                [EdgeOrderPostprocessor(order="relevance")],
            )
            with capture() as records:
                said = str(engine.query(case.question))
            if is_right(said, case.answers).full:
                continue
            gold = next(node.node.node_id for node in retriever.nodes if case.gold.text in node.text)
            found = explain(records[0], gold)
            print(f"Question: {case.question}\nAnswer:   {said.strip()!r}, where {case.answers[0]!r} is right")
            print(f"Cause:    {found.sentence}\nAdvice:   {found.advice}")
            break
        runner.run(llm.model.aclose())


if __name__ == "__main__":
    main()
