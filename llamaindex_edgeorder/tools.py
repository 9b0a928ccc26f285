"""Tools for agents that keep the window and the numbers of a conversation: one searches, one asks a query engine."""

from typing import Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.base.response.schema import AsyncStreamingResponse
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.tools import FunctionTool, ToolOutput
from llama_index.core.workflow import Context

from edgeorder.register import Register
from edgeorder.threads import in_thread
from edgeorder.window import Already, said, window
from llamaindex_edgeorder.conversation import conversation
from llamaindex_edgeorder.history import history_of
from llamaindex_edgeorder.numbered import labelled, numbered
from llamaindex_edgeorder.postprocessor import EdgeOrderPostprocessor

_HELD = ("scratchpad", "current_reasoning")  # where LlamaIndex's agents keep what their memory does not have yet


def retriever_tool(
    retriever: BaseRetriever,
    placer: EdgeOrderPostprocessor | None = None,
    *,
    name: str = "search",
    description: str = "Search the documents. Cite what you use by its number, such as [1].",
    already: Already = "send",
    return_direct: bool = False,
) -> FunctionTool:
    """Return a tool for `FunctionAgent`, `ReActAgent` and `AgentWorkflow` that searches and shows numbered passages.

    A chunk has one number over all searches and turns of a `Context`, calls at once included; with
    `window(register=register)` around the run, in that register too, so that query engines among the tools share it.
    Inside `with window(6000): await agent.run(...)` all searches of the run share that window; one that finds none left
    says so in a line. `cited(result)` gives the nodes that the answer cites.

    Args:
        retriever: Finds the nodes.
        placer: How they are placed; with layout `"numbered"` unless it says another. With `shadow=True` all of them are
            shown as they were found, and what would be done is recorded.
        name: What the LLM calls it.
        description: What the LLM is told of it.
        already: What stands for a chunk that the agent's messages hold word for word, see `window`.
        return_direct: Whether the run ends with its result.

    Raises:
        TypeError: For something else than a retriever and an `EdgeOrderPostprocessor`.
        ValueError: For a layout that has no numbers, or a prompt, which would show the question a second time.
    """
    _check(retriever, "aretrieve", "a retriever", "index.as_retriever()")
    placer = labelled(EdgeOrderPostprocessor() if placer is None else placer)
    window(register=Register(), already=already)  # checked
    shows = placer.unchanged() if placer.shadow else placer

    async def search(ctx: Context, query: str) -> ToolOutput:
        nodes = await retriever.aretrieve(query)
        if placer.shadow:
            with placer.harmless():
                async with window(register=Register()):
                    await placer.aplace(nodes, query)
            nodes = list(nodes)  # as they came, whatever placed them before
        async with conversation(ctx) as (register, turn), turn:
            if placer.shadow:
                numbering = window(register=register, draft=True)
            else:
                seen = [] if already == "send" else await _texts(ctx, query)
                numbering = window(register=register, already=already, shown=seen)
            async with numbering:
                placement = await shows.aplace(nodes, query)
            content = said(placement)
        found = numbered(nodes, placement, whole=True)
        return ToolOutput(tool_name=name, content=content, raw_input={"query": query}, raw_output=found)

    return _tool(search, name, description, return_direct)


def query_engine_tool(
    engine: BaseQueryEngine,
    *,
    name: str = "ask",
    description: str = "Ask a question about the documents. The answer cites what it used by its number, such as [1].",
    return_direct: bool = False,
) -> FunctionTool:
    """Return a tool that asks a query engine with a `NumberedPostprocessor`, whose numbers are the conversation's.

    LlamaIndex's own `QueryEngineTool` knows nothing of the workflow's `Context`: its engine begins at `[1]` each time,
    unless `window(register=register)` stands around the run. With this one, and `retriever_tool` beside it, a chunk has
    one number over all calls and turns of a `Context`, and `cited(result)` gives the nodes that the answer cites.

    Args:
        engine: What is asked. What it reads draws from the window around the run.
        name: What the LLM calls it.
        description: What the LLM is told of it.
        return_direct: Whether the run ends with its answer.

    Raises:
        TypeError: For something else than a query engine.
    """
    _check(engine, "aquery", "a query engine", "index.as_query_engine()")

    async def ask(ctx: Context, query: str) -> ToolOutput:
        async with conversation(ctx) as (register, _):
            async with window(register=register):
                response = await engine.aquery(query)
            if isinstance(response, AsyncStreamingResponse):
                response = await response.get_response()
        return ToolOutput(tool_name=name, content=str(response), raw_input={"query": query}, raw_output=response)

    return _tool(ask, name, description, return_direct)


def _check(given: Any, method: str, what: str, of_index: str) -> None:
    if not callable(getattr(given, method, None)):
        raise TypeError(f"give {what}, such as {of_index}, not {given!r:.80}")


def _tool(function: Any, name: str, description: str, return_direct: bool) -> FunctionTool:
    """Return a tool whose output goes on as the function made it."""

    async def as_it_is(output: ToolOutput) -> ToolOutput:
        return output

    return FunctionTool.from_defaults(
        async_fn=function, name=name, description=description, return_direct=return_direct, async_callback=as_it_is
    )


async def _texts(ctx: Context, query: str) -> list[str]:
    """Return the texts that the agent's next call has: its memory, and the steps of this run."""
    messages: list[Any] = []
    memory = await ctx.store.get("memory", default=None)
    if memory is not None:
        messages += (await in_thread(history_of, memory, query, None))[0]
    for key in _HELD:
        messages += await ctx.store.get(key, default=[])
    return [
        (message.content or "") if isinstance(message, ChatMessage) else str(getattr(message, "observation", ""))
        for message in messages
    ]
