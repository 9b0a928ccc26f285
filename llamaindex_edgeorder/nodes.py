"""Nodes as chunks: a view that reads a node's fields when a stage asks for them."""

from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core import Settings
from llama_index.core.schema import BaseNode, MetadataMode, NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

from edgeorder.adapter import ItemView
from edgeorder.chunk import Label, Locations, known
from edgeorder.metadata import read, read_locations
from llamaindex_edgeorder.links import chains

INDEX_KEYS = ("chunk_index", "index")
FILE_KEYS = ("file_path", "file_name")
LABEL_KEYS = ("title", ("file_name", "file_path", "url"), "date", "page_label")
_MARK = "\ue000edgeorder\ue000"  # stands in for the body while the template around it is found out


class SettingsCounter:
    """Counts with the tokenizer of LlamaIndex's `Settings`, as it stands at the moment of counting."""

    name = "llama_index Settings.tokenizer"

    def __call__(self, text: str) -> int:
        return len(Settings.tokenizer(text))


class Nodes(ItemView[NodeWithScore]):
    """The chunks of a list of nodes with scores.

    The body is the node's text, the head what its metadata template puts before it for the LLM; outer white space goes,
    as in the synthesizers.

    Args:
        items: The nodes; they are not copied.
        keys: Settings that say where score, source, section, offset and end live. Without a key: the node's own score;
            `ref_doc_id`, then the file path, then the file name; the node's links to the previous and the next one,
            then its character span, then an index key. The parent node belongs to the section.

    Raises:
        TypeError: For an item that is no `NodeWithScore`, naming its index and type.
    """

    __slots__ = ()

    kind = NodeWithScore
    name = "nodes"
    counter = SettingsCounter()

    def metadata(self, index: int) -> Mapping[str, Any]:
        return self.items[index].node.metadata

    def text(self, index: int) -> str:
        return self.items[index].node.get_content(MetadataMode.NONE).strip()

    def affixes(self, index: int) -> tuple[str, str]:
        content = with_body(self.items[index], _MARK).node.get_content(MetadataMode.LLM).strip()
        head, found, tail = content.partition(_MARK)
        if not found or _MARK in tail:
            raise ValueError(
                f"nodes[{index}] must show its own text to the LLM exactly once; get_content(MetadataMode.LLM) gives "
                f"{content!r:.200}. Put {{content}} once into its text_template."
            )
        return head, tail

    def rendered(self, index: int, body: str | None = None) -> str:
        if body is None:
            return self.items[index].node.get_content(MetadataMode.LLM).strip()
        return super().rendered(index, body)

    def id(self, index: int) -> str:
        return self.items[index].node.node_id

    def score(self, index: int) -> object:
        return self.items[index].score if self.keys.score_key is None else super().score(index)

    def source(self, index: int) -> object:
        return self.sources((index,))[0]

    def sources(self, indices: Sequence[int]) -> list[object]:
        if self.keys.source_key is not None:
            return [self.read(index, self.keys.source_key) for index in indices]
        return [_source(self.items[index].node) for index in indices]

    def label(self, index: int) -> Label:
        keys = (self.keys.title_key, self.keys.source_key, self.keys.date_key, self.keys.page_key)
        return Label(*(self.read(index, key or usual) for key, usual in zip(keys, LABEL_KEYS, strict=True)))

    def locations(self, indices: Sequence[int]) -> Locations:
        own = self.keys
        items = [self.items[index] for index in indices]
        nodes = [item.node for item in items]
        where = read_locations(
            items,
            [node.metadata for node in nodes],
            lambda at: len(nodes[at].get_content(MetadataMode.NONE)),
            offset_key=INDEX_KEYS if own.offset_key is None else own.offset_key,
            end_key=None if own.offset_key is None else own.end_key,
            page_key=own.page_key,
            section_key=own.section_key,
        )
        relations = [node.relationships for node in nodes]
        # Characters count from the parent or else from the document, whatever source_key calls the source.
        for kind in (NodeRelationship.PARENT, *([NodeRelationship.SOURCE] if own.source_key is not None else [])):
            if (related := known([_id_of(relation.get(kind)) for relation in relations])) is not None:
                sections = related if where.sections is None else list(zip(where.sections, related, strict=True))
                where = where._replace(sections=sections)
        if own.offset_key is not None:
            return where
        if (starts := known([getattr(node, "start_char_idx", None) for node in nodes])) is not None:
            where = where._replace(offsets=starts, ends=[getattr(node, "end_char_idx", None) for node in nodes])
        links = chains(nodes, relations, where)
        return where if links is None else where._replace(links=links)

    def source_text(self, index: int) -> str:
        node = self.items[index].node
        return node.text if type(node) is TextNode else node.get_content(MetadataMode.NONE)


def _source(node: BaseNode) -> object:
    document = _id_of(node.relationships.get(NodeRelationship.SOURCE))
    return document if document is not None else read(node, node.metadata, FILE_KEYS)


def _id_of(related: object) -> str | None:
    return related.node_id if isinstance(related, RelatedNodeInfo) else None


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
