"""Cross-encoders by ONNX Runtime, without torch."""

import json
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from edgeorder.errors import RerankError, bad_choice
from edgeorder.extras import optional
from edgeorder.scorers.checks import check_whole
from edgeorder.scorers.hub import MissingFileError, first_file
from edgeorder.scorers.models import loaded
from edgeorder.scorers.pairs import PairScorer
from edgeorder.scorers.windows import LongPassages, Pair, Reader, Spans, check_long_passages
from edgeorder.stopping import Stop

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

Precision = Literal["auto", "int8", "fp32"]

# The files that cross-encoder repositories ship, by the processor feature that each was made for.
_INT8_FILES = {
    "avx512_vnni": "onnx/model_qint8_avx512_vnni.onnx",
    "avx512f": "onnx/model_qint8_avx512.onnx",
    "avx2": "onnx/model_quint8_avx2.onnx",
    "asimddp": "onnx/model_qint8_arm64.onnx",
}
_ANY_INT8 = "onnx/model_int8.onnx"  # what `edgeorder export-onnx --int8` writes
_FP32 = ("onnx/model.onnx", "model.onnx")
_TOKENS_AT_ONCE = 256


class _Model(NamedTuple):
    session: "InferenceSession"
    inputs: frozenset[str]
    cut: "Tokenizer"  # reads pairs, cut to the window
    whole: "Tokenizer"  # reads texts, however long
    window: int
    file: str


@dataclass(frozen=True)
class OnnxCrossEncoderScorer(PairScorer):
    """Score passages with a cross-encoder by ONNX Runtime (extra `onnx`): no torch, a fraction of disk and start-up.

    Args:
        model: A name on the hub whose repository ships `onnx/` files, as those of `cross-encoder/` do, or a folder
            with `tokenizer.json`, `config.json` and `onnx/model.onnx`, as `edgeorder export-onnx` makes one.
        precision: `"auto"` takes the int8 file that fits this processor if there is one, else fp32; `"int8"` and
            `"fp32"` insist. int8 is faster and moves scores a little; the name in the record says which file ran.
        batch_size: At most this many pairs at a time, of similar length, padded to their own longest.
        max_length: Tokens of query and passage that the model reads; None for the model's own limit.
        revision: Branch, tag or commit on the hub.
        threads: Batches that are scored side by side; None for as many as there are processors.
        long_passages: A passage beyond the window: `"warn"` scores its beginning and says so, `"window"` scores
            overlapping windows, of which the best one counts.
        relevant_label: For a model with several labels, the column that means relevant.

    Raises:
        ValueError: For an unknown name or a number that is too small: at the first call, for a window without room.
        TypeError: For a number that is not whole.
        RerankError: At the first call, if there is no such folder, model or file, or no way to the hub.
        ImportError: At the first call, if a package of the extra is not installed.

    The model is loaded at the first call, once for equal settings in a process. Calls run side by side.
    """

    model: str | Path
    precision: Precision = "auto"
    batch_size: int = 16
    max_length: int | None = None
    revision: str | None = None
    threads: int | None = None
    long_passages: LongPassages = "warn"
    relevant_label: int | None = None

    def __post_init__(self) -> None:
        check_long_passages(self.long_passages)
        if self.precision not in ("auto", "int8", "fp32"):
            raise bad_choice("precision", self.precision, ("auto", "int8", "fp32"))
        check_whole(self, batch_size=1, max_length=1, threads=1, relevant_label=0)

    @property
    def name(self) -> str:
        """The name under which the scorer is recorded."""
        return f"OnnxCrossEncoderScorer({self.model}, {self.precision})"

    def score_many(self, questions: Sequence[tuple[str, Sequence[str]]]) -> list[list[float]]:
        if "int8" not in self._loaded().file:
            return super().score_many(questions)
        # What is quantized takes its scale from the whole batch: a question's scores must not depend on its neighbours.
        return [self(query, texts) for query, texts in questions]

    def _loaded(self) -> _Model:
        key = ("onnx", str(self.model), self.precision, self.max_length, self.revision)
        return loaded(key, self._load)  # type: ignore[no-any-return]

    def _load(self) -> _Model:
        with optional("onnxruntime", "onnx"):
            import onnxruntime
        with optional("tokenizers", "onnx"):
            from tokenizers import Tokenizer
        try:
            file = first_file(self.model, _candidates(self.precision, processor_features()), self.revision)
        except MissingFileError as error:
            raise RerankError(f"{error}. Make one: edgeorder export-onnx") from None
        whole = _read(Tokenizer.from_file, first_file(self.model, ["tokenizer.json"], self.revision))
        whole.no_padding()
        whole.no_truncation()
        window = self.max_length or self._own_window()
        cut = Tokenizer.from_str(whole.to_str())
        cut.enable_truncation(window)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        session = _read(onnxruntime.InferenceSession, file, options, providers=["CPUExecutionProvider"])
        inputs = frozenset(entry.name for entry in session.get_inputs())
        return _Model(session, inputs, cut, whole, window, file.name)

    def _own_window(self) -> int:
        """Return the model's own limit: what its tokenizer says, within what its positions allow."""
        limits = [512]
        settings = self._optional_json("tokenizer_config.json").get("model_max_length")
        if isinstance(settings, int) and settings < 1_000_000:
            limits = [settings]
        config = self._optional_json("config.json")
        positions = config.get("max_position_embeddings")
        if isinstance(positions, int):
            # The RoBERTa family counts positions from the padding token's id on.
            offset = config.get("pad_token_id", 1) + 1 if "roberta" in str(config.get("model_type")) else 0
            limits.append(positions - offset)
        return min(limits)

    def _optional_json(self, name: str) -> dict[str, Any]:
        try:
            file = first_file(self.model, [name], self.revision)
        except MissingFileError:
            return {}
        try:
            return dict(json.loads(file.read_text(encoding="utf-8")))
        except (TypeError, ValueError) as error:
            raise RerankError(f"{file} is damaged: {error}") from error

    def _model(self) -> object:
        return self._loaded()

    def _reader(self) -> Reader:
        model = self._loaded()
        marks = model.whole.num_special_tokens_to_add(True)

        def tokens(texts: Any) -> list[Spans]:
            return [read.offsets for read in model.whole.encode_batch(list(texts), add_special_tokens=False)]

        return Reader(tokens, True, model.window, lambda query: marks + len(tokens([query])[0]))

    def _predict(self, pairs: list[Pair], stop: Stop) -> Sequence[Any]:
        import numpy as np

        model = self._loaded()
        read = model.cut.encode_batch(pairs)
        lengths = [len(pair.ids) for pair in read]
        outputs: list[Any] = [None] * len(read)

        def run(batch: list[int]) -> None:
            stop.check()
            feed = {name: np.zeros((len(batch), lengths[batch[0]]), np.int64) for name in model.inputs}
            for row, pair in enumerate(batch):
                filled = slice(0, lengths[pair])
                for name, values in (
                    ("input_ids", read[pair].ids),
                    ("attention_mask", read[pair].attention_mask),
                    ("token_type_ids", read[pair].type_ids),
                ):
                    if name in feed:
                        feed[name][row, filled] = values
            (logits,) = model.session.run(None, feed)
            for row, pair in enumerate(batch):
                outputs[pair] = logits[row].tolist()

        # Batches side by side, each on one thread, beat one batch at a time spread over all threads.
        with ThreadPoolExecutor(self.threads or _processors()) as pool:
            list(pool.map(run, _batches(lengths, self.batch_size)))
        return outputs


