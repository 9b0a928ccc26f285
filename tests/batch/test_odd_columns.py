"""Columns of every kind that Arrow, pandas and dicts have: read as what they hold, or told what is wrong with them."""

import datetime
import decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from edgeorder import Chunk, Layout, Rerank, place
from edgeorder.batch import PlaceBatch
from edgeorder.batch.columns import cells

TEXTS = [["A", "B"], ["C"], None, [], ["D", None]]
LISTS = [
    pa.list_(pa.string()),
    pa.list_(pa.large_string()),
    pa.large_list(pa.string()),
    pa.list_view(pa.string()),
    pa.large_list_view(pa.string_view()),
    pa.list_(pa.string_view()),
    pa.list_(pa.dictionary(pa.int8(), pa.string())),
]


def errors(placed: Any) -> list[str | None]:
    """Return the errors of a placed batch of any form, without what follows the type."""
    return [error and error.partition(":")[0] for error in cells(placed, "error")]


@pytest.mark.parametrize("kind", LISTS, ids=str)
def test_lists_of_texts_of_every_type(kind: pa.DataType) -> None:
    """In one piece, in chunks, and in slices that begin in the middle."""
    place_batch = PlaceBatch()
    column = pa.chunked_array([pa.array(TEXTS[:2], kind), pa.array([], kind), pa.array(TEXTS[2:], kind)])
    whole = place_batch(pa.table({"chunks": column}))
    assert whole["kept"].to_pylist() == [[0, 1], [0], None, [], None]
    assert errors(whole) == [None, None, "ValueError", None, "TypeError"]
    assert whole.column("chunks").equals(column)
    for batch in (pa.table({"chunks": column}), pa.record_batch({"chunks": pa.array(TEXTS, kind)})):
        assert place_batch(batch.slice(1, 3))["block"].to_pylist() == ["C", None, ""]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([["A", "B"], ["C", "D"]], pa.list_(pa.string(), 2)),
        pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([["A", "B"], ["C", "D"]])),
        pa.RunEndEncodedArray.from_arrays(pa.array([1, 2]), pa.array([["A", "B"], ["C", "D"]])),
        pa.array([[{"text": "A", "more": {"deep": [1]}}, {"text": "B"}], [{"text": "C"}, {"text": "D"}]]),
        pa.array(
            [[[("text", one)] for one in pair] for pair in ("AB", "CD")], pa.list_(pa.map_(pa.string(), pa.string()))
        ),
        np.array([["A", "B"], ["C", "D"]]),
        [{"text": ["A", "B"], "score": None}, {"text": np.array(["C", "D"], object), "score": np.array([1.0, np.nan])}],
        pd.Series([np.array(["A", "B"], object), ("C", "D")]),
        pd.Series([["A", "B"], ["C", "D"]], dtype=pd.ArrowDtype(pa.list_(pa.string()))),
        [[{"text": np.str_("A"), "score": np.float32(1)}, {"text": "B"}], [Chunk("C"), "D"]],
    ],
    ids=lambda column: str(getattr(column, "type", type(column).__name__)),
)
def test_columns_that_hold_the_same_texts(column: Any) -> None:
    """Whatever their type, in every form that can hold it."""
    batches: list[Any] = [{"chunks": column}]
    if isinstance(column, pa.Array):
        batches += [pa.table({"chunks": column}), pa.record_batch({"chunks": column})]
    if isinstance(column, pd.Series):
        batches = [pd.DataFrame({"chunks": column})]
    for batch in batches:
        placed = PlaceBatch(layout=Layout(separator="|"))(batch)
        assert cells(placed, "block") == ["A|B", "C|D"]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ({"text": "AB"}, "TypeError: the chunks must be a list, and are one struct whose 'text' is a str"),
        ({"text": "AB", "id": "12"}, "TypeError: the chunks must be a list, and are one struct whose 'text' is a str"),
        ({"text": ["A"], "id": "1"}, "TypeError: the chunks must be a list, and are one struct whose 'id' is a str"),
        ({"text": ["A", "B"], "id": ["1"]}, "ValueError: the fields of the chunks are lists of different lengths"),
        ([[]], "TypeError: chunks[0] must be a text or a struct, not list"),
        ([["text", "A"]], "TypeError: chunks[0] must be a text or a struct, not list"),
        ([b"A"], "TypeError: chunks[0] must be a text or a struct, not bytes"),
        ([{}], "ValueError: chunks[0] has no field 'text'; it has: none"),
        ([{"text": "A", "tail": 5}], "TypeError: chunks[0]: Chunk.tail must be a str, not int: 5"),
        ([{"text": pd.NA}], "TypeError: chunks[0]: Chunk.text must be a str, not NAType"),
        ({"A", "B"}, "TypeError: the chunks must be a list of texts or structs, not set"),
        (np.datetime64("NaT"), "ValueError: the chunks are missing"),
        ({}, "ValueError: the chunks are missing"),
        ({"text": None, "score": float("nan")}, "ValueError: the chunks are missing"),
        (pd.NaT, "ValueError: the chunks are missing"),
    ],
    ids=repr,
)
def test_one_struct_is_no_list(cell: object, message: str) -> None:
    """A text is not read letter by letter, whatever it is in."""
    placed = PlaceBatch()({"chunks": [["A"], cell]})
    assert placed["error"][0] is None
    assert placed["error"][1].startswith(message)
    assert placed["kept"] == [[0], None]


