"""An agent with a checkpoint in a file, run as a process of its own: `python resuming.py FILE die|go`.

`die` kills the process in its second model call; the next process goes on where it was. It prints what the model saw
last, which documents the answer cites, and everything that was logged or warned of.
"""

import json
import logging
import os
import sqlite3
import sys
import warnings
from typing import Any

if __name__ == "__main__":  # before the imports, which may log or warn
    logging.basicConfig(stream=sys.stdout, level=logging.WARNING, format="LOG %(name)s %(message)s")
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", module="langgraph.checkpoint")

from agents import calling, finding, letters, saying
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from edgeorder import Budget, OrderRecord, Placement, Register, message_counter
from langchain_edgeorder import ContextMiddleware, EdgeOrder, EdgeOrderMiddleware, cited

COUNT = message_counter(lambda text: len(text.split()))
SAID = [calling("ABCDEF", "BGH"), "So [1].", calling("AIJ"), "So [2] and [8]."]


def main(file: str, mode: str) -> None:
    """Run two turns, or die in the first."""
    memory = file == ":memory:"
    saver = InMemorySaver() if memory else SqliteSaver(sqlite3.connect(file, check_same_thread=False))
    config: Any = {"configurable": {"thread_id": "1"}}
    placer = EdgeOrder(budget=Budget(420, COUNT), order="relevance", reading="off")
    middleware = [
        ContextMiddleware(RunnableLambda(lambda query: letters("AX")), placer),
        EdgeOrderMiddleware(placer, reserve_history=True, already="point"),
    ]

    def agent_with(model: Any) -> Any:
        return create_agent(model, [finding(letters)], middleware=middleware, checkpointer=saver)

    before = agent_with(saying()).get_state(config)
    done = sum(message.type == "ai" for message in before.values.get("messages", ()))
    model = saying(*SAID[done:])
    if mode == "die":
        generate = type(model)._generate

        def once(self: Any, messages: Any, *args: Any, **kwargs: Any) -> Any:
            if len(messages) > 3:
                os._exit(9)
            return generate(self, messages, *args, **kwargs)

        type(model)._generate = once
    agent = agent_with(model)
    result = agent.invoke(None if before.next else {"messages": [HumanMessage("Why?")]}, config, durability="sync")
    result = agent.invoke({"messages": [HumanMessage("And?")]}, config)
    loaded = agent.get_state(config).values
    placement = placer.place(letters("ABC"), "?")
    assert Placement.from_dict(json.loads(json.dumps(placement.to_dict()))) == placement
    assert OrderRecord.from_dict(placement.record.to_dict()) == placement.record
    assert Register.from_dict(loaded["edgeorder"]["register"]) == Register.from_dict(result["edgeorder"]["register"])
    shown = [message.text for message in model.seen[-1]]
    print(json.dumps({"shown": shown, "cited": [[d.id for d in cited(one)] for one in (result, loaded)]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
