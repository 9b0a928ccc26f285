"""The register of a conversation: in the workflow's `Context`, and in the window around a run where that has one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from llama_index.core.workflow import Context

from edgeorder.register import Register
from edgeorder.window import registered

KEY = "edgeorder"
"""The key in the workflow's `Context`: `Register.from_dict(await ctx.store.get(KEY))`."""


@dataclass
class Running:
    """What the calls share that run at once in a context.

    Args:
        register: Where the numbers of the conversation stand.
        turn: Who holds it gives numbers now: those of parallel searches come in the order of the searches.
        calls: How many calls run.
    """

    register: Register | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    calls: int = 0


_running: dict[Any, Running] = {}


def _known(data: Any) -> Register:
    try:
        return Register.from_dict(data)
    except TypeError as error:
        raise TypeError(f"edgeorder keeps its numbers in the context under {KEY!r}: {error}") from error


@asynccontextmanager
async def conversation(ctx: Context) -> AsyncIterator[tuple[Register, asyncio.Lock]]:
    """Give the register of a conversation, and the lock of those who give numbers; at the end the context has them.

    Where the window around has a register, it is that one: the other tools of a run number by it, since query engines
    know nothing of the context. What the context knows goes into it first.
    """
    store = ctx.store
    running = _running.setdefault(store, Running())
    running.calls += 1  # before the first wait: the register stays as long as anybody may still read an old one
    try:
        known, around = _known(await store.get(KEY, default={})), registered()
        if around is not None:
            running.register = around
        elif running.register is None:
            running.register = known
        register = running.register
        register.adopt(known)
        yield register, running.turn
        await store.set(KEY, register.to_dict())
    finally:
        running.calls -= 1
        if not running.calls:
            del _running[store]
