"""100 planted faults of the six classes, through both adapters: each must be told for what it is."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.documents import Document
from llama_index.core.schema import NodeWithScore, TextNode

from edgeorder import Budget, Gold, OrderRecord, audit, capture, explain
from edgeorder.auditing import KINDS
from edgeorder.labels import Question
from langchain_edgeorder import EdgeOrder
from llamaindex_edgeorder import EdgeOrderPostprocessor

FILLER = "Nothing of note was written in this passage about the town and its river. "
CLASSES = [kind for kind in KINDS if kind != "unknown"]


def words(text: str) -> int:
    return len(text.split())


def planted(number: int) -> tuple[str, list[tuple[str, str, float]], dict[str, Any], Any]:
    """Return a class, what is retrieved as (id, text, score), the settings, and the gold chunk that ends so."""
    rng = random.Random(number)
    kind = CLASSES[number % len(CLASSES)]
    n = rng.randrange(10, 21)
    length = rng.randrange(10, 20)
    names = [f"c{number}-{at}" for at in range(n)]
    texts = [f"Passage {name} begins. {FILLER * length}At the end stands last{at}." for at, name in enumerate(names)]
    rows = [(name, text, 1 - at / 50) for at, (name, text) in enumerate(zip(names, texts, strict=True))]
    settings: dict[str, Any] = {"order": "relevance", "reading": "off", "dedupe": "text"}
    if kind == "not_retrieved":
        # Its neighbours in name are there: c1-1 is not c1-10.
        return kind, rows, settings, rng.choice([f"c{number}-{n}", f"c{number}", f"{names[0]}0", names[0][:-1]])
    if kind == "duplicate":
        twin = rng.randrange(n)
        rows.insert(rng.randrange(twin + 1, n + 1), ("twin", texts[twin].replace(" ", "  ", 1), 0.5))
        return kind, rows, settings, "twin"
    if kind == "cut":
        how = rng.choice(["top_n", "min_score", "budget"])
        stays = rng.randrange(3, n - 2)
        fits = Budget(sum(map(words, texts[:stays])) + 5, words)
        value = {"top_n": stays, "min_score": 1 - (stays - 0.5) / 50, "budget": fits}[how]
        return kind, rows, {**settings, how: value}, names[rng.randrange(stays, n)]
    if kind == "shortened_away":
        at = rng.randrange(3, n - 1)
        room = sum(map(words, texts[:at])) + words(texts[at]) // 2
        return (
            kind,
            rows,
            {**settings, "budget": Budget(room, words, "truncate")},
            Gold(id=names[at], answers=(f"last{at}",)),
        )
    middle = rng.randrange(3, n - 2)
    if rng.random() < 0.5:  # by rank in the middle, by bookend as well
        return (
            ("weak_position", rows, settings, names[middle])
            if kind == "weak_position"
            else (kind, rows, settings, names[rng.choice([0, 1, 2, n - 2, n - 1])])
        )
    settings["order"] = "bookend"
    return kind, rows, settings, names[rng.randrange(5, n)] if kind == "weak_position" else names[rng.randrange(5)]


def in_langchain(rows: list[tuple[str, str, float]], settings: dict[str, Any], shadow: bool) -> Callable[[], Any]:
    documents = [Document(text, id=name, metadata={"score": score}) for name, text, score in rows]
    return lambda: EdgeOrder(**settings, shadow=shadow).compress_documents(documents, "q")


def in_llama_index(rows: list[tuple[str, str, float]], settings: dict[str, Any], shadow: bool) -> Callable[[], Any]:
    nodes = [NodeWithScore(node=TextNode(text=text, id_=name), score=score) for name, text, score in rows]
    return lambda: EdgeOrderPostprocessor(**settings, shadow=shadow).postprocess_nodes(nodes, query_str="q")


@pytest.mark.parametrize("adapter", [in_langchain, in_llama_index])
@pytest.mark.parametrize("shadow", [False, True])
def test_a_hundred_planted_faults_are_told_for_what_they_are(adapter: Any, shadow: bool) -> None:
    """100 of 100 in each adapter, from the record as a log gives it back; in shadow mode too."""
    wrong = []
    for number in range(100):
        kind, rows, settings, gold = planted(number)
        with capture() as records:
            adapter(rows, settings, shadow)()
        record = OrderRecord.from_json(records[0].to_json())
        found = explain(record, gold, chunks=[text for _, text, _ in rows])
        if found.kind != kind:
            wrong.append((number, kind, found.kind, found.sentence))
    assert wrong == []


def test_an_audit_takes_the_adapters_as_they_are() -> None:
    """The retriever's own documents and nodes, the user's own placer."""
    for number in range(0, 100, 7):
        kind, rows, settings, gold = planted(number)
        documents = [Document(text, id=name, metadata={"score": score}) for name, text, score in rows]
        nodes = [NodeWithScore(node=TextNode(text=text, id_=name), score=score) for name, text, score in rows]
        for items, placer in ((documents, EdgeOrder(**settings)), (nodes, EdgeOrderPostprocessor(**settings))):
            found = audit(lambda question, items=items: items, placer, [Question("q", gold)])
            assert found.counts[kind] == 1, (number, found.rows)
