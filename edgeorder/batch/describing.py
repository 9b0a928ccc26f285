"""Settings in words that are the same in another process, so that a run that was stopped knows them again."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import CodeType, FunctionType, MethodType
from typing import Any

from edgeorder.masking import masked
from edgeorder.profile import PositionProfile

_STEADY = (str, float, bool, Path)  # what stays as it is: counts, caches and lists of calls change while one works
_CALLED = ("__call__", "score_many", "predict", "score", "rerank", "load")


def described(shown: str, settings: Mapping[str, Any]) -> str:
    """Return settings in words, without secrets, with a mark that changes where the code of a function among them does.

    An object without a `repr` of its own is told by its class, the code that is called and its steady attributes.

    Args:
        shown: The settings as they are shown.
        settings: The settings.
    """
    mark = sha256("\0".join(_parts(settings, frozenset())).encode("utf-8", "replace")).hexdigest()
    return f"{masked(_steady(shown))} {mark[:16]}"


def _steady(shown: str) -> str:
    return re.sub(r" at 0x[0-9a-fA-F]+", "", shown)


def _parts(value: Any, above: frozenset[int]) -> Iterator[str]:
    """Yield what tells a value from others, part by part."""
    if id(value) in above:
        return
    above |= {id(value)}
    shows: Any = type(value).__repr__
    if isinstance(value, PositionProfile):
        yield repr(value.to_dict())
    elif isinstance(value, FunctionType):
        yield from (value.__qualname__, *_code(value.__code__))
        around = [
            own for cell in value.__closure__ or () if isinstance(own := _content(cell), (*_STEADY, FunctionType))
        ]
        yield from _parts((value.__defaults__, value.__kwdefaults__, around), above)
    elif isinstance(value, MethodType):
        yield from _parts((value.__func__, value.__self__), above)
    elif isinstance(value, partial):
        yield from _parts((value.func, value.args, value.keywords), above)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield repr(name)
            yield from _parts(inner, above)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _parts(inner, above)
    elif is_dataclass(value) and not isinstance(value, type):
        yield type(value).__qualname__
        yield from _parts({field.name: getattr(value, field.name) for field in fields(value)}, above)
    elif shows is object.__repr__:
        yield from _own_object(value, above)
    else:
        yield _steady(repr(value))


def _own_object(value: Any, above: frozenset[int]) -> Iterator[str]:
    yield type(value).__qualname__
    yield from (f"{name}={own!r}" for name, own in getattr(value, "__dict__", {}).items() if isinstance(own, _STEADY))
    for name in _CALLED:
        yield from _parts(getattr(type(value), name, None), above)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # of a name that is bound later
        return None


def _code(code: CodeType) -> Iterator[str]:
    yield from (code.co_code.hex(), repr(code.co_names))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant)
        else:
            yield repr(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant)
