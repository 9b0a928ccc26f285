"""`retriever_tool`: a search tool for agents that keeps the window and the numbers of a conversation."""

import asyncio
from typing import Any
from weakref import WeakKeyDictionary

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.tools import FunctionTool, ToolOutput
from llama_index.core.workflow import Context

from edgeorder.register import Register
from edgeorder.window import Already, line_of, window
from llamaindex_edgeorder.history import history_of
from llamaindex_edgeorder.numbered import labelled, numbered
from llamaindex_edgeorder.postprocessor import EdgeOrderPostprocessor

KEY = "edgeorder"
"""The key in the workflow's `Context`: `Register.from_dict(await ctx.store.get(KEY))`."""

_HELD = ("scratchpad", "current_reasoning")  # where LlamaIndex's agents keep what their memory does not have yet
_placing: "WeakKeyDictionary[Any, asyncio.Lock]" = WeakKeyDictionary()


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

    A chunk has one number over all searches and turns of a `Context`, calls at once included. Inside
    `with window(6000): await agent.run(...)` all searches of the run share that window; one that finds none left says
    so in a line. `cited(result)` gives the nodes that the answer cites.

    Args:
        retriever: Finds the nodes.
        placer: How they are placed; with layout `"numbered"` unless it says another. With `shadow=True` all of them are
            shown as they were found, and what would be done is recorded.
        name: What the LLM calls it.
        description: What the LLM is told of it.
        already: What stands for a chunk that the agent's messages hold word for word, see `window`.
        return_direct: Whether the run ends with its result.

    Raises:
        ValueError: For a layout that has no numbers, or a prompt, which would show the question a second time.
    """
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
        shown = [] if already == "send" else await _texts(ctx, query)
        # One after the other, so that none gives a number that another one is giving.
        async with _placing.setdefault(ctx.store, asyncio.Lock()):
            register = Register.from_dict(await ctx.store.get(KEY, default={}))
            async with window(register=register, already=already, shown=shown):
                placement = await shows.aplace(nodes, query)
            await ctx.store.set(KEY, register.to_dict())
        return ToolOutput(
            tool_name=name,
            content=placement.text if placement.indices else line_of(placement),
            raw_input={"query": query},
            raw_output=numbered(nodes, placement),
        )

    async def as_it_is(output: ToolOutput) -> ToolOutput:
        return output

    return FunctionTool.from_defaults(
        async_fn=search, name=name, description=description, return_direct=return_direct, async_callback=as_it_is
    )


async def _texts(ctx: Context, query: str) -> list[str]:
    """Return the texts that the agent's next call has: its memory, and the steps of this run."""
    messages: list[Any] = []
    memory = await ctx.store.get("memory", default=None)
    if memory is not None:
        messages += (await asyncio.to_thread(history_of, memory, query, None))[0]
    for key in _HELD:
        messages += await ctx.store.get(key, default=[])
    return [
        (message.content or "") if isinstance(message, ChatMessage) else str(getattr(message, "observation", ""))
        for message in messages
    ]
