"""Where score, source and offset live in an item's metadata: a name, a list of names, a dotted path or a callable."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

from edgeorder.chunk import Locations
from edgeorder.sortable import location_key, whole_number

Name: TypeAlias = str | Sequence[str]
Key: TypeAlias = str | Sequence[Name] | Callable[[Any], object]
"""A metadata key (`"score"`), a path into nested metadata (`"scores.dense"`), names that are tried in order, or a
callable that gets the item itself.

One of the names that are tried may be compound, a tuple or list inside the list: `[("page", "line")]` is the pair of
both values, where both are there. So no name can be mistaken for one, and JSON keeps the difference.
"""

SECTIONS = (*(f"Header {level}" for level in range(1, 7)), "header_path", "section", "heading", "parent_id", "doc_id")
"""What the header splitters and the parent retrievers of the frameworks write into metadata."""

PAGES = ("page", "page_number", "page_label")  # a number sorts better than a label such as "iv"
Metadatas: TypeAlias = Sequence[Mapping[str, Any]]


def check_key(name: str, key: object) -> None:
    """Raise TypeError unless `key` is a `Key` or None; only a source and an offset may be compound."""
    if key is None or callable(key):
        return
    names = [key] if isinstance(key, str) else key
    if not _is_list(names) or not all(_is_name(one, name in ("source_key", "offset_key")) for one in names):
        raise TypeError(f"{name} must be a metadata key, a list of keys, a dotted path or a callable, not {key!r}")


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, Sequence) and not isinstance(value, str) and len(value) > 0


def _is_name(value: object, compound: bool) -> bool:
    if isinstance(value, str):
        return value != ""
    return compound and _is_list(value) and all(isinstance(part, str) and part for part in value)


def key_names(key: str | Sequence[Name]) -> Sequence[Name]:
    """Return the names to try, in order."""
    return (key,) if isinstance(key, str) else key


def look_up(metadata: Mapping[str, Any], name: Name) -> object:
    """Return what stands under a key, or under a dotted path if there is no such key; None if nothing does.

    Several names in one give a tuple, or None if one of them has nothing.
    """
    if not isinstance(name, str):
        values = tuple(look_up(metadata, one) for one in name)
        return None if any(value is None for value in values) else values
    value: Any = metadata.get(name)
    if value is None and "." in name:
        value = metadata
        for part in name.split("."):
            value = value.get(part) if issubclass(type(value), Mapping) else None
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


def read_locations(
    items: Sequence[Any],
    metadatas: Metadatas,
    length: Callable[[int], int],
    *,
    offset_key: Key | None,
    end_key: Key | None,
    page_key: Key | None,
    section_key: Key | None,
) -> Locations:
    """Read where the chunks of a source stand in it.

    Args:
        items: The chunks' items.
        metadatas: Their metadata.
        length: Returns the characters of the text of the item at that place in `items`: `start_index` is a character
            offset and needs no end.
        offset_key: Of several names, the first counts that any of the chunks has a known offset under: offsets under
            different names, such as characters and ordinals, cannot be told in one order. Of a compound name the last
            is the offset, and the chunks are ordered by the others before.
        end_key: What makes other offsets character offsets too.
        page_key: Where the page lives, if not under a usual name.
        section_key: Where else offsets may start anew: all its names count together.
    """
    present: set[str] = set().union(*metadatas)
    name, offsets = _read_offsets(items, metadatas, offset_key, present)
    pages = _read_pages(items, metadatas, page_key, present)
    sections = _read_sections(items, metadatas, section_key, present)
    last = name if name is None or isinstance(name, str) else name[-1]
    if offsets is None:
        return Locations(None, None, pages, sections)
    if end_key is None and last != "start_index":
        return Locations(offsets, None, pages, sections)
    if last != name:
        before = [found and found[:-1] for found in offsets]
        pages, sections = before, list(zip(pages or before, sections or before, strict=True))
        offsets = [found and found[-1] for found in offsets]
    if end_key is None:
        starts = map(whole_number, offsets)
        ends = [start if start is None else start + length(at) for at, start in enumerate(starts)]
    else:
        ends = _read_column(items, metadatas, end_key)
    return Locations(offsets, ends, pages, sections)


def _read_offsets(
    items: Sequence[Any], metadatas: Metadatas, key: Key | None, present: set[str]
) -> tuple[Name | None, list[Any] | None]:
    """Return the first name that any item has a known offset (not -1) under, and what each item has there."""
    if key is None or callable(key):
        return None, None if key is None else _read_column(items, metadatas, key)
    for name in _found(key_names(key), present):
        values = _column(metadatas, name)
        if any(value is not None and location_key(value) is not None for value in values):
            return name, values
    return None, None


def _read_pages(items: Sequence[Any], metadatas: Metadatas, key: Key | None, present: set[str]) -> list[Any] | None:
    """Return the page of each item, by number where there is one; None if none has a page."""
    if callable(key):
        return _read_column(items, metadatas, key)
    pages: list[Any] | None = None
    names = PAGES if key is None else [*PAGES, *(name for name in key_names(key) if name not in PAGES)]
    for name in _found(names, present):
        column = _column(metadatas, name)
        pages = column if pages is None else [b if a is None else a for a, b in zip(pages, column, strict=True)]
    return pages


def _read_sections(items: Sequence[Any], metadatas: Metadatas, key: Key | None, present: set[str]) -> list[Any] | None:
    """Return what a key finds for each item under all its names together; None if it finds nothing.

    Together, so that a finer section is never taken for a coarser one.
    """
    if key is None or callable(key):
        return None if key is None else _read_column(items, metadatas, key)
    names = _found(key_names(key), present)
    return list(zip(*(_column(metadatas, name) for name in names), strict=True)) if names else None


def _found(names: Sequence[Name], present: set[str]) -> list[Name]:
    """Return the names that any metadata may have: those not seen in one are compound or dotted."""
    return [name for name in names if not isinstance(name, str) or name in present or "." in name]


def _column(metadatas: Metadatas, name: Name) -> list[Any]:
    """Return what stands under a name, at the speed of a dict if it is a plain one."""
    if isinstance(name, str) and "." not in name:
        return [metadata.get(name) for metadata in metadatas]
    return [look_up(metadata, name) for metadata in metadatas]


def _read_column(items: Sequence[Any], metadatas: Metadatas, key: Key) -> list[Any]:
    return [read(item, metadata, key) for item, metadata in zip(items, metadatas, strict=True)]
