"""`cited`: the nodes that the answer of an engine or an agent cites."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.schema import Document, ImageNode, IndexNode, MetadataMode, Node, NodeWithScore, TextNode

from edgeorder.alerts import warn
from edgeorder.citing import cited as cited_numbers
from edgeorder.citing import invented

_SOURCE = re.compile(r"Source (\d+):\n")  # how CitationQueryEngine labels nodes
_KINDS = {kind.class_name(): kind for kind in (TextNode, ImageNode, IndexNode, Node, Document)}


def cited(result: Any, earlier: Sequence[Any] = (), *, answer: str | None = None) -> list[NodeWithScore]:
    """Return the nodes that an answer cites, in the order of its citations.

    Args:
        result: What a query or chat engine returned, with nodes of `NumberedPostprocessor` or of LlamaIndex's
            `CitationQueryEngine`; or an agent, with tools of `retriever_tool` and engines as tools.
        earlier: The results of earlier turns, for citations of what was shown there.
        answer: The text of the answer, where it was streamed and LlamaIndex does not keep it.

    Raises:
        TypeError: For what no engine or agent returned.
        ValueError: If the answer of a chat engine is still streaming.

    A number that no node has is warned of, as it is invented or was shown in a turn that is not among `earlier`:
    `Register.sources` knows its id. So is one that means several nodes, since engines numbered apart: all are returned.
    """
    if not isinstance(earlier, list | tuple):
        raise TypeError(f"earlier is a list of results of earlier turns, not {type(earlier).__name__}")
    for each in (result, *earlier):
        if not (hasattr(each, "source_nodes") or hasattr(each, "tool_calls")):
            raise TypeError(
                f"cited() takes what an engine returned, or an agent once its run was awaited, not {each!r:.80}"
            )
    text = _answer(result) if answer is None else answer
    nodes = _by_number(result)
    for each in reversed(earlier):
        nodes = {**_by_number(each), **nodes}
    known = {*nodes, *range(1, max(nodes, default=0) + 1)}
    asked = cited_numbers(text, known)
    _tell([number for number in (*asked, *invented(text, known)) if number not in nodes], bool(nodes))
    for number in asked:
        if len(found := nodes.get(number, ())) > 1:
            warn(
                f"[{number}] means several nodes: {[node.node_id for node in found]}. What numbered them knew nothing "
                "of each other: share the numbers, inside `with window(register=Register()):`"
            )
    return [node for number in asked for node in nodes.get(number, ())]


def _tell(lost: Sequence[int], numbered: bool) -> None:
    """Warn of citations that lead to no node."""
    if not lost:
        return
    why = (
        "what was shown in earlier turns is found with cited(result, earlier=[...]), and its id by Register.sources; "
        "otherwise the answer invents it"
        if numbered
        else "none has a number at all; NumberedPostprocessor, last among the node_postprocessors, gives them"
    )
    warn(f"no node of this result has the number {', '.join(map(str, lost))}, which the answer cites: {why}")


def _answer(result: Any) -> str:
    """Return the text of an answer.

    Raises:
        ValueError: If it is still streaming.
    """
    said = getattr(result, "response", None)
    if isinstance(said, ChatMessage):
        return said.content or ""
    if isinstance(said, str):
        if not said and getattr(result, "is_done", True) is False:
            raise ValueError("the answer is still streaming: read it to its end first, or give its text as answer=...")
        return said
    if said is not None:
        return str(said)
    text = str(result)
    if getattr(result, "response_txt", None) == "":
        warn("the answer is empty, or its stream was read before, which keeps no text: give that as answer=...")
    return text


def _by_number(result: Any) -> dict[int, list[NodeWithScore]]:
    """Return the nodes of a result by their numbers; several only where one number means several chunks."""
    nodes: dict[int, list[NodeWithScore]] = {}
    for number, node in _numbered(result):
        same = nodes.setdefault(number, [])
        if all(node.node_id != other.node_id for other in same):
            same.append(node)
    return nodes


def _numbered(result: Any) -> Iterator[tuple[int, NodeWithScore]]:
    """Yield the nodes of a result that have a number, with it."""
    own = list(getattr(result, "source_nodes", None) or ())
    texts = [node.node.get_content(MetadataMode.NONE) for node in own]
    if own and all((label := _SOURCE.match(text)) and int(label[1]) == at for at, text in enumerate(texts, start=1)):
        yield from enumerate(own, start=1)
        return
    for node in (*own, *_of_tools(result)):
        mark = node.metadata.get("edgeorder")
        number = mark.get("number") if isinstance(mark, Mapping) else None
        if type(number) is int:
            yield number, node


def _of_tools(result: Any) -> Iterator[NodeWithScore]:
    """Yield the nodes that the tools of a run gave."""
    calls = [getattr(call, "tool_output", None) for call in getattr(result, "tool_calls", None) or ()]
    for output in (*calls, *(getattr(result, "sources", None) or ())):
        yield from _nodes_in(getattr(output, "raw_output", None))
    yield from _nodes_in(getattr(result, "raw", None))  # of a tool with whose result the run ended


def _nodes_in(raw: Any) -> Iterator[NodeWithScore]:
    """Yield the nodes in what a tool gave: a list of them or a response, of which a saved context has but dicts."""
    nodes = raw.get("source_nodes") if isinstance(raw, Mapping) else getattr(raw, "source_nodes", raw)
    for item in nodes if isinstance(nodes, list | tuple) else ():
        if isinstance(item, NodeWithScore):
            yield item
        elif isinstance(item, Mapping) and isinstance(data := item.get("node"), Mapping):
            kind = _KINDS.get(str(data.get("class_name")), TextNode)
            yield NodeWithScore(node=kind.from_dict(dict(data)), score=item.get("score"))
