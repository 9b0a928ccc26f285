"""Where score, source and offset live in an item's metadata: a name, a list of names, a dotted path or a callable."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

Key: TypeAlias = str | Sequence[str] | Callable[[Any], object]
"""A metadata key (`"score"`), a path into nested metadata (`"scores.dense"`), names that are tried in order, or a
callable that gets the item itself."""


def check_key(name: str, key: object) -> None:
    """Raise TypeError unless `key` is a `Key` or None."""
    names = [key] if isinstance(key, str) else key
    if key is None or callable(key):
        return
    if not isinstance(names, Sequence) or not names or not all(isinstance(part, str) and part for part in names):
        raise TypeError(f"{name} must be a metadata key, a list of keys, a dotted path or a callable, not {key!r}")


def key_names(key: str | Sequence[str]) -> Sequence[str]:
    """Return the names to try, in order."""
    return (key,) if isinstance(key, str) else key


def look_up(metadata: Mapping[str, Any], name: str) -> object:
    """Return what stands under a key, or under a dotted path if there is no such key; None if nothing does."""
    value: Any = metadata.get(name)
    if value is None and "." in name:
        value = metadata
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
    return value


def plain_name(key: Key | None) -> str | None:
    """Return the name if the key is a single undotted one: what can be read at the speed of a dict."""
    return key if isinstance(key, str) and "." not in key else None


def read(item: object, metadata: Mapping[str, Any], key: Key | None) -> object:
    """Return what a key finds for an item: under its first name that the metadata has, or from the callable."""
    if key is None:
        return None
    if callable(key):
        return key(item)
    for name in key_names(key):
        value = look_up(metadata, name)
        if value is not None:
            return value
    return None


def read_group(items: Sequence[tuple[Any, Mapping[str, Any]]], key: Key | None) -> tuple[str | None, list[object]]:
    """Read one kind of place for all the chunks of a source.

    Args:
        items: Each chunk's item and metadata.
        key: The key; of several names, the first counts that any of the chunks has a known place (not -1) under.
            Places under different names, such as characters and pages, cannot be told in one order.

    Returns:
        The name that was used, if one was, and what each chunk has under it.
    """
    if key is None or callable(key):
        return None, [read(item, metadata, key) for item, metadata in items]
    for name in key_names(key):
        values = [look_up(metadata, name) for _, metadata in items]
        if any(value is not None and value != -1 for value in values):
            return name, values
    return None, [None] * len(items)