def test_what_pandas_puts_where_nothing_is_counts_as_nothing() -> None:
    """In any field but the text, in a table as in a call."""
    nothing: list[Any] = [None, float("nan"), np.float64("nan"), pd.NA, pd.NaT, np.datetime64("NaT", "ns")]
    names = ("score", "source", "offset", "end", "id", "title", "date", "page", "section")
    for value in nothing:
        fields = dict.fromkeys(names, value)
        wanted = place([Chunk("A"), Chunk("B")], layout="numbered", dedupe="id")
        assert wanted.block.text == "[1]\nA\n\n[2]\nB"
        direct = place([Chunk("A", **fields), Chunk("B", **fields)], layout="numbered", dedupe="id")
        assert (direct.block.text, direct.indices) == (wanted.block.text, wanted.indices)
        apart = ({"offset": value, "end": value}, {"offset": 1, "section": value, "page": value}, {"offset": 2})
        found = [Chunk("B", source="s", **one) for one in apart]
        known = [Chunk("B", source="s"), *(Chunk("B", source="s", offset=at) for at in (1, 2))]
        assert place(found).indices == place(known).indices
        chunks = [{"text": "A", **fields, "head": value, "tail": value}, {"text": "B", **fields}]
        placed = PlaceBatch(layout="numbered", dedupe="id")({"chunks": [chunks]})
        assert (placed["block"], placed["error"]) == ([wanted.block.text], [None])


def test_a_field_may_be_a_list_a_struct_or_a_date() -> None:
    """As a call of `place` takes them: an offset of page and line, a decimal, a time to the nanosecond."""
    when = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
    rows = [
        [{"text": "B", "source": "s", "offset": [3, 2]}, {"text": "A", "source": "s", "offset": [3, 1]}],
        [{"text": "B", "score": decimal.Decimal(1)}, {"text": "A", "score": decimal.Decimal("1.5")}],
        [{"text": "A", "date": when, "id": {"doc": 1, "at": [2]}}, {"text": "B", "id": {"doc": 1, "at": [3]}}],
    ]
    for row, block in zip(rows, ["A\n\nB", "B\n\nA", "A\n\nB"], strict=True):
        for batch in (pa.table({"chunks": [row]}), pa.table({"chunks": [row]}).to_pandas(), {"chunks": [row]}):
            assert cells(PlaceBatch(dedupe="id")(batch), "block") == [block]
    stamp = pa.array(
        [[{"text": "A", "date": 1}]], pa.list_(pa.struct({"text": pa.string(), "date": pa.timestamp("ns")}))
    )
    assert PlaceBatch()(pa.table({"chunks": stamp}))["error"].to_pylist() == [None]


