"""Ten turns on one subject: each search finds mostly what earlier ones found, and need not send it again.

`EdgeOrderMiddleware` keeps one register for the conversation: a section has one number in all of it. With
`already="point"` a section that stands above is one line, such as `[4] above`. A scripted model searches once a turn
and cites what the search found best.

Run it: `pip install 'edgeorder[agents,text]'`, then
`python examples/langchain_conversation.py`. It needs no network and no tokenizer: tokens are counted by
`approximate_counter`, an upper bound.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from handbook import Section, search
from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import create_retriever_tool
from langgraph.checkpoint.memory import InMemorySaver

from edgeorder import Register, approximate_counter
from langchain_edgeorder import EdgeOrder, EdgeOrderMiddleware, cited

SUBJECT = "hotel, flat, meals and journeys home during a long stay of several weeks"
QUESTIONS = [
    "What may the room cost?",
    "Is a serviced flat paid for too?",
    "Who approves a higher limit?",
    "What is paid for meals?",
    "May I travel home at weekends?",
    "Is the laundry paid for?",
    "Which receipts do I need?",
    "When must I hand in the claim?",
    "What if I cancel the room?",
    "Does the stay change where I pay tax?",
]
count = approximate_counter()
_LABEL = re.compile(r"^\[(\d+)\]", re.MULTILINE)


class ScriptedModel(BaseChatModel):
    """Searches for what the user asks, then cites the first passage that it was shown."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> "ScriptedModel":
        """Return itself: it knows which tool it calls."""
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            number = _LABEL.findall(last.text)[0]
            message = AIMessage(f"It is written in [{number}] (scripted).")
        else:
            query = f"{SUBJECT}: {last.text}"
            call = {"name": "search_handbook", "args": {"query": query}, "id": f"call-{len(messages)}"}
            message = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=message)])


def find(query: str) -> list[Document]:
    """Return sections of the handbook, best first. A vector store's retriever stands here in your code."""
    return [as_document(section) for section, _ in search(query, 10)]


def as_document(section: Section) -> Document:
    """Return a section as a document."""
    return Document(section.text, id=str(section), metadata={"title": section.title, "source": section.document})


def talk(already: Literal["send", "point"]) -> Iterator[dict[str, Any]]:
    """Hold the conversation, and yield the agent's state after each turn."""
    tool = create_retriever_tool(
        RunnableLambda(find), "search_handbook", "Search the travel policy.", response_format="content_and_artifact"
    )
    middleware = EdgeOrderMiddleware(EdgeOrder(layout="numbered"), already=already)
    agent = create_agent(ScriptedModel(), [tool], middleware=[middleware], checkpointer=InMemorySaver())
    for question in QUESTIONS:
        yield agent.invoke({"messages": [HumanMessage(question)]}, {"configurable": {"thread_id": "1"}})


def main() -> None:
    """Hold the conversation twice, and compare what was sent."""
    print("turn  found  above  tokens sent  with pointers  cited")
    totals = [0, 0]
    turns = zip(talk("send"), talk("point"), strict=True)
    for turn, states in enumerate(turns, start=1):
        blocks = [[m.text for m in state["messages"] if isinstance(m, ToolMessage)][-1] for state in states]
        sent, pointed = map(count, blocks)
        totals = [totals[0] + sent, totals[1] + pointed]
        above = len(re.findall(r"^\[\d+\] above$", blocks[1], re.MULTILINE))
        (document,) = cited(states[1])
        print(f"{turn:4}  {len(_LABEL.findall(blocks[1])):5}  {above:5}  {sent:11,}  {pointed:13,}  {document.id}")

    saved = 1 - totals[1] / totals[0]
    print(f"\nBlocks of ten turns: {totals[0]:,} tokens sent, {totals[1]:,} with pointers: {saved:.0%} less")
    known = Register.from_dict(states[1]["edgeorder"]["register"]).sources()
    everything = AIMessage(" ".join(f"[{source.number}]" for source in known))
    documents = cited({**states[1], "messages": [*states[1]["messages"], everything]})
    transcript = "".join(message.text for message in states[1]["messages"])
    whole = sum(document.page_content in transcript for document in documents)
    print(f"Numbers given: {len(known)}; sections that they lead to and that stand above, whole: {whole}")


if __name__ == "__main__":
    main()
