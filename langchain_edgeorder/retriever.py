"""`EdgeOrderRetriever`: any retriever, its documents placed."""

from collections.abc import Iterable, Mapping
from functools import partial
from inspect import getclosurevars
from types import FunctionType, MethodType
from typing import Annotated, Any, Self

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer, Document
from langchain_core.retrievers import BaseRetriever, RetrieverLike
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from pydantic import BeforeValidator, ConfigDict, Field, model_validator
from typing_extensions import override

from edgeorder.alerts import warn
from edgeorder.budget import Reserve
from edgeorder.checks import whole_number
from langchain_edgeorder.events import beneath, inherited
from langchain_edgeorder.order import EdgeOrder
from langchain_edgeorder.prompt import split_question


def _checked_k(k: object) -> int | None:
    return None if k is None else whole_number("k", k, least=1, what="a whole number of documents")


def checked_retriever(given: Any) -> Any:
    """Return what was given as a retriever.

    Raises:
        TypeError: If it is none: a store and a plain function are no Runnable.
    """
    if not isinstance(given, Runnable):
        raise TypeError(
            "give a retriever, such as store.as_retriever(), or a Runnable, such as RunnableLambda(search), not "
            f"{given!r:.80}"
        )
    return given


def _checked_base(given: Any) -> Any:
    try:
        return checked_retriever(given)
    except TypeError as error:
        raise ValueError(str(error)) from None  # pydantic adds the name of the field


class EdgeOrderRetriever(BaseRetriever):
    """Wrap a retriever so that its documents come placed; the query is handed on to the scorer.

    Args:
        base_retriever: Any retriever, or any Runnable from a query to a list of documents.
        placer: How they are placed.
        k: Return at most this many documents, the best ones; also a keyword of `invoke`.

    Example:
        ```python
        retriever = EdgeOrderRetriever(base_retriever=store.as_retriever(search_kwargs={"k": 50}), k=12)
        ```
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    base_retriever: Annotated[RetrieverLike, BeforeValidator(_checked_base)] = Field(
        description="Any Runnable from a query to documents, best first."
    )
    placer: EdgeOrder = Field(default_factory=EdgeOrder, description="How the documents are placed.")
    k: Annotated[int | None, BeforeValidator(_checked_k)] = Field(
        default=None, description="Return at most this many, the best ones."
    )

    @model_validator(mode="after")
    def _warn_of_earlier_placing(self) -> Self:
        if places(self.base_retriever):
            warn(
                "base_retriever places its documents already, so they would be placed twice, or placed before a "
                "reranker. Give it without EdgeOrder: EdgeOrderRetriever comes last."
            )
        return self

    @override
    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        # LangChain's retrievers hand on callbacks alone: `configurable`, a tenant perhaps, would not reach the base.
        with inherited(config):
            return super().invoke(input, config, **kwargs)

    @override
    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        with inherited(config):
            return await super().ainvoke(input, config, **kwargs)

    @override
    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        reserve: Reserve | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        query = _text(query)
        child = run_manager.get_child()
        with beneath(child):  # for models that the base asks without handing on what it was called with
            documents = self.base_retriever.invoke(query, config={"callbacks": child}, **kwargs)
        return self._placer(k).transform_documents(
            documents, query=query, callbacks=run_manager.get_child(), reserve=reserve
        )

    @override
    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        reserve: Reserve | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        query = _text(query)
        child = run_manager.get_child()
        with beneath(child):
            documents = await self.base_retriever.ainvoke(query, config={"callbacks": child}, **kwargs)
        return await self._placer(k).atransform_documents(
            documents, query=query, callbacks=run_manager.get_child(), reserve=reserve
        )

    def _placer(self, k: int | None) -> EdgeOrder:
        """Return the placer, with the smaller of `k` and its own `top_n`."""
        k = self.k if k is None else _checked_k(k)
        limits = [limit for limit in (k, self.placer.top_n) if limit is not None]
        top_n = min(limits, default=None)
        return self.placer if top_n == self.placer.top_n else self.placer.model_copy(update={"top_n": top_n})


def _text(query: Any) -> str:
    """Return the text of a question, which may be a message or content blocks."""
    return split_question(query, "query")[0] or ""


def places(step: object) -> bool:
    """Say whether edgeorder is among the steps of a retriever, as far as they can be seen."""
    return _places(step, set())


def _places(step: object, seen: set[int]) -> bool:
    if isinstance(step, EdgeOrder | EdgeOrderRetriever):
        return True
    if id(step) in seen:
        return False
    seen.add(id(step))
    inner: Iterable[object] = ()
    if isinstance(step, RunnableLambda):
        inner = [*_held(getattr(step, "func", None)), *_held(getattr(step, "afunc", None))]
    elif isinstance(step, Runnable | BaseDocumentTransformer | BaseDocumentCompressor):
        inner = vars(step).values()
    elif isinstance(step, Mapping):
        inner = step.values()
    elif isinstance(step, list | tuple):
        inner = step
    return any(_places(part, seen) for part in inner)


def _held(function: object) -> Iterable[object]:
    """Return what a function can call, functions aside."""
    if isinstance(function, partial):
        return [*_held(function.func), *function.args, *function.keywords.values()]
    if isinstance(function, MethodType):
        return [function.__self__, *_held(function.__func__)]
    if isinstance(function, FunctionType):
        names = getclosurevars(function)
        return [*names.nonlocals.values(), *names.globals.values()]
    return ()
