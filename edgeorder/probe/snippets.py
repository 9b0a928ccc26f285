"""The code that a report shows: how to ask as was measured. The tests run every line of it."""

import json
from collections.abc import Mapping
from typing import Any

from edgeorder.orders import ORDERS
from edgeorder.probe.comparison import Arm
from edgeorder.profile import PositionProfile


def profile_code(profile: str) -> str:
    """Return the lines that use a profile.

    Args:
        profile: The file that it was saved as.

    >>> print(profile_code("my-model.json"))
    from edgeorder import PositionProfile
    from langchain_edgeorder import EdgeOrder
    <BLANKLINE>
    EdgeOrder(order=PositionProfile.load("my-model.json"))
    """
    return _lines("PositionProfile", f"EdgeOrder(order={_loaded(profile)})")


def arm_code(arm: Arm, setup: Mapping[str, Any], profile: str | None) -> str:
    """Return the lines that make the prompt of an arm for a user's own documents; "" for an order without a name.

    Args:
        arm: The arm.
        setup: That of its comparison, as `Setup.to_dict` writes it.
        profile: The file of the measured order, if there is one.
    """
    measured = arm.order == PositionProfile.name
    if (profile is None) if measured else (arm.order not in ORDERS):
        return ""
    order = _loaded(str(profile)) if measured else _literal(arm.order)
    reading = "" if arm.reading == "runs" else f", reading={_literal(arm.reading)}"
    style = f", layout={_literal(setup['style'])}" if "style" in setup else ""
    instruction = f", {_literal(setup['instruction'])}" if setup.get("instruction") else ""
    prompt = f"Prompt({_literal(arm.question_place)}{instruction})"
    return _lines(
        "PositionProfile, Prompt" if measured else "Prompt",
        f"edge_order = EdgeOrder(order={order}{reading}{style}, prompt={prompt})",
        "prompt = edge_order.place(documents, query=question).prompt",
    )


def _loaded(profile: str) -> str:
    return f"PositionProfile.load({_literal(profile)})"


def _literal(text: str) -> str:
    """Return a text as Python writes it: JSON's escapes are Python's, as long as nothing is written as a pair."""
    return json.dumps(text, ensure_ascii=False)


def _lines(names: str, *code: str) -> str:
    return "\n".join([f"from edgeorder import {names}", "from langchain_edgeorder import EdgeOrder", "", *code])
