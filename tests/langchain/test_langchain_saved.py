"""What lasts: agents with checkpoints in memory and in files, killed and resumed, under LangGraph's strict loading."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from agents import calling, finding, letters, saying
from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from edgeorder import Budget, OrderRecord, Placement, Register, window
from langchain_edgeorder import ContextMiddleware, EdgeOrder, EdgeOrderMiddleware

HERE = Path(__file__).parent


def run(file: object, mode: str = "go") -> subprocess.CompletedProcess[str]:
    """Run the agent as a process of its own."""
    env = {**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true", "PYTHONPATH": f"{HERE.parent.parent}{os.pathsep}{HERE}"}
    command = [sys.executable, str(HERE / "resuming.py"), str(file), mode]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


@pytest.fixture(scope="module")
def whole() -> Any:
    """What an agent whose checkpoints stay in memory comes to, with nothing logged."""
    done = run(":memory:")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_killed_and_resumed(tmp_path, whole):
    """Killed between search and answer and resumed from the file, the run is as if nothing had happened."""
    file = tmp_path / "checkpoints.sqlite"
    died = run(file, "die")
    assert (died.returncode, died.stdout) == (9, "")
    done = run(file)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == whole


def test_what_it_shows(whole):
    """The run in question has numbers over context and tools, pointers, and citations that lead to documents."""
    assert whole["cited"] == [["X", "G"]] * 2
    assert "[1] above" in whole["shown"][-1]


def test_as_values_of_a_state(caplog):
    """Placements, records and registers as JSON come back equal from LangGraph's serializer, nothing is logged."""
    documents = [Document(f"Text {n}.", id=str(n)) for n in range(6)]
    register = Register()
    with window(register=register):
        placement = EdgeOrder(budget=100, layout="numbered").place(documents)
    serializer = JsonPlusSerializer(allowed_msgpack_modules=None)
    state = {"placement": placement.to_dict(), "record": placement.record.to_dict(), "register": register.to_dict()}
    loaded = serializer.loads_typed(serializer.dumps_typed({**state, "documents": placement.apply(documents)}))
    assert Placement.from_dict(loaded["placement"]) == placement
    assert OrderRecord.from_dict(loaded["record"]) == placement.record
    assert Register.from_dict(loaded["register"]) == register
    assert loaded["documents"] == placement.apply(documents)
    assert caplog.records == []


def words(text: str) -> int:
    return len(text.split())


def find(query: str) -> list[Document]:
    return letters(query)


def test_middlewares_go_to_other_processes():
    """Pickled, an agent's middlewares do what they did."""
    placer = EdgeOrder(budget=Budget(400, words))
    middleware = [ContextMiddleware(RunnableLambda(find), placer), EdgeOrderMiddleware(placer, reserve_history=True)]
    seen = []
    for own in (middleware, pickle.loads(pickle.dumps(middleware))):
        model = saying(calling("ABCDE"), "So.")
        create_agent(model, [finding(letters)], middleware=own).invoke({"messages": [HumanMessage("XYZ")]})
        seen.append([[message.text for message in sent] for sent in model.seen])
    assert seen[0] == seen[1]
