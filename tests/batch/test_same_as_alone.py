"""The promise of whole tables: whatever shares its batch or holds it, a row gets what `place` gives for it alone."""

import warnings
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from test_place_batch import alone

from edgeorder import ORDERS, Auto, Budget, Chunk, Layout, PositionProfile, Prompt, approximate_counter, place
from edgeorder.batch import PlaceBatch
from edgeorder.batch.columns import cells
from edgeorder.profile import LengthProfile
from edgeorder.sortable import is_missing

FIELDS = {
    "text": pa.string(),
    "score": pa.float64(),
    "source": pa.string(),
    "offset": pa.int64(),
    "end": pa.int64(),
    "id": pa.string(),
    "head": pa.string(),
    "title": pa.string(),
    "page": pa.int64(),
    "more": pa.struct({"deep": pa.list_(pa.int32())}),
}
TYPES = pa.schema({"id": pa.int64(), "query": pa.string(), "chunks": pa.list_(pa.struct(FIELDS))})
TEXTS = st.text("ab é漢\n.#|", max_size=30) | st.sampled_from(["", " ", "The night limit in Geneva is 210 euros. " * 9])


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return values, or null."""
    return st.none() | values


CHUNKS = st.fixed_dictionaries(
    {
        "text": st.one_of(*[TEXTS] * 9, st.none()),
        "score": maybe(st.sampled_from([0.0, 0.5, 1.0, -1e300, float("nan"), float("inf")]) | st.floats(0, 1)),
        "source": maybe(st.sampled_from(["s", "t", ""])),
        "offset": maybe(st.integers(-1, 5)),
        "end": maybe(st.integers(0, 90)),
        "id": maybe(st.sampled_from(["x", "y", ""])),
        "head": maybe(st.sampled_from(["", "h: "])),
        "title": maybe(st.sampled_from(["T", " "])),
        "page": maybe(st.integers(-1, 3)),
        "more": maybe(st.fixed_dictionaries({"deep": maybe(st.lists(st.integers(0, 9), max_size=2))})),
    }
)
ROWS = st.fixed_dictionaries(
    {
        "id": maybe(st.integers(0, 9)),
        "query": maybe(st.sampled_from(["night limit", " a b ", "", " ", "fails", "nothing"])),
        "chunks": maybe(st.lists(st.one_of(*[CHUNKS] * 9, st.none()), max_size=8)),
    }
)


def scorer(query: str, texts: list[str]) -> list[float]:
    """Prefer texts that share words with the question; it fails for some questions, and knows nothing of others."""
    if query == "fails":
        raise OSError("no way")
    if query == "nothing":
        return [float("nan")] * len(texts)
    return [float(sum(word in text for word in query.split())) for text in texts]


def longest(chunk: Chunk) -> int:
    """Return the length of a text, by which to rank, or to call equal."""
    return len(chunk.text)


class Together:
    """The same, which can score many at once."""

    name = "scorer"

    def __call__(self, query: str, texts: list[str]) -> list[float]:
        return scorer(query, texts)

    def score_many(self, questions: Any) -> list[list[float]]:
        return [scorer(query, texts) for query, texts in questions]


PROFILE = PositionProfile("m", (LengthProfile(3, 60, "dip", "measured", 0.1, 0.05, 0.2, (0.9, 0.5, 0.8)),))
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "rank_by": st.sampled_from(["score", "distance", longest]),
        "rerank": st.sampled_from([scorer, Together()]),
        "dedupe": st.sampled_from(["id", "text", "near", longest]),
        "top_n": st.integers(1, 4),
        "min_score": st.sampled_from([0.0, 0.5]),
        "budget": st.builds(
            Budget,
            st.integers(12, 90),
            st.just(approximate_counter()),
            st.sampled_from(["skip", "stop", "error", "truncate", "compress"]),
            st.sampled_from([0, 5, "You answer."]),
        ),
        "reading": st.sampled_from(["runs", "source", "off"]),
        "order": st.sampled_from([*sorted(ORDERS), Auto(short_chunks=1), PROFILE, lambda n: range(n - 1, -1, -1)]),
        "layout": st.sampled_from(["plain", "numbered", "xml", Layout(separator="|")]),
        "prompt": st.sampled_from(["before", "after", "both", Prompt("none", instruction="Answer.")]),
    },
).filter(lambda chosen: chosen.get("rank_by") != "distance" or "min_score" not in chosen)
ADDED = ("order", "kept", "block", "tokens", "dropped", "reason", "error")


def pieces(table: pa.Table, sizes: list[int]) -> list[pa.Table]:
    """Return a table cut into batches of these sizes, again and again."""
    cut: list[pa.Table] = []
    at = 0
    while at < table.num_rows or not cut:
        cut.append(table.slice(at, sizes[len(cut) % len(sizes)]))
        at += cut[-1].num_rows
    return cut


FORMS: dict[str, Callable[[pa.Table], Any]] = {
    "table": lambda table: table,
    "record batch": lambda table: table.combine_chunks().to_batches()[0] if table.num_rows else table,
    "frame": lambda table: table.to_pandas(),
    "dict": lambda table: table.to_pydict(),
    "dict of arrays": lambda table: {name: table[name].to_numpy() for name in table.column_names},
}


def wanted(row: dict[str, Any], keywords: dict[str, Any]) -> dict[str, Any]:
    """Return what a call for the row alone gives, or nothing but an error."""
    if row["chunks"] is None or None in row["chunks"]:
        return {"error": True}
    chunks = [{name: own for name, own in chunk.items() if name != "more"} for chunk in row["chunks"]]
    own = {**row, "chunks": [{**chunk, "head": chunk["head"] or ""} for chunk in chunks]}
    try:
        found = alone(own, **keywords)
        if "prompt" in keywords:
            found["prompt"] = place([Chunk(**chunk) for chunk in own["chunks"]], query=own["query"], **keywords).prompt
        return found
    except Exception:
        return {"error": True}


@settings(max_examples=80, deadline=None)
@given(
    rows=st.lists(ROWS, max_size=7),
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    form=st.sampled_from(sorted(FORMS)),
    keywords=SETTINGS,
)
def test_a_row_gets_what_it_gets_alone(
    rows: list[dict[str, Any]], sizes: list[int], form: str, keywords: dict[str, Any]
) -> None:
    """Every added cell, for any rows, settings, sizes of batches and forms of them; and no row is changed or lost."""
    table, place_batch = pa.Table.from_pylist(rows, TYPES), PlaceBatch(**keywords)
    added: list[dict[str, Any]] = []
    names = [*ADDED, "prompt"] if "prompt" in keywords else ADDED
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for piece in pieces(table, sizes):
            batch = FORMS[form](piece)
            placed = place_batch(batch)
            if isinstance(placed, pa.Table | pa.RecordBatch):
                assert repr(placed.select(TYPES.names).to_pylist()) == repr(batch.to_pylist())
                assert placed.schema.names[3:] == place_batch.schema.names
            columns = [cells(placed, name) for name in names]
            added += [
                {name: None if is_missing(own) else own for name, own in zip(names, row, strict=True)}
                for row in zip(*columns, strict=True)
            ]
        assert len(added) == len(rows)
        for row, own in zip(table.to_pylist(), added, strict=True):
            alike = wanted(row, keywords)
            if alike["error"] is None:  # a scorer that did not count is told in the reason too
                assert own.pop("reason").startswith(alike.pop("reason"))
                assert own == alike
            else:
                assert own.pop("error")
                assert set(own.values()) == {None}
