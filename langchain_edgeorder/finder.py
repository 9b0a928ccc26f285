"""Which results of an agent's tools a middleware writes anew, and what it finds in them."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from langchain_core.documents import Document
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.tools.retriever import RetrieverInput
from langgraph.prebuilt.tool_node import ToolCallRequest

from edgeorder.alerts import warn
from edgeorder.budget import as_budget
from edgeorder.message_parts import WORDLESS, worded
from edgeorder.placed import by_rank
from langchain_edgeorder.order import EdgeOrder
from langchain_edgeorder.tool_results import documents_in, text_of, watched, what_came


class Found(NamedTuple):
    """A tool message, and the documents that its tool returned, or its text if texts are cut."""

    message: ToolMessage
    documents: list[Document] | str


class Finder:
    """Looks for documents in what tools return.

    Args:
        tools: The name of the tool that it is for, or a list of names; None for all.
        texts: Whether plain texts are found, too.
        owner: The class of the middleware, for what is said of it.

    Raises:
        TypeError: For tools that are not given by name.
    """

    def __init__(self, tools: str | Sequence[str] | None, *, texts: bool, owner: str) -> None:
        names: list[Any] = list(tools) if isinstance(tools, Iterable) and not isinstance(tools, str) else [tools]
        if tools is not None and not all(isinstance(name, str) for name in names):
            raise TypeError(f"tools= takes the name of a tool or a list of names, not {tools!r:.80}")
        self.names = None if tools is None else frozenset(names)
        self.texts = texts
        self.owner = owner
        self.owner_name = owner if self.names is None else f"{owner}({', '.join(sorted(self.names))})"

    def watching(self, request: ToolCallRequest) -> tuple[ToolCallRequest, list[Any]]:
        """Return the request with a tool that keeps what it returns, if the tool is ours."""
        self._check_names(request)
        if request.tool is None or not self._is_for(request) or request.tool.response_format != "content":
            return request, []
        tool, returned = watched(request.tool)
        return request.override(tool=tool), returned

    def found(self, request: ToolCallRequest, result: Any, returned: list[Any]) -> Found | None:
        """Return the documents of a result; None if it is none of ours."""
        if not self._is_for(request):
            return None
        named = self.names is not None
        if isinstance(result, ToolMessage) and result.status != "error":
            documents = documents_in(result, returned, blocks=1 if named else 2)
            if documents is not None:
                return Found(result, list(by_rank(documents))) if documents else None
            if self.texts:
                text = text_of(result)
                if text or isinstance(result.content, str):
                    return Found(result, text) if text else None
        told = named or _of_a_retriever(request.tool)
        if told and not (isinstance(result, ToolMessage) and result.status == "error"):
            warn(
                f"the tool {request.tool_call['name']!r} returned {what_came(result)}, which {self.owner_name} does "
                "not understand and leaves as it is: documents come as a list of Document, as text blocks, or as the "
                "artifact of response_format='content_and_artifact'"
            )
        return None

    def _is_for(self, request: ToolCallRequest) -> bool:
        return self.names is None or request.tool_call["name"] in self.names

    def _check_names(self, request: ToolCallRequest) -> None:
        known = {tool.name for tool in getattr(request.runtime, "tools", None) or ()}
        if self.names is not None and known and (missing := sorted(self.names - known)):
            warn(f"tools={missing} of {self.owner} are no tools of this agent, which has {sorted(known)}")


def _of_a_retriever(tool: BaseTool | None) -> bool:
    """Say whether `create_retriever_tool` made a tool: by default it returns a text, of which nothing can be placed."""
    return tool is not None and tool.args_schema is RetrieverInput


def query_of(request: ToolCallRequest, query_arg: str, placer: EdgeOrder | None) -> str | None:
    """Return what a model asked a tool for; `WORDLESS` where it left that out, though the tool takes it.

    Args:
        request: The call.
        query_arg: The argument that holds it; a list of texts is one text.
        placer: What may need it; None if nothing does.

    Raises:
        ValueError: If it is needed, and the tool has no such argument.
    """
    args = request.tool_call["args"]
    given = args.get(query_arg)
    if isinstance(given, list) and all(isinstance(part, str) for part in given):
        given = "\n".join(given)
    if isinstance(given, str):
        return worded(given)
    budget = None if placer is None else as_budget(placer.budget)
    if placer is None or (placer.rerank is None and (budget is None or budget.overflow != "compress")):
        return None
    taken = {*args, *(request.tool.args if request.tool else ())}
    if query_arg not in taken:
        raise ValueError(
            f"scoring needs the query, and the call of {request.tool_call['name']!r} has none under {query_arg!r}: set "
            f"query_arg to one of {sorted(taken)}"
        )
    return WORDLESS