def test_numbers_may_be_arrays_of_no_dimension() -> None:
    """As `datasets` with the format "numpy" hands them over."""
    chunk = {"text": "A", "score": np.array(2.0), "page": np.array(3.0), "offset": np.array(1), "id": np.array("x")}
    placed = PlaceBatch(layout="numbered", rank_by="score", dedupe="id")(
        {"chunks": np.array([[{"text": "B", "score": np.array(1.0), "id": "x"}, chunk], None], dtype=object)[:1]}
    )
    assert (placed["error"], placed["block"]) == ([None], ["[1] (p. 3)\nA"])


@pytest.mark.parametrize(
    "index",
    [
        [1, 1],
        [float("nan")] * 2,
        pd.MultiIndex.from_tuples([(1, None), (1, None)], names=["chunks", None]),
        pd.DatetimeIndex([pd.NaT, pd.NaT]),
        pd.CategoricalIndex(["b", "a"]),
        pd.RangeIndex(9, 3, -3),
    ],
    ids=repr,
)
def test_a_frame_keeps_its_index(index: Any) -> None:
    """Labels that are there twice, missing, in levels: rows are told by their places."""
    frame = pd.DataFrame({"chunks": [["A"], ["B"]], "x": [1, 2]}, index=index)
    placed = PlaceBatch()(frame)
    assert placed["block"].tolist() == ["A", "B"]
    pd.testing.assert_frame_equal(placed[["chunks", "x"]], frame)


def test_a_kind_of_frame_of_its_own_comes_back() -> None:
    """As other packages make them by subclassing."""

    class Frame(pd.DataFrame):
        @property
        def _constructor(self) -> Any:
            return Frame

    placed = PlaceBatch()(Frame({"chunks": [["A"]]}))
    assert isinstance(placed, Frame)
    assert placed["block"].tolist() == ["A"]


def test_columns_that_are_there_twice() -> None:
    """Those that are read cannot be told apart; others stay as they are."""
    one, other = pa.array([["A"]]), pa.array([["B"]])
    message = "2 columns are named 'chunks', and it cannot be told which is meant"
    for batch in (
        pa.Table.from_arrays([one, other], names=["chunks", "chunks"]),
        pd.DataFrame([[["A"], ["B"]]], columns=["chunks", "chunks"]),
    ):
        with pytest.raises(ValueError, match=message):
            PlaceBatch()(batch)
    with pytest.raises(ValueError, match="2 columns are named 'query'"):
        PlaceBatch()(pa.Table.from_arrays([one, other, other], names=["chunks", "query", "query"]))
    for batch in (
        pa.Table.from_arrays([one, other, other], names=["chunks", "x", "x"]),
        pd.DataFrame([[["A"], 1, 2]], columns=["chunks", "x", "x"]),
    ):
        assert cells(PlaceBatch()(batch), "block") == ["A"]


def test_columns_of_a_dict_have_one_length() -> None:
    """Also those that are not read: rows would be lost."""
    with pytest.raises(ValueError, match=r"one length, not .*'id': 3"):
        PlaceBatch()({"id": [1, 2, 3], "chunks": [["A"]]})
    assert PlaceBatch()({"chunks": []})["error"] == []
    for batch in (pa.table({}), pd.DataFrame(), {}):
        with pytest.raises(ValueError, match="no column 'chunks'; there are: none"):
            PlaceBatch()(batch)


def test_a_cell_of_a_frame_that_cannot_be_read_fails_only_its_row() -> None:
    """Where pandas holds what Arrow did not look at."""
    raw = pa.array([[b"good"], [b"\xff bad"]], pa.list_(pa.binary()))
    texts = pa.ListArray.from_arrays(raw.offsets, raw.flatten().view(pa.string()))
    frame = pd.DataFrame({"chunks": pd.Series(pd.arrays.ArrowExtensionArray(texts), index=[5, 5])})
    assert errors(PlaceBatch()(frame)) == [None, "UnicodeDecodeError"]


