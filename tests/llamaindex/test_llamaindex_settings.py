"""What LlamaIndex adds to the settings: the class name in a dump, a callback manager, and users' subclasses."""

import pickle
from typing import Any

import pytest
from llama_index.core.callbacks import CallbackManager
from pydantic import ValidationError

from edgeorder import Budget
from edgeorder.settings import PlacementSettings
from llamaindex_edgeorder import EdgeOrderPostprocessor


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
