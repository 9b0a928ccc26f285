"""The record in LangChain: a custom event for handlers and `astream_events`, and a child run for tracers.

Custom events never reach LangChain's tracers, LangSmith's among them; runs do.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from langchain_core.callbacks import (
    BaseCallbackManager,
    Callbacks,
    adispatch_custom_event,
    dispatch_custom_event,
)
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import (
    ensure_config,
    get_async_callback_manager_for_config,
    get_callback_manager_for_config,
    var_child_runnable_config,
)

from edgeorder.placement import Placement
from edgeorder.window import drafting

EVENT = "edgeorder"
"""The name of the custom event and of the child run; data and outputs are `OrderRecord.to_dict()`."""


def dispatch(placement: Placement, callbacks: Callbacks) -> None:
    """Send the record to the handlers of the run that we are in, if there is a run and it has handlers."""
    config = _listening(callbacks)
    if config is None:
        return
    data = placement.record.to_dict()
    dispatch_custom_event(EVENT, data, config=config)
    get_callback_manager_for_config(config).on_chain_start(None, _asked(data), name=EVENT).on_chain_end(data)


async def adispatch(placement: Placement, callbacks: Callbacks) -> None:
    """The same for async runs."""
    config = _listening(callbacks)
    if config is None:
        return
    data = placement.record.to_dict()
    await adispatch_custom_event(EVENT, data, config=config)
    run = await get_async_callback_manager_for_config(config).on_chain_start(None, _asked(data), name=EVENT)
    await run.on_chain_end(data)


@contextmanager
def inherited(config: RunnableConfig | None) -> Iterator[None]:
    """Let the models and retrievers that are called inside know a config, as the steps of a chain do."""
    own = ("run_name", "run_id")  # of the run itself, and of no other
    known: Any = {name: value for name, value in ensure_config(config).items() if name not in own}
    token = var_child_runnable_config.set(known)
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def beneath(callbacks: Callbacks) -> AbstractContextManager[None]:
    """Let what is called inside run beneath the run of these callbacks; without any, in that which we are in."""
    return nullcontext() if callbacks is None else inherited({"callbacks": callbacks})


def trace_of(callbacks: Callbacks) -> str | None:
    """Return what joins the runs of one request; None outside a run.

    It is `trace_id` in the metadata of the config, else the id of the outermost run that a tracer knows, else that of
    the run that we are in.
    """
    manager = _manager(callbacks)
    if manager is None or manager.parent_run_id is None:
        return None
    if (own := manager.metadata.get("trace_id")) is not None:
        return str(own)
    here = str(manager.parent_run_id)
    for handler in manager.handlers:
        if (run := getattr(handler, "run_map", {}).get(here)) is not None:
            return str(run.trace_id or here)
    return here


def _asked(data: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs of the child run: no text of the user's, as nowhere in a record."""
    return {"chunks": len(data["chunks"]), "budget": data["budget"]}


def _listening(callbacks: Callbacks) -> RunnableConfig | None:
    """Return the config to send an event with; None when nobody would get it, so that no record is built."""
    if drafting():
        return None
    manager = _manager(callbacks)
    # Outside a run there is no parent, and LangChain refuses custom events.
    if manager is not None and manager.parent_run_id is not None and manager.handlers:
        return {"callbacks": manager}
    return None


def _manager(callbacks: Callbacks) -> BaseCallbackManager | None:
    if callbacks is None:
        config = var_child_runnable_config.get()
        callbacks = config.get("callbacks") if config else None
    return callbacks if isinstance(callbacks, BaseCallbackManager) else None
