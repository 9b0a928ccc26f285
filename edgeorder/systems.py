"""The user's own system: a retriever and a placer, whatever they were made with.

The core knows no framework. What retrieves is a callable, or has `invoke` (LangChain) or `retrieve` (LlamaIndex); what
places is a callable, has `place` (both adapters), or is a dict of the keywords of `place`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from edgeorder.checks import whole_number
from edgeorder.chunk import Chunk
from edgeorder.errors import bad_choice
from edgeorder.orders import ORDERS
from edgeorder.placement import Placement
from edgeorder.placing import place
from edgeorder.plan import make_plan

Retriever: TypeAlias = Any
"""A callable from a question to what was retrieved, best first; or an object with `invoke` or `retrieve`."""
Placer: TypeAlias = Any
"""A callable (items, question) -> Placement; an object with `place`; a dict of keywords of `place`; or a name.

The names are those of orders, placed chunk by chunk, and `"as_is"`: the order in which the retriever gave them."""

AS_IS = "as_is"


def retrieving(retriever: Retriever) -> Callable[[str], Sequence[Any]]:
    """Return a retriever as a callable.

    Raises:
        TypeError: If it retrieves nothing.
    """
    for name in ("invoke", "retrieve"):
        if callable(method := getattr(retriever, name, None)):
            return method  # type: ignore[no-any-return]
    if callable(retriever):
        return retriever  # type: ignore[no-any-return]
    raise TypeError(f"a retriever is a callable, or has invoke or retrieve; this is {retriever!r:.60}")


def placing_with(placer: Placer) -> Callable[[Sequence[Any], str], Placement]:
    """Return a placer as a callable; None is `place` by its defaults. A dict's `k` cuts to the best k before.

    Raises:
        ValueError: For an unknown name, or settings that `place` does not take; for a `k` below 1.
        TypeError: If it places nothing; for a `k` that is no whole number.
    """
    if isinstance(placer, str):
        placer = named_placer(placer)
    if placer is None or isinstance(placer, Mapping):
        settings = dict(placer or {})
        if (k := settings.pop("k", None)) is not None:
            k = whole_number("k", k, least=1, what="a whole number of chunks")
        make_plan(**settings)  # a mistake in it is said before anything is retrieved
        return lambda items, question: place(items[:k], query=question, **settings)
    if callable(method := getattr(placer, "place", None)):
        return method  # type: ignore[no-any-return]
    if callable(placer):
        return placer  # type: ignore[no-any-return]
    raise TypeError(f"a placer is a callable, has place, or is a dict of keywords of place; this is {placer!r:.60}")


def named_placer(name: str) -> dict[str, Any]:
    """Return the keywords of `place` for a name.

    Raises:
        ValueError: If there is none.
    """
    if name not in (AS_IS, "auto", *ORDERS):
        raise bad_choice("placer", name, (AS_IS, "auto", *ORDERS))
    return {"order": "relevance" if name == AS_IS else name, "reading": "off"}


def placing_chunks(placer: Placer) -> Callable[[Sequence[Chunk], str], Placement]:
    """Return a placer that takes chunks: an adapter's settings serve too, without its framework's objects."""
    if callable(keywords := getattr(placer, "keywords", None)):
        placer = keywords()
    return placing_with(placer)
