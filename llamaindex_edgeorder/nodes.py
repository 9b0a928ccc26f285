"""Nodes as chunks: a view that reads a node's fields when a stage asks for them."""

from collections.abc import Sequence

from llama_index.core import Settings
from llama_index.core.schema import BaseNode, MetadataMode, NodeRelationship, NodeWithScore, RelatedNodeInfo

from edgeorder.chunk import ChunkView, Label, check_items
from edgeorder.metadata import read, read_group
from edgeorder.settings import PlacementSettings

INDEX_KEYS = ("chunk_index", "index", "page_label")
FILE_KEYS = ("file_path", "file_name")
LABEL_KEYS = ("title", ("file_name", "file_path", "url"), "date", "page_label")
_MARK = "\ue000edgeorder\ue000"  # stands in for the body while the template around it is found out


class SettingsCounter:
    """Counts with the tokenizer of LlamaIndex's `Settings`, as it stands at the moment of counting."""

    name = "llama_index Settings.tokenizer"

    def __call__(self, text: str) -> int:
        return len(Settings.tokenizer(text))


class Nodes(ChunkView):
    """The chunks of a list of nodes with scores.

    The body is the node's text, the head what its metadata template puts before it for the LLM; outer white space goes,
    as in the synthesizers.

    Args:
        nodes: The nodes; they are not copied.
        keys: Settings that say where score, source, offset and end live. Without a key: the node's own score;
            `ref_doc_id`, then the file path, then the file name; the node's character span, then an index key, then
            its links to the previous and the next node.

    Raises:
        TypeError: For an item that is no `NodeWithScore`, naming its index and type.
    """

    __slots__ = ("_keys", "_nodes")

    counter = SettingsCounter()

    def __init__(self, nodes: Sequence[NodeWithScore], keys: PlacementSettings) -> None:
        check_items(nodes, NodeWithScore, "nodes")
        self._nodes = nodes
        self._keys = keys

    def __len__(self) -> int:
        return len(self._nodes)

    def item(self, index: int) -> NodeWithScore:
        return self._nodes[index]

    def text(self, index: int) -> str:
        return self._nodes[index].node.get_content(MetadataMode.NONE).strip()

    def affixes(self, index: int) -> tuple[str, str]:
        content = with_body(self._nodes[index], _MARK).node.get_content(MetadataMode.LLM).strip()
        head, found, tail = content.partition(_MARK)
        if not found or _MARK in tail:
            raise ValueError(
                f"nodes[{index}] must show its own text to the LLM exactly once; get_content(MetadataMode.LLM) gives "
                f"{content!r:.200}. Put {{content}} once into its text_template."
            )
        return head, tail

    def rendered(self, index: int, body: str | None = None) -> str:
        if body is None:
            return self._nodes[index].node.get_content(MetadataMode.LLM).strip()
        return super().rendered(index, body)

    def id(self, index: int) -> str:
        return self._nodes[index].node.node_id

    def score(self, index: int) -> object:
        node = self._nodes[index]
        return node.score if self._keys.score_key is None else read(node, node.metadata, self._keys.score_key)

    def source(self, index: int) -> object:
        return self.sources((index,))[0]

    def sources(self, indices: Sequence[int]) -> list[object]:
        if self._keys.source_key is not None:
            return [
                read(self._nodes[index], self._nodes[index].node.metadata, self._keys.source_key) for index in indices
            ]
        sources: list[object] = []
        for index in indices:
            node = self._nodes[index].node
            parent = node.relationships.get(NodeRelationship.SOURCE)
            if isinstance(parent, RelatedNodeInfo):
                sources.append(parent.node_id)
            else:
                source = read(node, node.metadata, FILE_KEYS) if node.metadata else None
                page = node.metadata.get("page_label")
                if source is not None and page is not None and getattr(node, "start_char_idx", None) is not None:
                    source = (source, page)  # character offsets start anew on every page
                sources.append(source)
        return sources

    def label(self, index: int) -> Label:
        own, node = self._keys, self._nodes[index]
        keys = (own.title_key, own.source_key, own.date_key, own.page_key)
        found = [read(node, node.node.metadata, key or usual) for key, usual in zip(keys, LABEL_KEYS, strict=True)]
        return Label(*found)

    def spans(self, indices: Sequence[int]) -> list[tuple[object, object]]:
        nodes = [self._nodes[index].node for index in indices]
        items = [(self._nodes[index], self._nodes[index].node.metadata) for index in indices]
        if self._keys.offset_key is not None:
            _, offsets = read_group(items, self._keys.offset_key)
            return [(offset, read(*item, self._keys.end_key)) for offset, item in zip(offsets, items, strict=True)]
        starts = [getattr(node, "start_char_idx", None) for node in nodes]
        if any(start is not None for start in starts):
            return [(start, getattr(node, "end_char_idx", None)) for start, node in zip(starts, nodes, strict=True)]
        name, ordinals = read_group(items, INDEX_KEYS)
        return [(ordinal, None) for ordinal in (ordinals if name else _chain_ordinals(nodes))]


def _chain_ordinals(nodes: Sequence[BaseNode]) -> list[int | None]:
    """Number nodes along their links: consecutive numbers for linked nodes, a gap between chains."""
    places = {node.node_id: place for place, node in enumerate(nodes)}
    following: dict[int, int] = {}
    for place, node in enumerate(nodes):
        after = _linked(node, NodeRelationship.NEXT, places)
        before = _linked(node, NodeRelationship.PREVIOUS, places)
        if after is not None:
            following[place] = after
        if before is not None:
            following.setdefault(before, place)
    ordinals: list[int | None] = [None] * len(nodes)
    ordinal = 0
    inner = set(following.values())
    for head in range(len(nodes)):
        at: int | None = head if head in following and head not in inner else None
        while at is not None and ordinals[at] is None:
            ordinals[at] = ordinal
            ordinal += 1
            at = following.get(at)
        ordinal += 1
    return ordinals


def _linked(node: BaseNode, link: NodeRelationship, places: dict[str, int]) -> int | None:
    related = node.relationships.get(link)
    return places.get(related.node_id) if isinstance(related, RelatedNodeInfo) else None


def with_body(node: NodeWithScore, body: str | None) -> NodeWithScore:
    """Return a copy with a text and a metadata dict of its own; id, links, templates and subclass stay."""
    inner = node.node.model_copy(update={"metadata": dict(node.node.metadata)})
    if body is not None:
        raw = inner.get_content(MetadataMode.NONE)
        body = raw[: len(raw) - len(raw.lstrip())] + body + raw[len(raw.rstrip()) :]
        # A copied node shares its media resources with the original until they are replaced.
        if (resource := getattr(inner, "text_resource", None)) is not None:
            inner.text_resource = resource.model_copy(update={"text": body})  # type: ignore[attr-defined]
        else:
            inner.set_content(body)
    return node.model_copy(update={"node": inner})
