"""`PlaceBatch`: every form of batch, rows that are bad, and the same values as one call of `place` for each row."""

import copy
import inspect
import pickle
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from question_rows import TYPES, columns, length_scorer, row, text

from edgeorder import (
    ORDERS,
    Budget,
    BudgetError,
    Chunk,
    EdgeOrderWarning,
    Layout,
    Rerank,
    RerankError,
    approximate_counter,
    place,
)
from edgeorder.batch import PlaceBatch
from edgeorder.batch.placing import PlaceSettings

ROWS = [row(at) for at in range(30)]
SETTINGS: dict[str, Any] = {"budget": Budget(260, approximate_counter()), "order": "bookend", "layout": "numbered"}


def table(rows: list[dict[str, Any]] = ROWS) -> pa.Table:
    """Return rows as a table."""
    return pa.Table.from_pylist(rows, TYPES)


def alone(one: dict[str, Any], **keywords: Any) -> dict[str, Any]:
    """Return what `place` says of a row."""
    placement = place([Chunk(**chunk) for chunk in one["chunks"]], query=one["query"], **keywords)
    return {
        "order": placement.order,
        "kept": list(placement.indices),
        "block": placement.block.text,
        "tokens": placement.tokens,
        "dropped": [
            {
                "index": drop.index,
                "rank": drop.rank,
                "reason": drop.reason,
                "tokens": drop.tokens,
                "duplicate_of": drop.duplicate_of,
            }
            for drop in placement.dropped
        ],
        "reason": placement.reason,
        "error": None,
    }


def test_its_settings_are_the_keywords_of_place() -> None:
    """All but the chunks and the question, which are columns."""
    keywords = [name for name in inspect.signature(place).parameters if name not in ("chunks", "query")]
    assert list(PlaceSettings.__annotations__) == keywords


@pytest.mark.filterwarnings("ignore:.*rank_by=")
@pytest.mark.parametrize("keywords", [{}, SETTINGS, {"rerank": length_scorer, "top_n": 2}, {"rank_by": "score"}])
def test_a_row_gets_what_place_gives_for_it_alone(keywords: dict[str, Any]) -> None:
    """Every added cell, with the scorer's failure for one row as the error of that row."""
    placed = PlaceBatch(**keywords)(table()).to_pylist()
    assert [one["id"] for one in placed] == list(range(30))
    for one, own in zip(ROWS, placed, strict=True):
        assert {name: own[name] for name in one} == one
        if one["chunks"] is None:
            assert own["error"].startswith("ValueError: the chunks are missing")
        elif "rerank" in keywords and one["id"] == 5:
            assert (
                own["error"] == "RerankError: scorer length_scorer failed with OSError: no way to the server, key ***"
            )
            assert own["kept"] is own["block"] is own["dropped"] is None
        else:
            assert {name: own[name] for name in alone(one, **keywords)} == alone(one, **keywords)


@settings(max_examples=25, deadline=None)
@given(sizes=st.lists(st.integers(1, 12), min_size=1, max_size=6), order=st.sampled_from(sorted(ORDERS)))
def test_values_do_not_depend_on_the_batches(sizes: list[int], order: str) -> None:
    """Cut into batches of any size, in any form, the rows get the same cells."""
    place_batch = PlaceBatch(**{**SETTINGS, "order": order}, rerank=length_scorer)
    whole = place_batch(table()).to_pylist()
    cut: list[dict[str, Any]] = []
    for at in range(40):
        size = sizes[at % len(sizes)]
        piece = table().slice(len(cut), size)
        if not piece.num_rows:
            break
        cut += place_batch(piece).to_pylist()
    assert cut == whole


def test_every_form_comes_back_as_it_came() -> None:
    """Table, RecordBatch, DataFrame with its index, dict of lists or arrays: same form, same values, none changed."""
    place_batch = PlaceBatch(**SETTINGS)
    wanted = place_batch(table()).to_pylist()
    record_batch = place_batch(table().to_batches()[0])
    assert isinstance(record_batch, pa.RecordBatch)
    assert record_batch.to_pylist() == wanted
    frame = table().to_pandas().set_index(pd.Index(range(100, 130)))
    before = frame.copy(deep=True)
    placed = place_batch(frame)
    assert list(placed.index) == list(range(100, 130))
    pd.testing.assert_frame_equal(frame, before)
    assert str(placed["tokens"].dtype) == "Int64"
    assert placed["kept"].tolist() == [one["kept"] for one in wanted]
    assert placed["block"].tolist() == [one["block"] for one in wanted]
    lists = columns(ROWS)
    kept = copy.deepcopy(lists)
    assert place_batch(lists) == columns(wanted)
    assert lists == kept
    arrays = {name: np.array([*values, None], dtype=object)[:-1] for name, values in lists.items()}
    assert place_batch(arrays)["kept"] == columns(wanted)["kept"]


