"""`EdgeOrder`: one object that is a document transformer, a document compressor and a Runnable."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeAlias

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer, Document
from langchain_core.load import dumpd, load
from langchain_core.prompts import BasePromptTemplate
from langchain_core.runnables import RunnableConfig, RunnableSerializable
from pydantic import ConfigDict, Field, PlainSerializer, PlainValidator
from typing_extensions import override

from edgeorder.adapter import Adapter
from edgeorder.budget import Reserve
from edgeorder.placement import Placement
from edgeorder.prompting import as_prompt
from edgeorder.settings import KeyField, PlacementSettings, to_plain
from edgeorder.tracing import within
from langchain_edgeorder.documents import Documents, with_body
from langchain_edgeorder.events import adispatch, beneath, dispatch, trace_of


def _loaded_prompt(value: Any) -> Any:
    """Return a prompt, also from the dict it was dumped to; nothing but langchain-core's own prompts is loaded."""
    prompt = load(value, allowed_objects="core") if isinstance(value, dict) else value
    if prompt is not None and not isinstance(prompt, BasePromptTemplate):
        raise ValueError(f"document_prompt must be a prompt template, not {prompt!r}")
    if prompt is not None and "page_content" not in prompt.input_variables:
        raise ValueError(f"document_prompt must show {{page_content}}; it shows {prompt.input_variables}")
    return prompt


PromptField: TypeAlias = Annotated[
    BasePromptTemplate[str] | None, PlainValidator(_loaded_prompt), PlainSerializer(dumpd)
]


