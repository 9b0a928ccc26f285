"""Small models of transformers with random weights, and a tokenizer of bytes: they say nonsense, but quickly."""

from typing import Any

import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from transformers import Gemma3ForCausalLM, Gemma3TextConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

CHAT = "{% for message in messages %}<user>{{ message['content'] }}{% endfor %}<model>"
_SPECIALS = ("<bos>", "<eos>")
_SIZES: dict[str, Any] = {
    "vocab_size": 256 + len(_SPECIALS),
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 512,
    "initializer_range": 0.4,  # so that the prompt matters
    "bos_token_id": 256,
    "eos_token_id": 257,
    "pad_token_id": 257,
}


def tokenizer(chat_template: str | None = None) -> Any:
    """Return a tokenizer of a token a byte."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    own = Tokenizer(BPE({letter: number for number, letter in enumerate(letters)}, []))
    own.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    own.decoder = decoders.ByteLevel()
    own.add_special_tokens(list(_SPECIALS))
    names = dict(zip(("bos_token", "eos_token"), _SPECIALS, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=own, chat_template=chat_template, **names)


def llama(seed: int = 0, **more: Any) -> Any:
    """Return a model whose layers all see the whole prompt."""
    torch.manual_seed(seed)
    return LlamaForCausalLM(LlamaConfig(**{**_SIZES, **more})).eval()


def gemma(seed: int = 0) -> Any:
    """Return a model with two layers that see a window of 8 tokens, and one that sees the whole prompt."""
    torch.manual_seed(seed)
    kinds = ["sliding_attention", "sliding_attention", "full_attention"]
    return Gemma3ForCausalLM(Gemma3TextConfig(**_SIZES, sliding_window=8, layer_types=kinds)).eval()
