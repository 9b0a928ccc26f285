"""Which nodes follow each other, by what they say themselves: their links to the previous and the next node."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from llama_index.core.schema import BaseNode, NodeRelationship, RelatedNodeInfo

from edgeorder.chunk import Locations
from edgeorder.neighbours import GAP
from edgeorder.sortable import whole_number

Links: TypeAlias = Sequence[tuple[object, object]]
_NONE = (None, None)


def chains(
    nodes: Sequence[BaseNode], relations: Sequence[Mapping[NodeRelationship, object]], where: Locations
) -> list[tuple[int, int] | None] | None:
    """Number nodes along their links.

    Args:
        nodes: The nodes.
        relations: Their relationships.
        where: Where they stand by their characters.

    Returns:
        (chain, number in it) for each node: consecutive numbers in one chain for nodes that follow each other, a chain
        of its own for a node whose neighbours are not here. None for a node that no link leads from or to, and in
        place of all where there are no links.
    """
    links = [(relation.get(NodeRelationship.PREVIOUS), relation.get(NodeRelationship.NEXT)) for relation in relations]
    numbered: list[tuple[int, int] | None] = [(at, 0) if pair != _NONE else None for at, pair in enumerate(links)]
    if not any(numbered):
        return None
    at_id = {node.node_id: at for at, node in enumerate(nodes)}
    following = _following(links, lambda link: at_id.get(link.node_id))
    if not following and not _apart(where):
        # Ids are often given anew after splitting; the links know their nodes by a hash of the content, too.
        at_hash = _hashed(nodes)
        following = _following(links, lambda link: at_hash.get(link.hash))
    inner = set(following.values())
    for head in following.keys() - inner:
        at: int | None = head
        number = 0
        while at is not None and (number == 0 or numbered[at] in (None, (at, 0))):
            numbered[at] = (head, number)
            number += 1
            at = following.get(at)
    return numbered


def _following(links: Links, find: Callable[[RelatedNodeInfo], int | None]) -> dict[int, int]:
    """Return for each node the one that follows it, if it is here."""
    following: dict[int, int] = {}
    for at, (before, after) in enumerate(links):
        if isinstance(after, RelatedNodeInfo) and (found := find(after)) is not None:
            following[at] = found
        if isinstance(before, RelatedNodeInfo) and (found := find(before)) is not None:
            following.setdefault(found, at)
    return following


def _apart(where: Locations) -> bool:
    """Say whether no two nodes can be neighbours by their characters."""
    starts, ends = (list(map(whole_number, column or ())) for column in (where.offsets, where.ends))
    spans = sorted(
        (start, end) for start, end in zip(starts, ends, strict=False) if start is not None and end is not None
    )
    if not spans or len(spans) < len(starts):
        return False
    return all(after[0] - before[1] > GAP for before, after in pairwise(spans))


def _hashed(nodes: Sequence[BaseNode]) -> dict[str | None, int]:
    """Return which node has a hash, if only one has it and if odd metadata lets it be made."""
    hashes = [_hash(node) for node in nodes]
    counts = Counter(hashes)
    return {found: at for at, found in enumerate(hashes) if found is not None and counts[found] == 1}


def _hash(node: BaseNode) -> str | None:
    try:
        return node.hash
    except Exception:  # noqa: BLE001 - whatever a value in the metadata raises
        return None
