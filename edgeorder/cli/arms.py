"""Arms of a comparison or a plan as they are named in a shell: `--placer 'new: order=bookend, k=10, budget=3000'`."""

from collections.abc import Callable, Sequence
from typing import Any

from edgeorder.budget import Budget
from edgeorder.errors import bad_choice
from edgeorder.plan import make_plan
from edgeorder.profile import PositionProfile
from edgeorder.systems import AS_IS, Placer, named_placer
from edgeorder.tokens import approximate_counter

_FORM = "'NAME: order=bookend, k=10', or the name of an order, or as_is"


def placers(texts: Sequence[str]) -> dict[str, Placer]:
    """Return the placers of `--placer`, by name.

    Raises:
        ValueError: For an unknown name, setting or value, or a name that is there twice.
    """
    found: dict[str, Placer] = {}
    for text in texts:
        name, colon, rest = (part.strip() for part in text.partition(":"))
        if name in found:
            raise ValueError(f"--placer {name!r:.60} is there twice; give each a name of its own")
        if not name or (not colon and "=" in name):
            raise ValueError(f"--placer {text!r:.60} has no name; write {_FORM}")
        if colon:
            found[name] = _settings(name, rest)
        else:
            named_placer(name)
            found[name] = name
    return found


def settings(values: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords of `place` for settings as a shell tells them, checked.

    Args:
        values: As `place` has them, but `order` may be the file of a profile, and `overflow` and `counter` belong to
            the budget. `k` stays as it is.

    Raises:
        ValueError: For one that is unknown or impossible.
        OSError: If a profile cannot be read.
    """
    found = dict(values)
    counter, overflow = found.pop("counter", None), found.pop("overflow", None)
    if (tokens := found.get("budget")) is not None:
        count = approximate_counter() if counter == "approximate" else counter
        found["budget"] = Budget(tokens, count, overflow or "skip")
    elif counter or overflow:
        raise ValueError("counter and overflow are of a budget: set budget=TOKENS too")
    if str(order := found.get("order", "")).endswith(".json"):
        found["order"] = PositionProfile.load(order)
    make_plan(**{name: value for name, value in found.items() if name != "k"})
    return found


def _settings(name: str, text: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = (side.strip() for side in part.partition("="))
        if key not in _KEYS:
            raise bad_choice(f"--placer {name!r:.40}: setting", key, list(_KEYS))
        if not equals or not value or key in values:
            raise ValueError(f"--placer {name!r:.40}: {part!r:.60} must be one value for {key}; write {_FORM}")
        try:
            values[key] = _KEYS[key](value)
        except ValueError as error:
            raise ValueError(f"--placer {name!r:.40}: {part!r:.60} cannot be ({error})") from error
    if values.get("order") == AS_IS:
        values = {**values, **named_placer(AS_IS)}
    try:
        return settings(values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"--placer {name!r:.40}: {error}") from error


def _count(text: str) -> int:
    if (number := int(text)) < 1:
        raise ValueError("it must be at least 1")
    return number


def _scorer(text: str) -> Any:
    from edgeorder import rerank

    kind, _, model = text.partition(":")
    if kind == "lexical" and not model:
        return rerank.LexicalScorer()
    if model and kind in ("cross_encoder", "onnx"):
        return rerank.CrossEncoderScorer(model) if kind == "cross_encoder" else rerank.OnnxCrossEncoderScorer(model)
    raise bad_choice("rerank", text, ("lexical", "cross_encoder:MODEL", "onnx:MODEL"))


_KEYS: dict[str, Callable[[str], Any]] = {
    "k": _count,
    "order": str,
    "reading": str,
    "budget": _count,
    "overflow": str,
    "counter": str,
    "top_n": _count,
    "min_score": float,
    "dedupe": str,
    "rank_by": str,
    "layout": str,
    "rerank": _scorer,
}