def test_what_is_told_can_be_written() -> None:
    """A message or a separator with a lone surrogate, as file names have them, is no fault of a whole batch."""

    def scorer(query: str, texts: list[str]) -> list[float]:
        raise OSError("no file \udcff")

    table = pa.table({"query": ["q"], "chunks": [["A", "B"]]})
    assert PlaceBatch(rerank=scorer)(table)["error"].to_pylist()[0].endswith("no file ?")
    with pytest.warns(UserWarning, match="rerank failed"):
        kept = PlaceBatch(rerank=Rerank(scorer, on_error="input_order"))(table)
    assert kept["reason"].to_pylist()[0].endswith("no file ?")
    assert PlaceBatch(layout=Layout(separator="\udcff"))(table)["block"].to_pylist() == ["A?B"]


def test_a_prefix_is_a_text() -> None:
    """Told at once, not at the first batch."""
    with pytest.raises(TypeError, match="prefix must be a text, not 5"):
        PlaceBatch(prefix=5)  # type: ignore[arg-type]


def test_columns_that_can_be_read_once_come_back_as_lists() -> None:
    """Generators and iterators are not handed back empty, and no row of one is lost."""
    rows: Any = {"chunks": ([text] for text in "AB"), "id": iter([1, 2]), "more": {1: "x", 2: "y"}.values()}
    placed = PlaceBatch()(rows)
    assert (placed["chunks"], placed["id"], placed["block"]) == ([["A"], ["B"]], [1, 2], ["A", "B"])
    assert list(placed["more"]) == ["x", "y"]
    with pytest.raises(ValueError, match=r"one length, not .*'id': 3"):
        PlaceBatch()({"chunks": ([text] for text in "AB"), "id": iter([1, 2, 3])})

    def broken() -> Any:
        yield ["A"]
        raise TypeError("the reader's own")

    with pytest.raises(TypeError, match="the reader's own"):
        PlaceBatch()({"chunks": broken()})


@pytest.mark.parametrize("value", ["AB", b"AB", None, 5, {"a": 1, "b": 2}, {1, 2}, np.array(5)], ids=repr)
def test_a_column_is_a_list(value: Any) -> None:
    """Also one that is not read: a single row, as `map` hands it over that was not told to batch, is told as such."""
    for batch in ({"chunks": value}, {"chunks": [["A"], ["B"]], "query": value}):
        with pytest.raises(TypeError, match=r"must be a list with one value for each row, .*batched=True"):
            PlaceBatch()(batch)
    with pytest.raises(TypeError, match="the column 'query' must be a list"):
        PlaceBatch()({"query": "Which?", "chunks": ["A", "B"]})


def test_what_is_no_batch_is_told_with_what_makes_one() -> None:
    """Rows, and what other packages can hand to Arrow."""
    with pytest.raises(TypeError, match=r"not builtins\.list; pyarrow\.Table\.from_pylist\(rows\)"):
        PlaceBatch()([{"chunks": ["A"]}])
    table = pa.table({"chunks": [["A"]]})
    for stream in (table.to_reader(), type("Frame", (), {"__arrow_c_stream__": table.__arrow_c_stream__})()):
        with pytest.raises(TypeError, match=r"; pyarrow\.table\(batch\) makes one of it"):
            PlaceBatch()(stream)
        assert PlaceBatch()(pa.table(stream))["block"].to_pylist() == ["A"]


def test_questions_may_be_called_so() -> None:
    """As JSON lines have them; `query` counts if both are there, and what is not needed is not read."""
    table = pa.table({"question": ["q"], "chunks": [["A"]]})
    for batch in (table, table.to_pandas(), table.to_pydict()):
        assert list(cells(PlaceBatch(prompt="after")(batch), "prompt")) == ["A\n\nQuestion: q"]
    both = {"question": ["q"], "query": ["r"], "chunks": [["A"]]}
    assert PlaceBatch(prompt="after")(both)["prompt"] == ["A\n\nQuestion: r"]
    assert PlaceBatch()({"question": [5], "chunks": [["A"]]})["error"] == [None]
    twice = pa.Table.from_arrays([table["chunks"], table["question"], table["question"]], ["chunks"] + ["question"] * 2)
    assert cells(PlaceBatch()(twice), "error") == [None]
    with pytest.raises(ValueError, match="2 columns are named 'question'"):
        PlaceBatch(prompt="after")(twice)
    with pytest.raises(ValueError, match="no column 'query'; there are: chunks"):
        PlaceBatch(prompt="after")({"chunks": [["A"]]})