def _read(read: Callable[..., Any], file: Path, *args: Any, **keywords: Any) -> Any:
    """Return what a library makes of a file.

    Raises:
        RerankError: If it cannot, naming the file: the libraries do not, and a download that was cut off is common.
    """
    try:
        return read(str(file), *args, **keywords)
    except Exception as error:
        raise RerankError(f"{file} is damaged, or not of the kind that it should be: {error}") from error


def _batches(lengths: list[int], most: int) -> Iterator[list[int]]:
    """Yield batches of pairs, longest first, each of few tokens, so that little is padded."""
    batch: list[int] = []
    for pair in sorted(range(len(lengths)), key=lambda pair: -lengths[pair]):
        if batch and (len(batch) == most or (len(batch) + 1) * lengths[batch[0]] > _TOKENS_AT_ONCE):
            yield batch
            batch = []
        batch.append(pair)
    if batch:
        yield batch


def _processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor_features() -> frozenset[str]:
    """Return the features of this processor that int8 files are made for; empty where they cannot be read."""
    if platform.machine().lower() in ("arm64", "aarch64"):
        return frozenset({"asimddp"})
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return frozenset()
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), [])
    return frozenset(flags) & frozenset(_INT8_FILES)


def _candidates(precision: Precision, features: frozenset[str]) -> list[str]:
    """Return the files to look for, the preferred one first."""
    int8 = [file for feature, file in _INT8_FILES.items() if feature in features] + [_ANY_INT8]
    return {"auto": [*int8, *_FP32], "int8": int8, "fp32": [*_FP32]}[precision]
