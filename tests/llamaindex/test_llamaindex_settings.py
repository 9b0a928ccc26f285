"""What LlamaIndex adds to the settings: the class name in a dump, a callback manager, and users' subclasses."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.callbacks import CallbackManager, LlamaDebugHandler
from pydantic import ValidationError
from talking import Letters

from edgeorder import Budget
from edgeorder.settings import PlacementSettings
from llamaindex_edgeorder import EdgeOrderPostprocessor, NumberedPostprocessor, query_engine_tool, retriever_tool


class Labelled(EdgeOrderPostprocessor):
    """A user's subclass with fields of its own."""

    label: str = "x"
    hook: Any = None


def test_the_fields_are_those_of_every_adapter() -> None:
    """LlamaIndex's base adds a callback manager, and no default differs."""
    fields = {name: field.default for name, field in EdgeOrderPostprocessor.model_fields.items()}
    del fields["callback_manager"]
    assert fields == {name: field.default for name, field in PlacementSettings.model_fields.items()}


def test_a_subclass_keeps_its_own_fields() -> None:
    """A user's subclass round-trips with its fields, and a lambda in one of them raises like one in ours."""
    post = Labelled(label="y", budget=Budget(100), hook=len)
    loaded = pickle.loads(pickle.dumps(post))
    assert (type(loaded), loaded.label, loaded.budget, loaded.hook) == (Labelled, "y", Budget(100), len)
    assert Labelled.from_dict(Labelled(label="z").to_dict()).label == "z"
    with pytest.raises(TypeError, match=r"Labelled\.hook cannot be pickled"):
        pickle.dumps(Labelled(hook=lambda: None))
    with pytest.raises(ValidationError, match="lable"):
        Labelled(lable="y")


def test_an_engine_can_assign_its_callback_manager() -> None:
    """Engines set `callback_manager`, which stays out of every dump, where the stable class name stands."""
    post = EdgeOrderPostprocessor(budget=10)
    manager, before = CallbackManager([]), post.to_dict()
    post.callback_manager = manager
    assert post.callback_manager is manager
    assert post.to_dict() == before
    assert before["class_name"] == EdgeOrderPostprocessor.class_name() == "EdgeOrderPostprocessor"
    with pytest.raises(ValidationError, match="class_name"):
        EdgeOrderPostprocessor(**{**before, "class_name": "Other"})


POSTS: dict[str, Callable[..., Any]] = {
    "order": EdgeOrderPostprocessor,
    "numbered": lambda **settings: NumberedPostprocessor(placer=EdgeOrderPostprocessor(**settings)),
}


@pytest.mark.parametrize("kind", POSTS)
def test_what_cannot_be_pickled_is_said_and_changes_nothing(kind: str) -> None:
    """A lambda in a setting raises and names it; the postprocessor stays as it was, and is copied with it."""
    post = POSTS[kind](budget=7, recorders=[lambda record: None])
    for write in (pickle.dumps, lambda post: post.to_dict(), lambda post: post.model_dump()):
        with pytest.raises(Exception, match=r"recorders (cannot be pickled|holds <function)"):
            write(post)
    for same in (post, copy.deepcopy(post), copy.copy(post)):
        placer = getattr(same, "placer", same)
        assert (placer.budget, placer.recorders) == (7, getattr(post, "placer", post).recorders)


@pytest.mark.parametrize("kind", POSTS)
def test_pickling_keeps_the_callback_manager_of_an_engine(kind: str) -> None:
    """An engine sets a callback manager whose handlers cannot be pickled: the pickle has a new one, the original its
    own."""
    post = POSTS[kind](budget=7)
    handler = LlamaDebugHandler(print_trace_on_end=False)
    handler.hook = lambda: None  # type: ignore[attr-defined]
    post.callback_manager = manager = CallbackManager([handler])
    loaded = pickle.loads(pickle.dumps(post))
    assert post.callback_manager is manager
    assert loaded.callback_manager.handlers == []
    assert getattr(loaded, "placer", loaded).budget == 7


def test_numbered_settings() -> None:
    """A misspelt field raises, as in the placer; a dump loads by each way, and loses no field of a user's placer."""
    for wrong in ({"budget": 500}, {"placers": EdgeOrderPostprocessor()}, {"class_name": "Other"}):
        with pytest.raises(ValidationError, match=next(iter(wrong))):
            NumberedPostprocessor(**wrong)
    post = POSTS["numbered"](budget=Budget(500, overflow="truncate"))
    for loaded in (
        NumberedPostprocessor(**post.model_dump()),
        NumberedPostprocessor.model_validate(post.to_dict()),
        NumberedPostprocessor.from_json(post.to_json()),
        pickle.loads(pickle.dumps(post)),
    ):
        assert loaded.placer.budget == post.placer.budget
    own = NumberedPostprocessor(placer=Labelled(label="y"))
    assert own.to_dict()["placer"]["label"] == "y"
    assert pickle.loads(pickle.dumps(own)).placer.label == "y"


def test_tools_of_something_else_are_refused() -> None:
    """An index, a retriever for an engine or another postprocessor: an error at once says what to give."""
    for wrong in (None, VectorStoreIndex.__new__(VectorStoreIndex)):
        with pytest.raises(TypeError, match=r"give a retriever, such as index\.as_retriever\(\), not"):
            retriever_tool(wrong)
        with pytest.raises(TypeError, match=r"give a query engine, such as index\.as_query_engine\(\), not"):
            query_engine_tool(wrong)
    with pytest.raises(TypeError, match=r"not <talking\.Letters"):
        query_engine_tool(Letters())
    for wrong in ("x", NumberedPostprocessor()):
        with pytest.raises(TypeError, match="placer must be an EdgeOrderPostprocessor, not"):
            retriever_tool(Letters(), wrong)
