"""What a model receives, counted: messages, system prompt, bound tools."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from langchain.agents.middleware import ModelRequest
from langchain.agents.structured_output import OutputToolBinding, ProviderStrategy, ToolStrategy
from langchain_core.messages import BaseMessage

from edgeorder.budget import Budget
from edgeorder.messages import MessageCounter
from edgeorder.tokens import checked_counter


class Gauge:
    """Counts against a budget; texts are counted once as long as they are fresh in memory.

    Args:
        budget: Its counter counts.

    Attributes:
        limit: Tokens of the budget beyond its reserve.
    """

    def __init__(self, budget: Budget) -> None:
        self.text = lru_cache(2048)(checked_counter(budget.counter))
        self.messages = MessageCounter(self.text, budget.image_tokens)
        self.limit = budget.left(self.text)
        self._budget = budget

    def __reduce__(self) -> tuple[Any, ...]:
        return Gauge, (self._budget,)  # without what was counted

    def request(self, request: ModelRequest[Any]) -> int:
        """Return the tokens of a request as it stands."""
        system: Sequence[BaseMessage] = [] if request.system_message is None else [request.system_message]
        return self.messages([*system, *request.messages], [*request.tools, *_schemas(request.response_format)])


def _schemas(form: Any) -> list[Any]:
    """Return what is bound for a structured response."""
    if form is None:
        return []
    if isinstance(form, ProviderStrategy):
        return [form.schema_spec.json_schema]
    strategy = form if isinstance(form, ToolStrategy) else ToolStrategy(schema=getattr(form, "schema", form))
    return [OutputToolBinding.from_schema_spec(spec).tool for spec in strategy.schema_specs]
