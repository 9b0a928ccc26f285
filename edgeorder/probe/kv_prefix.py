"""The prefix that a model of transformers keeps between prompts: what it has read it need not read again."""

from collections.abc import Sequence
from itertools import takewhile
from typing import Any


class KeptPrefix:
    """The tokens that a model read last, with their keys and values.

    Args:
        model: The model.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._cache: Any = None
        self._tokens: list[int] = []
        self._attention = ""

    def read(self, tokens: Sequence[int], last: int) -> tuple[Any, int]:
        """Return the logits of the last tokens, shape (last, vocabulary), and how many tokens were read for them."""
        import torch
        from transformers import DynamicCache

        attention = attention_of(self._model)
        if self._cache is None or attention != self._attention:
            self.forget()
            # It keeps all of every layer: a sliding window that forgot the rest could not take up a prefix again.
            self._cache, self._attention = DynamicCache(), attention
        pairs = zip(tokens, self._tokens, strict=False)
        shared = min(len(list(takewhile(lambda pair: pair[0] == pair[1], pairs))), len(tokens) - last)
        self._cache.crop(shared - len(self._tokens))
        new = torch.tensor([tokens[shared:]], device=self._model.device)
        logits = self._model(new, cache=self._cache, use_cache=True, logits_to_keep=last).logits[0, -last:]
        self._tokens = list(tokens)
        return logits, len(tokens) - shared

    def forget(self) -> None:
        """Begin anew: after a failure nobody knows what was read."""
        self._cache, self._tokens = None, []


def attention_of(model: Any) -> str:
    """Return the name of the attention that a model has at the moment."""
    return str(getattr(model.config, "_attn_implementation", ""))
