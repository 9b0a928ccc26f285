"""What LlamaIndex's tracing sees of the postprocessor."""

from collections import Counter
from typing import Any

from llama_index.core.schema import NodeWithScore, TextNode
from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.span_handlers import SimpleSpanHandler

from llamaindex_edgeorder import EdgeOrderPostprocessor


def test_a_call_opens_one_span_and_no_span_for_its_own_parts(monkeypatch: Any):
    nodes = [NodeWithScore(node=TextNode(text=text), score=0.5) for text in ("one", "two")]
    handler, root = SimpleSpanHandler(), get_dispatcher()
    monkeypatch.setattr(root, "span_handlers", [*root.span_handlers, handler])
    EdgeOrderPostprocessor().postprocess_nodes(nodes)
    names = Counter(span.id_.split("-")[0] for span in handler.completed_spans)
    assert names == {"EdgeOrderPostprocessor._postprocess_nodes": 1}
