"""Arranging: the kept chunks become block units, the units are ordered, and their chunks laid out."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from edgeorder.auto import Auto
from edgeorder.call import Call
from edgeorder.nearhead import near_head
from edgeorder.orders import ORDERS, Order, checked_permutation, order_name
from edgeorder.profile import PositionProfile
from edgeorder.ranking import indices_at
from edgeorder.reading import block_units


class Arrangement(NamedTuple):
    """Which chunk sits where, and why.

    Args:
        ranks: Rank (0-based) at each position, head first.
        units: Each the 0-based ranks of its chunks in reading order; None when all stand alone.
        order: Name of the order.
        reason: Why that order, in words.
        notes: What the record should say.
    """

    ranks: Sequence[int]
    units: list[list[int]] | None
    order: str
    reason: str
    notes: tuple[str, ...] = ()


def arrange(call: Call, kept: Sequence[int], texts: Mapping[int, str]) -> Arrangement:
    """Return the arrangement of the kept ranks (0-based).

    Args:
        call: The call.
        kept: Ranks, best first.
        texts: Shortened bodies by input index.
    """
    view, plan, ranking = call.view, call.plan, call.ranking
    units, notes = block_units(view, ranking, kept, plan.reading)
    n = len(kept if units is None else units)
    order: Order
    if isinstance(plan.order, Auto):
        name, reason = plan.order.choose(view, indices_at(ranking, kept), call.scores, texts)
        order = ORDERS[name]
    elif isinstance(plan.order, PositionProfile):
        order, (name, reason) = plan.order, plan.order.decide(n)
    else:
        order, name, reason = plan.order, order_name(plan.order), "asked for"
    permute = order if order is ORDERS.get(name) else partial(checked_permutation, order)
    slots = permute(n)
    if units is None:
        return Arrangement(slots if type(kept) is range else [kept[at] for at in slots], None, name, reason, notes)
    if plan.reading == "runs":
        units, slots, more = near_head(units, slots, permute)
        notes += more
    return Arrangement([rank for unit in slots for rank in units[unit]], units, name, reason, notes)
