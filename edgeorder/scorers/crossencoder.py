"""Cross-encoders by sentence-transformers."""

import inspect
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from os import PathLike
from typing import Any
from weakref import WeakKeyDictionary

from edgeorder.alerts import warn
from edgeorder.errors import RerankError
from edgeorder.extras import optional
from edgeorder.masking import presentable
from edgeorder.scorers.batches import in_batches
from edgeorder.scorers.checks import check_whole
from edgeorder.scorers.hub import as_folder, hub_failure
from edgeorder.scorers.models import loaded
from edgeorder.scorers.pairs import PairScorer, as_rows
from edgeorder.scorers.windows import LongPassages, Pair, Reader, Spans, check_long_passages
from edgeorder.stopping import Stop, current

_locks: "WeakKeyDictionary[Any, threading.Lock]" = WeakKeyDictionary()
_guard = threading.Lock()
_lock_of_others = threading.Lock()
_JOINTS = 2  # tokens that a template may need more around a passage than around none
_quiet: ContextVar[bool] = ContextVar("edgeorder_quiet", default=False)


@dataclass(frozen=True)
class CrossEncoderScorer(PairScorer):
    """Score passages with a cross-encoder of sentence-transformers (extra `rerank`).

    Args:
        model: A name on the hub, a folder, a ready `CrossEncoder`, or any object with `predict(pairs)` or
            `score(pairs)`.
        device: Where the model runs; None for the library's choice.
        batch_size: Pairs at a time; None for 8 on a CPU, where padding costs more than small batches, and 32 elsewhere.
        max_length: Tokens of query and passage that the model reads; None for the model's own limit.
        revision: Branch, tag or commit on the hub.
        model_kwargs: Keywords for loading the model, such as `{"dtype": "float16"}`.
        long_passages: A passage beyond the window: `"warn"` scores its beginning and says so, `"window"` scores
            overlapping windows, of which the best one counts.
        trust_remote_code: Whether code of the model's repository may run. Off: turn it on for models you trust.
        relevant_label: For a model with several labels, the column that means relevant.
        prompt: The instruction that a model with a chat template shows with each pair; None for its own.

    Raises:
        ValueError: For an unknown name or a number that is too small: at the first call, for a window without room.
        TypeError: For a number that is not whole, or a model that scores nothing.
        RerankError: At the first call, if there is no such folder or model, or no way to the hub.
        ImportError: At the first call, if sentence-transformers is not installed.

    The model is loaded at the first call, once for equal settings in a process (`edgeorder.rerank.clear_models()`
    frees it). Scores are raw: no sigmoid. One call at a time runs on a model, since its tokenizer is shared.
    """

    model: Any
    device: str | None = None
    batch_size: int | None = None
    max_length: int | None = None
    revision: str | None = None
    model_kwargs: dict[str, Any] | None = field(default=None, repr=False)  # may hold a token
    long_passages: LongPassages = "warn"
    trust_remote_code: bool = False
    relevant_label: int | None = None
    prompt: str | None = None

    def __post_init__(self) -> None:
        check_long_passages(self.long_passages)
        check_whole(self, batch_size=1, max_length=1, relevant_label=0)
        if not isinstance(self.model, str | PathLike) and _predictor(self.model) is None:
            raise TypeError(f"model must be a name, a folder or an object with predict(pairs), not {self.model!r}")

    @property
    def name(self) -> str:
        """The name under which the scorer is recorded."""
        known = isinstance(self.model, str | PathLike)
        return f"CrossEncoderScorer({self.model if known else type(self.model).__name__})"

    @property
    def stops(self) -> bool:
        """Whether the work ends between two batches once nobody waits for it; not where a model takes all at once."""
        return isinstance(self.model, str | PathLike) or "batch_size" in _accepted(self.model)

    def _model(self) -> object:
        return self._encoder()

    def _encoder(self) -> Any:
        if not isinstance(self.model, str | PathLike):
            return self.model
        keywords = {
            "device": self.device,
            "max_length": self.max_length,
            "revision": self.revision,
            "model_kwargs": self.model_kwargs,
            "trust_remote_code": self.trust_remote_code,
        }
        key = ("torch", str(self.model), json.dumps(keywords, sort_keys=True, default=repr))
        return loaded(key, lambda: load_encoder(self.model, keywords))

    def _prompt(self) -> str | None:
        """Return what the model puts before each pair: what was asked for, or its own."""
        if self.prompt is not None:
            return self.prompt
        encoder = self._encoder()
        name = getattr(encoder, "default_prompt_name", None)
        return None if name is None else encoder.prompts.get(name)

    def _reader(self) -> Reader | None:
        encoder = self._encoder()
        tokenizer = getattr(encoder, "tokenizer", None)
        if tokenizer is None or not hasattr(tokenizer, "num_special_tokens_to_add"):
            return None
        window = getattr(encoder, "max_seq_length", None) or encoder.max_length

        def tokens(texts: Any) -> list[Spans]:
            fast = tokenizer.is_fast
            with _lock_of(encoder):
                read = tokenizer(
                    list(texts), add_special_tokens=False, truncation=False, return_offsets_mapping=fast, verbose=False
                )
            return read["offset_mapping"] if fast else [[(0, 0)] * len(ids) for ids in read["input_ids"]]

        def around(query: str) -> int:
            plain = int(tokenizer.num_special_tokens_to_add(pair=True)) + len(tokens([query])[0])
            if not hasattr(encoder, "preprocess"):
                return plain
            with _lock_of(encoder):  # as the model will be shown it, template and prompt included
                features = encoder.preprocess([(query, "")], prompt=self._prompt())
            shown = len(features["input_ids"][0])
            return shown if shown == plain else shown + _JOINTS

        return Reader(tokens, tokenizer.is_fast, int(window), around)

    def _predict(self, pairs: list[Pair], stop: Stop) -> Sequence[Any]:
        encoder = self._encoder()
        if _has_new_head(encoder):
            warn(
                f"{self.name}: the model came without a head for scores, and has been given a random one: it ranks at "
                "random. It may be an embedding model; use a cross-encoder."
            )
        most = self.batch_size or (8 if str(getattr(encoder, "device", "cpu")) == "cpu" else 32)
        wanted: dict[str, Any] = {"batch_size": most, "show_progress_bar": False}
        accepted = _accepted(encoder)
        for activation in ("activation_fn", "activation_fct"):  # the name changed in sentence-transformers 4
            if activation in accepted:
                import torch

                wanted[activation] = torch.nn.Identity()
        keywords = {name: value for name, value in wanted.items() if name in accepted}
        if self.prompt is not None:
            if "prompt" not in accepted:
                raise RerankError(f"{self.name} takes no prompt")
            keywords["prompt"] = self.prompt

        def predict(some: list[Pair]) -> list[Any]:
            with _lock_of(encoder):
                stop.check()
                return as_rows(_predictor(encoder)(some, **keywords))

        if current() is None or "batch_size" not in accepted:
            return predict(pairs)
        return in_batches(pairs, predict, most, stop)