class EdgeOrder(
    Adapter,
    BaseDocumentTransformer,
    BaseDocumentCompressor,
    RunnableSerializable[Sequence[Document], list[Document]],
):
    """Decide where each retrieved document sits in the prompt, and keep the block within a token budget.

    It goes wherever `LongContextReorder` went, and further: `retriever | EdgeOrder()`,
    `ContextualCompressionRetriever(base_compressor=EdgeOrder(), ...)`, `DocumentCompressorPipeline`, or a direct call
    of `transform_documents`. All keywords of `edgeorder.place` are fields.

    The documents come in best first unless `rank_by` says otherwise. They are returned as they are, the same objects,
    unless a body was shortened or `annotate` is on: then in copies. What shapes the text around them (a `layout` with
    labels or an echo, a `prompt`) cannot be returned as documents: `place` gives it, and `context_prompt` sends it.

    Args:
        document_prompt: The template that the chain renders each document with, so that the budget counts it too.
            It must show `{page_content}` exactly once.
        score_key: Where the score lives in the metadata: a name, names tried in order, a dotted path or a callable.
            Default: "relevance_score", then "score".
        source_key: The same for the source. Default: "source".
        section_key: Where section headers or the id of a parent live; all its names count together. `start_index`
            starts anew in each section and on each page, so only chunks of one are neighbours by it. Default:
            "Header 1" to "Header 6", "header_path", "section", "heading", "parent_id" and "doc_id".
        offset_key: The same for the offset in the source. `start_index` is a character offset, others are ordinals,
            `"page"` where documents are whole pages; `[("page", "line")]` is one made of two. Default: "start_index",
            then "chunk_index", then "seq_num".
        end_key: The same for the end of the chunk, which makes another offset key a character offset too. Default:
            none, as the text tells where it ends.
        title_key: The same for the title that labels show. Default: "title".
        date_key: The same for the date. Default: "date".
        page_key: The same for the page. Default: "page_label", then "page".
        annotate: Write rank, position and scores into copies, under the metadata key "edgeorder".
        shadow: Return the documents untouched, and only record what would have been done.

    >>> from langchain_core.documents import Document
    >>> documents = [Document(text) for text in "ABCD"]
    >>> [d.page_content for d in EdgeOrder(order="bookend").transform_documents(documents)]
    ['A', 'C', 'D', 'B']
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    instead = "Use place(documents, query).block or .prompt, or give this EdgeOrder to context_prompt(...)."

    score_key: KeyField = Field(default=("relevance_score", "score"), description="Where the score lives.")
    source_key: KeyField = Field(default="source", description="Where the source lives.")
    offset_key: KeyField = Field(
        default=("start_index", "chunk_index", "seq_num"),
        description="Where the offset lives; start_index is a character offset, the others are ordinals.",
    )
    title_key: KeyField = Field(default="title", description="Where the title lives that labels show.")
    date_key: KeyField = Field(default="date", description="Where the date lives that labels show.")
    page_key: KeyField = Field(default=("page_label", "page"), description="Where the page lives that labels show.")
    document_prompt: PromptField = Field(
        default=None, description="The template that the chain renders each document with; it is counted."
    )

    @override
    def place(
        self,
        documents: Sequence[Document],
        query: str | None = None,
        *,
        reserve: Reserve | None = None,
        callbacks: Callbacks = None,
    ) -> Placement:
        """Return the placement itself: indices, ranks, what was dropped and why, the rendered block, the record.

        Args:
            documents: The documents, best first.
            query: The question; only a scorer, a prompt and `overflow="compress"` need it.
            reserve: What this request adds to the budget's reserve: tokens or texts, such as history and question.
            callbacks: Of the run that gets the record as an event; without them, the run that this call is in.

        Raises:
            TypeError: For an item that is no `Document`, naming its index and type.
            BudgetError: If the reserve leaves no room, or with `overflow="error"` if a document does not fit.
        """
        with beneath(callbacks), within(trace_of(callbacks), shadow=self.shadow):
            placement = super().place(documents, query, reserve=reserve)
        dispatch(placement, callbacks)
        return placement

    @override
    async def aplace(
        self,
        documents: Sequence[Document],
        query: str | None = None,
        *,
        reserve: Reserve | None = None,
        callbacks: Callbacks = None,
    ) -> Placement:
        """The same, never blocking the event loop."""
        with beneath(callbacks), within(trace_of(callbacks), shadow=self.shadow):
            placement = await super().aplace(documents, query, reserve=reserve)
        await adispatch(placement, callbacks)
        return placement

    @override
    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """Return the documents placed; `query`, `reserve` and `callbacks` are taken as in `place`."""
        return self.placed_items(documents, **_known("transform_documents", kwargs))

    @override
    async def atransform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        return await self.aplaced_items(documents, **_known("atransform_documents", kwargs))

    @override
    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> list[Document]:
        return self.placed_items(documents, query, callbacks=callbacks)

    @override
    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> list[Document]:
        return await self.aplaced_items(documents, query, callbacks=callbacks)

    @override
    def invoke(self, input: Sequence[Document], config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        return self._call_with_config(self.transform_documents, input, config, **kwargs)

    @override
    async def ainvoke(
        self, input: Sequence[Document], config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        return await self._acall_with_config(self.atransform_documents, input, config, **kwargs)

    @classmethod
    @override
    def is_lc_serializable(cls) -> bool:
        return True

    @property
    @override
    def lc_attributes(self) -> dict[str, Any]:
        # LangChain would write value objects as "not implemented": hand it plain dicts.
        changed = PlacementSettings.model_fields.keys() & self.model_fields_set
        return {name: to_plain(getattr(self, name), name) for name in sorted(changed)}

    @override
    def view(self, documents: Sequence[Document]) -> Documents:
        return Documents(documents, self, self.document_prompt)

    @override
    def copied(self, document: Document, body: str | None, added: Mapping[str, Any]) -> Document:
        copy = with_body(document, body)
        copy.metadata.update(added)
        return copy


def _known(method: str, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return keywords once all are known. LangChain's signature takes any, and a misspelt one would get lost."""
    known = ("query", "reserve", "callbacks")
    if unknown := sorted(kwargs.keys() - set(known)):
        raise TypeError(f"EdgeOrder.{method}() takes {', '.join(known)}, not {', '.join(unknown)}")
    return kwargs


def with_labels(placer: EdgeOrder | None) -> EdgeOrder:
    """Return the placer, its passages numbered unless it says how the block is written.

    Raises:
        TypeError: For something else than an `EdgeOrder`.
    """
    placer = EdgeOrder() if placer is None else placer
    if not isinstance(placer, EdgeOrder):
        raise TypeError(f"placer must be an EdgeOrder, such as EdgeOrder(budget=6000), not {placer!r:.80}")
    return placer if placer.layout is not None else placer.model_copy(update={"layout": "numbered"})


def without_question(placer: EdgeOrder) -> EdgeOrder:
    """Return the placer.

    Raises:
        ValueError: If its prompt shows the question, which the conversation holds already.
    """
    prompt = as_prompt(placer.prompt)
    if prompt is not None and prompt.question != "none":
        raise ValueError(
            f"prompt={placer.prompt!r} would show the question a second time: in an agent it is a message already. Use "
            "prompt=Prompt('none', instruction)"
        )
    return placer
