"""A Hugging Face model (extra `hf`): asked in this process, greedily, one prompt at a time.

What is inside the model can be changed between two runs of the probe: its attention, its weights, its positions. A
model with a chat template is asked as its chat is; any other continues the prompt, as the local model does, and its
answer is the rest of the line.
"""

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from math import inf, isfinite
from typing import Any

from edgeorder.checks import whole_number
from edgeorder.extras import require
from edgeorder.probe.called import Gate, answered, in_own_thread, told
from edgeorder.probe.kv_prefix import KeptPrefix, attention_of
from edgeorder.probe.replies import ModelError, Reply

_SAMPLES = 64  # numbers of each weight by which two models are told apart


class HFModel:
    """A model of transformers and its tokenizer, both the caller's.

    Consecutive prompts share what their beginnings have in common: it is read once, and its keys and values are kept.
    Threads that ask at the same time wait for each other. With weights in float32 an answer is the same whatever was
    asked before; in half precision, two tokens that are nearly as likely may change places.

    Args:
        model: A causal language model with attention in all of its layers, in evaluation mode.
        tokenizer: Its tokenizer.
        name: Under which its answers are reported and kept; None for the path that it was loaded from.
        max_tokens: The most tokens of an answer.

    Raises:
        ImportError: If a package of the extra is not installed.
        TypeError: If there is no tokenizer, or the model is of a kind that cannot be asked.
        ValueError: For a model in training mode, or a number that cannot be.
    """

    concurrency = 1  # one prefix cache; side by side, two questions would push each other out of it

    def __init__(self, model: Any, tokenizer: Any, name: str | None = None, max_tokens: int = 100) -> None:
        require("hf", "transformers", "torch")
        self._max_tokens = whole_number("max_tokens", max_tokens, least=1)
        _check(model, tokenizer)
        self._model, self._tokenizer = model, tokenizer
        self.name = name or getattr(model, "name_or_path", "") or f"<{type(model).__qualname__}>"
        self._chat = bool(getattr(tokenizer, "chat_template", None))
        self._weights = _fingerprint(model)
        own = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
        ends = {tokenizer.eos_token_id, *(own if isinstance(own, list | tuple) else [own])}
        self._ends = ends - {None}
        self._specials = self._ends | set(tokenizer.all_special_ids)
        self._gate = Gate(1)  # in the order of asking, so that neighbours share their prefix
        self._lock = threading.Lock()  # other loops and threads, and calls of tasks that were cancelled
        self._prefix = KeptPrefix(model)

    @property
    def settings(self) -> Mapping[str, Any]:
        """What its answers depend on, beside its name: its attention may be another one by now."""
        return {
            "max_tokens": self._max_tokens,
            "temperature": 0,
            "chat": self._chat,
            "type": type(self._model).__qualname__,
            "attention": attention_of(self._model),
            "dtype": str(getattr(self._model, "dtype", "")),
            "weights": self._weights,
        }

    async def ask(self, prompt: str) -> Reply:
        """Let the model answer, the likeliest token at a time."""
        return await self._reply(self._continue, prompt)

    async def force(self, prompt: str, answer: str) -> Reply:
        """Return, as the text of a reply, the log-probability that an answer follows the prompt."""
        return await self._reply(self._likelihood, prompt, answer)

    async def aclose(self) -> None:
        """Free the prefix; the model stays with whoever made it."""
        with self._lock:
            self._prefix.forget()

    async def _reply(self, call: Callable[..., Reply], *texts: str) -> Reply:
        async with self._gate.here():
            return answered(await in_own_thread(self._alone, call, *texts))

    def _alone(self, call: Callable[..., Reply], *texts: str) -> Reply | ModelError:
        import torch

        with self._lock, torch.inference_mode():
            started = time.monotonic()
            try:
                reply = call(*(text.encode("utf-8", "replace").decode() for text in texts))
            except Exception as error:  # noqa: BLE001 - whatever a model raises, the run goes on
                self._prefix.forget()  # what it has read until then is not known
                return told(self.name, error)
            return replace(reply, seconds=time.monotonic() - started)

    def _continue(self, prompt: str) -> Reply:
        tokens = self._tokens(prompt)
        self._check_room(len(tokens), self._max_tokens)
        logits, computed = self._prefix.read(tokens, 1)
        said: list[int] = []
        while len(said) < self._max_tokens:
            token = self._next(said, logits[-1])
            if token in self._ends:
                return self._said(said, "stop", len(tokens), computed)
            said.append(token)
            if not self._chat and "\n" in self._text(said):
                return self._said(said, "stop", len(tokens), computed)
            if len(said) < self._max_tokens:
                logits, _ = self._prefix.read([*tokens, *said], 1)
        return self._said(said, "length", len(tokens), computed)

    def _said(self, said: Sequence[int], finish: Any, prompt: int, computed: int) -> Reply:
        text = self._text(said)
        return Reply(text if self._chat else text.partition("\n")[0], finish, prompt, computed, len(said))

    def _next(self, said: Sequence[int], logits: Any) -> int:
        """Return the likeliest token of those that may come next."""
        while isfinite(logits.max()):
            token = int(logits.argmax())
            if self._may_say(said, token):
                return token
            logits[token] = -inf
        raise ValueError("it finds no token likely: its logits are no numbers, or every token would end the line")

    def _may_say(self, said: Sequence[int], token: int) -> bool:
        """Return whether a token may come next: as with the local model, a line with something in it, and its end."""
        if self._chat:
            return True
        if token in self._specials:
            return token in self._ends and bool(self._text(said).strip())
        return re.fullmatch(r"([^\n]+\n?)?", self._text([*said, token])) is not None

    def _likelihood(self, prompt: str, answer: str) -> Reply:
        import torch

        tokens, forced = self._tokens(prompt), self._answer_tokens(prompt, answer)
        self._check_room(len(tokens), len(forced))
        # The last token of the answer is asked for and not read.
        logits, computed = self._prefix.read([*tokens, *forced[:-1]], len(forced))
        likely = torch.log_softmax(logits.float(), -1).gather(-1, torch.tensor([forced], device=logits.device).T)
        read = max(computed - len(forced) + 1, 0)
        return Reply(repr(float(likely.double().sum())), "stop", len(tokens), read, len(forced))

    def _tokens(self, prompt: str) -> list[int]:
        if self._chat:
            message = [{"role": "user", "content": prompt}]
            prompt = self._tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
        found: list[int] = self._tokenizer.encode(prompt, add_special_tokens=not self._chat)
        while len(found) > 1 and found[-1] == self._tokenizer.eos_token_id and not self._chat:
            found.pop()  # some tokenizers end every text
        if not found:
            raise ValueError("the prompt is empty")
        return found

    def _answer_tokens(self, prompt: str, answer: str) -> list[int]:
        """Return the tokens of an answer: after a space, and after what stands before it; in a chat, alone."""
        before = "" if self._chat else prompt[-1:]

        def encoded(text: str) -> list[int]:
            found: list[int] = self._tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
            return found

        head, whole = encoded(before), encoded(answer if self._chat else f"{before} {answer}")
        return whole[len(head) :] if whole[: len(head)] == head else encoded(f" {answer}")

    def _text(self, tokens: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(tokens, skip_special_tokens=True)
        return text

    def _check_room(self, prompt: int, answer: int) -> None:
        """Raise ValueError for what is longer than the model reads."""
        room = getattr(self._model.config.get_text_config(), "max_position_embeddings", None)
        if room and prompt + answer > room:
            raise ValueError(f"{prompt} tokens of prompt and {answer} of answer exceed its context of {room} tokens")


def is_hf(model: Any) -> bool:
    """Return whether something is a generating model of transformers, by what it has."""
    return all(hasattr(model, part) for part in ("config", "forward", "generate", "parameters"))


def _check(model: Any, tokenizer: Any) -> None:
    """Raise TypeError or ValueError for what cannot be asked."""
    from transformers import DynamicCache
    from transformers.cache_utils import DynamicLayer, LinearAttentionCacheLayerMixin

    name = type(model).__name__
    if not is_hf(model):
        raise TypeError(f"a tokenizer is for a model of transformers, not for {name}; leave it out")
    if not all(hasattr(tokenizer, part) for part in ("encode", "decode", "all_special_ids")):
        raise TypeError(
            f"{name} needs its tokenizer, not {tokenizer!r:.60}: as_model(model, AutoTokenizer.from_pretrained(...))"
        )
    if model.training:
        raise ValueError(f"{name} is in training mode, where it drops out at random; call its eval() first")
    layers = [] if model.config.is_encoder_decoder else DynamicCache(config=model.config).layers
    if not all(
        isinstance(layer, DynamicLayer) and not isinstance(layer, LinearAttentionCacheLayerMixin) for layer in layers
    ):
        layers = []
    if not layers:
        raise TypeError(
            f"{name} is no decoder with attention in all layers, whose prefix can be kept; serve it (vLLM, for "
            "example) and give its endpoint as base_url"
        )


def _fingerprint(model: Any) -> str:
    """Return what tells the weights from others of the same name: a hash of some numbers of each."""
    import torch

    found = sha256()
    for name, weight in model.named_parameters():
        found.update(f"{name} {tuple(weight.shape)} {weight.dtype}".encode())
        if weight.device.type != "meta":
            flat = weight.detach().flatten()
            some = flat[:: max(flat.numel() // _SAMPLES, 1)][:_SAMPLES].contiguous()
            found.update(some.view(torch.uint8).cpu().numpy().tobytes())
    return found.hexdigest()[:16]