def test_the_schema_is_that_of_the_columns() -> None:
    """Also where a batch has nothing but errors, or nothing at all: what engines infer from values would be no type."""
    place_batch = PlaceBatch(prefix="new_", prompt="after")
    placed = place_batch(table(ROWS[8:9]))
    assert pa.schema(list(placed.schema)[3:]) == place_batch.schema
    assert place_batch(table([])).schema == placed.schema
    assert place_batch.schema.names[-1] == "new_prompt"
    assert str(place_batch(table(ROWS[8:9]).to_pandas())["new_tokens"].dtype) == "Int64"


def test_cells_may_hold_chunks_in_many_shapes() -> None:
    """Texts, structs with more fields than a chunk has, a struct of lists, arrays; an empty list is no fault."""
    chunks = [
        ["A", "B"],
        [{"text": "A", "vector": [1.0], "score": None}, {"text": "B"}],
        {"text": ["A", "B"], "score": [None, 0.5]},
        np.array(["A", "B"], dtype=object),
        [],
    ]
    placed = PlaceBatch(layout=Layout(separator="|"))({"chunks": chunks})
    assert placed["error"] == [None] * 5
    assert placed["block"] == ["A|B"] * 4 + [""]
    assert placed["kept"][-1] == placed["dropped"][-1] == []


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        (None, "ValueError: the chunks are missing"),
        (float("nan"), "ValueError: the chunks are missing"),
        (pd.NA, "ValueError: the chunks are missing"),
        ("one text", "TypeError: the chunks must be a list of texts or structs, not str: 'one text'"),
        (7, "TypeError: the chunks must be a list of texts or structs, not int: 7"),
        (["A", None], "TypeError: chunks[1] must be a text or a struct, not NoneType: None"),
        (["A", 5], "TypeError: chunks[1] must be a text or a struct, not int: 5"),
        ([{"content": "A", "score": 1}], "ValueError: chunks[0] has no field 'text'; it has: content, score"),
        ([{"text": None}], "TypeError: chunks[0]: Chunk.text must be a str, not NoneType: None"),
        ({"text": ["A", "B"], "score": [1]}, "ValueError: the fields of the chunks are lists of different lengths"),
    ],
)
def test_a_bad_row_says_what_is_wrong_and_the_others_go_on(chunks: object, message: str) -> None:
    """In words, in its own `error`."""
    placed = PlaceBatch()({"chunks": [["A"], chunks, ["B"]], "query": ["q", "q", float("nan")]})
    assert placed["block"] == ["A", None, "B"]
    assert placed["error"][1].startswith(message)
    assert placed["error"][::2] == [None, None]


def test_a_question_that_is_missing_fails_only_its_row() -> None:
    """Where a stage needs it; one that is no text is told as such."""
    placed = PlaceBatch(prompt="after")({"chunks": [["A"]] * 4, "query": ["q", None, "", 5]})
    assert placed["prompt"][0] == "A\n\nQuestion: q"
    assert [bool(error) for error in placed["error"]] == [False, True, True, True]
    assert "shows the question, so it needs one" in placed["error"][1]
    assert placed["error"][3] == "TypeError: the query must be a text, not int: 5"


def test_a_cell_that_cannot_be_read_fails_only_its_row() -> None:
    """Bytes that are no UTF-8 come from other programs, and Arrow does not look."""
    raw = pa.array([[b"good"], [b"\xff bad"], [b"good"]], pa.list_(pa.binary())).cast(pa.list_(pa.binary()))
    texts = pa.ListArray.from_arrays(raw.offsets, raw.flatten().view(pa.string()))
    placed = PlaceBatch()(pa.table({"chunks": texts}))
    assert [error and error.split(":")[0] for error in placed["error"].to_pylist()] == [
        None,
        "UnicodeDecodeError",
        None,
    ]


