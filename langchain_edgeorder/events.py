"""The record as a LangChain custom event, so that it shows in traces and in `astream_events`."""

from langchain_core.callbacks import (
    BaseCallbackManager,
    Callbacks,
    adispatch_custom_event,
    dispatch_custom_event,
)
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config

from edgeorder.placement import Placement
from edgeorder.window import drafting

EVENT = "edgeorder"
"""The name of the custom event; its data is `OrderRecord.to_dict()`."""


def dispatch(placement: Placement, callbacks: Callbacks) -> None:
    """Send the record to the handlers of the run that we are in, if there is a run and it has handlers."""
    config = _listening(callbacks)
    if config is not None:
        dispatch_custom_event(EVENT, placement.record.to_dict(), config=config)


async def adispatch(placement: Placement, callbacks: Callbacks) -> None:
    """The same for async runs."""
    config = _listening(callbacks)
    if config is not None:
        await adispatch_custom_event(EVENT, placement.record.to_dict(), config=config)


def _listening(callbacks: Callbacks) -> RunnableConfig | None:
    """Return the config to send an event with; None when nobody would get it, so that no record is built."""
    if drafting():
        return None
    if callbacks is None:
        config = var_child_runnable_config.get()
        callbacks = config.get("callbacks") if config else None
    # Outside a run there is no parent, and LangChain refuses custom events.
    if isinstance(callbacks, BaseCallbackManager) and callbacks.parent_run_id is not None and callbacks.handlers:
        return {"callbacks": callbacks}
    return None
