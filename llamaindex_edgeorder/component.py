"""What both postprocessors are as components of LlamaIndex: a misspelt field raises, and pickling changes nothing."""

from typing import Any

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from pydantic import ConfigDict, model_validator
from typing_extensions import override


class Component(BaseNodePostprocessor):
    """A postprocessor that refuses unknown fields and stays whole when it is pickled."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    @model_validator(mode="before")
    @classmethod
    def _without_class_name(cls, data: Any) -> Any:
        """Accept what `model_dump` wrote: LlamaIndex adds the class name to it."""
        if isinstance(data, dict) and data.get("class_name") == cls.class_name():
            return {name: value for name, value in data.items() if name != "class_name"}
        return data

    @override
    def __getstate__(self) -> dict[str, Any]:
        # LlamaIndex deletes what cannot be pickled, such as a callback manager's handlers, from the object itself.
        return super(Component, self.model_copy()).__getstate__()