def test_what_would_fail_every_row_ends_the_run() -> None:
    """A missing column, names that are taken, a setting that is none, a reserve without room: none is a bad row."""
    with pytest.raises(ValueError, match="no column 'chunks'; there are: query, passages"):
        PlaceBatch()({"query": ["q"], "passages": [["A"]]})
    with pytest.raises(ValueError, match="no column 'query'; there are: chunks"):
        PlaceBatch(rerank=length_scorer)({"chunks": [["A"]]})
    with pytest.raises(ValueError, match=r"'tokens' are there already .* prefix='placed_'"):
        PlaceBatch()({"chunks": [["A"]], "tokens": [1]})
    with pytest.raises(TypeError, match="PlaceBatch has no setting 'bugdet'; it has: rank_by, "):
        PlaceBatch(bugdet=5)  # type: ignore[call-arg]
    with pytest.raises(BudgetError, match="leaves nothing"):
        PlaceBatch(budget=Budget(5, approximate_counter(), reserve=9))({"chunks": [["A"]]})
    with pytest.raises(TypeError, match=r"not builtins\.list"):
        PlaceBatch()([["A"]])
    with pytest.raises(ValueError, match="one length"):
        PlaceBatch()({"chunks": [["A"]], "query": ["q", "q"]})
    assert PlaceBatch(prefix="placed_")({"chunks": [["A"]], "tokens": [1]})["tokens"] == [1]


def test_a_failed_scorer_that_may_fail_is_told_in_the_reason() -> None:
    """The order before it was kept, and the row says so."""
    with pytest.warns(EdgeOrderWarning, match="rerank failed"):
        placed = PlaceBatch(rerank=Rerank(length_scorer, on_error="input_order"))(table(ROWS[5:7]))
    failed, fine = placed.to_pylist()
    assert failed["error"] is None
    assert "; rerank failed, the order before it was kept: OSError: no way to the server, key ***" in failed["reason"]
    assert "rerank failed" not in fine["reason"]


def test_a_batch_warns_once_of_a_kind() -> None:
    """It shows the first warning of each kind, and says how many there were: no kind hides behind another."""
    batch = {"chunks": [["short"], ["x" * 900], ["x" * 800]]}
    with pytest.warns(
        EdgeOrderWarning,
        match=r"^row 1 of a batch: all 1 chunks were dropped .* \(one of 2 warnings in a batch of 3 rows\)$",
    ) as all_:
        placed = PlaceBatch(budget=Budget(50, approximate_counter()))(batch)
    assert len(all_) == 1
    assert [len(kept) for kept in placed["kept"]] == [1, 0, 0]
    batch["chunks"].append(["A", "B"])
    with pytest.warns(EdgeOrderWarning) as all_:
        PlaceBatch(budget=Budget(50, approximate_counter()), rank_by="score")(batch)
    ranked, dropped = [str(one.message) for one in all_]
    assert re.match(r"row 0 of a batch: rank_by='score' found .* \(one of 4 warnings in a batch of 4 rows\)$", ranked)
    assert re.match(r"row 1 of a batch: all 1 chunks .* \(one of 2 warnings in a batch of 4 rows\)$", dropped)


def test_it_is_pickled_with_its_settings() -> None:
    """As engines send it to their workers."""
    place_batch = PlaceBatch(**SETTINGS, rerank=length_scorer)
    again = pickle.loads(pickle.dumps(place_batch))
    assert again(table()).equals(place_batch(table()))


def test_it_is_light_and_needs_no_engine() -> None:
    """A dict of columns needs neither pyarrow nor pandas; importing it loads neither."""
    code = (
        "import sys; from edgeorder.batch import PlaceBatch; PlaceBatch()({'chunks': [['A']]}); "
        "print([m for m in ('pyarrow', 'pandas', 'numpy', 'pydantic', 'torch', 'tiktoken') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_missing_package_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would fail every row, and pip mends it."""
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(ImportError, match=r"edgeorder\[text\]"):
        PlaceBatch(dedupe="off", budget=Budget(20, approximate_counter(), "compress"))(
            {"chunks": [[text(30, at) + " " + text(30, at + 1) for at in range(4)]], "query": ["q"]}
        )


def test_an_unloadable_model_ends_the_run_or_is_told_in_each_row() -> None:
    """It is tried once for a batch, not once for each of a million rows."""
    from edgeorder.scorers.pairs import PairScorer

    class Absent(PairScorer):
        long_passages = "warn"
        relevant_label = None
        tries = 0

        def _reader(self) -> None:
            Absent.tries += 1
            raise RerankError("no such model")

        def _model(self) -> None:
            self._reader()

        def _predict(self, pairs: list[Any], stop: Any) -> Any:
            raise AssertionError

    with pytest.raises(RerankError, match="no such model"):
        PlaceBatch(rerank=Absent())(table())
    with pytest.warns(EdgeOrderWarning):
        placed = PlaceBatch(rerank=Rerank(Absent(), on_error="input_order"))(table()).to_pylist()
    assert Absent.tries == 2
    assert all("no such model" in one["reason"] for one in placed if one["chunks"])
