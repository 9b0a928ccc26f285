"""`room`: how many tokens of context a prompt leaves of a model's window."""

from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.language_models import BaseLanguageModel
from langchain_core.prompts import BasePromptTemplate
from langchain_core.runnables import Runnable
from langchain_core.runnables.base import RunnableBindingBase

from edgeorder.budget import Budget
from edgeorder.chunk import TokenCounter
from edgeorder.errors import BudgetError
from edgeorder.message_parts import IMAGE_TOKENS
from edgeorder.tokens import message_counter
from langchain_edgeorder.order import EdgeOrder


def room(
    chain: Runnable[Any, Any],
    values: Mapping[str, Any],
    model: Any = None,
    *,
    context_key: str = "context",
    answer: int = 0,
    counter: TokenCounter | str | None = None,
    image_tokens: int = IMAGE_TOKENS,
) -> Budget:
    """Return the budget that a prompt leaves for documents: `with window(room(chain, values)): chain.invoke(...)`.

    The model's window, by its `profile`, less all messages of the prompt as they are formatted without context, and
    less the JSON of the tools that are bound to the model.

    Args:
        chain: A chain with one prompt and one model in it, or a prompt.
        values: The variables of the prompt, such as question and history; the context is left out.
        model: The model, where `chain` is a prompt.
        context_key: The variable of the prompt that holds the documents.
        answer: Tokens to leave for the answer, for models whose window holds it too.
        counter: What counts, as in `Budget`.
        image_tokens: What each image counts.

    Raises:
        BudgetError: If the prompt leaves nothing.
        ValueError: If the model does not know its window.
        TypeError: If there is no prompt or no model, or several.
    """
    prompt = _only(chain, BasePromptTemplate, "prompt")
    model = _only(chain, BaseLanguageModel, "model") if model is None else model
    value = prompt.invoke({**values, context_key: ""})
    model, bound = _unbound(model)
    window = Budget.for_model(model, 1.0).tokens
    count = message_counter(counter, image_tokens=image_tokens)
    left = window - answer - count(value.to_messages(), bound.get("tools", ()))
    if left < 1:
        raise BudgetError(
            f"no room for context: the model takes {window} tokens, {answer} are for the answer, and the prompt needs "
            "the rest. Shorten the history or use a model with a larger window."
        )
    return Budget(left, counter)


def _only(chain: Any, kind: type, what: str) -> Any:
    """Return the one step of a kind, with what is bound to it."""
    found = {id(step): step for step in _steps(chain, kind)}
    if len(found) != 1:
        raise TypeError(
            f"room() needs a chain with one {what}, and this has {len(found)}: give the prompt and the model"
        )
    return next(iter(found.values()))


def _unbound(step: Any) -> tuple[Any, Mapping[str, Any]]:
    """Return a step without what is bound around it, such as tools and retries, and the keywords that are bound."""
    bound: dict[str, Any] = {}
    while isinstance(step, RunnableBindingBase):
        step, bound = step.bound, {**step.kwargs, **bound}
    return step, bound


def _steps(step: Any, kind: type) -> Iterator[Any]:
    if isinstance(_unbound(step)[0], kind):
        yield step
    elif isinstance(step, Runnable) and not isinstance(step, EdgeOrder):  # the prompt in it is that of a document
        for part in vars(step).values():
            yield from _steps(part, kind)
    elif isinstance(step, Mapping | list | tuple):
        for part in step.values() if isinstance(step, Mapping) else step:
            yield from _steps(part, kind)