def _predictor(model: Any) -> Any:
    """Return the method that takes pairs: `predict`, or `score` as LangChain's `BaseCrossEncoder` calls it."""
    return getattr(model, "predict", None) or getattr(model, "score", None)


def _accepted(model: Any) -> Mapping[str, Any]:
    """Return the parameters of the method that takes pairs."""
    return inspect.signature(_predictor(model)).parameters


def _has_new_head(encoder: Any) -> bool:
    """Say whether a model for scores was loaded from one that is not for scores."""
    network = getattr(encoder, "model", None)
    kind = type(network).__name__
    known = getattr(getattr(network, "config", None), "architectures", None) or ()
    for_scores = "ForSequenceClassification"
    return bool(known) and kind.endswith(for_scores) and not any(str(name).endswith(for_scores) for name in known)


def load_encoder(model: str | PathLike[str], keywords: dict[str, Any]) -> Any:
    """Load a `CrossEncoder` without progress bars.

    Raises:
        RerankError: If there is no such folder or model, or no way to the hub.
        ImportError: If sentence-transformers is not installed.
    """
    folder = as_folder(model)
    with optional("sentence-transformers", "rerank"):
        from sentence_transformers import CrossEncoder
    _install_quiet_bars()
    loading = _quiet.set(True)
    try:
        given = {name: value for name, value in keywords.items() if value is not None}
        return CrossEncoder(str(model if folder is None else folder), **given)
    except (OSError, ValueError) as error:
        if folder is not None:  # the library says what is wrong in it
            raise
        failure, cause = hub_failure(str(model), "it", error), presentable(error)
    finally:
        _quiet.reset(loading)
    raise failure from cause


@cache
def _install_quiet_bars() -> None:
    """Leave out the bars of transformers where `_quiet` says so.

    Its own switch is one for the process, and would take the bars of other threads away.
    """
    from transformers.utils import logging

    if not hasattr(logging, "set_tqdm_hook"):
        return

    def hook(factory: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if _quiet.get():
            return logging.EmptyTqdm(*args, **keywords)  # type: ignore[no-untyped-call]
        return factory(*args, **keywords) if before is None else before(factory, args, keywords)

    before = logging.set_tqdm_hook(hook)


def _lock_of(encoder: Any) -> threading.Lock:
    """Return the one lock of a model: tokenizers keep state while they read, and must not be shared."""
    with _guard:
        try:
            return _locks.setdefault(encoder, threading.Lock())
        except TypeError:  # an object that cannot be referenced weakly or hashed
            return _lock_of_others
