"""The tokenizer of a GGUF file, built from the scores in it.

Such a file lists its tokens with a score each, and no merges. Of all neighbours that make a token together, the pair
whose token has the highest score is joined first, the leftmost of equals: so each way to split a token in two is a
merge, and the scores rank them.
"""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any

from edgeorder.probe.replies import ModelError

_SPACE = "▁"  # how tokens write a space


class _Kind(IntEnum):
    """Kinds of tokens, by GGUF's numbers."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


def gguf_tokenizer(file: Path) -> Any:
    """Return the tokenizer of a GGUF file for transformers, a `PreTrainedTokenizerFast`.

    Args:
        file: The file.

    Raises:
        ModelError: If its tokens have no scores: it is of another kind of tokenizer.
    """
    from gguf import GGUFReader
    from tokenizers import AddedToken, Tokenizer, decoders, normalizers, processors
    from tokenizers.models import BPE
    from transformers import PreTrainedTokenizerFast

    fields = GGUFReader(str(file)).fields

    def read(name: str, otherwise: Any = None) -> Any:
        field = fields.get(f"tokenizer.ggml.{name}")
        return otherwise if field is None else field.contents()

    if read("model") != "llama" or read("scores") is None:
        raise ModelError(
            f"{file.name} has a tokenizer of the kind {read('model')!r}; only one with scores can be built; download "
            "the model as a folder of transformers instead"
        )
    tokens, scores = read("tokens"), read("scores")
    kinds = read("token_type", [_Kind.NORMAL] * len(tokens))
    mergeable = [kind in (_Kind.NORMAL, _Kind.UNUSED) for kind in kinds]
    tokenizer = Tokenizer(
        BPE(
            {token: number for number, token in enumerate(tokens)},
            list(_merges(tokens, scores, mergeable)),
            unk_token=tokens[read("unknown_token_id", 0)],
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    first = [normalizers.Prepend(_SPACE)] if read("add_space_prefix", True) else []
    tokenizer.normalizer = normalizers.Sequence([*first, normalizers.Replace(" ", _SPACE)])
    tokenizer.decoder = decoders.Sequence([decoders.Replace(_SPACE, " "), decoders.ByteFallback(), decoders.Fuse()])
    for special, kind in ((True, _Kind.CONTROL), (False, _Kind.USER_DEFINED)):
        own = [token for token, its in zip(tokens, kinds, strict=True) if its == kind]
        tokenizer.add_tokens([AddedToken(token, special=special, normalized=False) for token in own])
    begin = read("bos_token_id")
    if begin is not None and read("add_bos_token", True):
        tokenizer.post_processor = processors.TemplateProcessing(f"{tokens[begin]} $A", None, [(tokens[begin], begin)])
    names = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}
    known = {f"{name}_token": read(f"{own}_token_id") for name, own in names.items()}
    named = {name: tokens[number] for name, number in known.items() if number is not None}
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, chat_template=read("chat_template"), clean_up_tokenization_spaces=False, **named
    )


def _merges(tokens: Sequence[str], scores: Sequence[float], mergeable: Sequence[bool]) -> Iterator[tuple[str, str]]:
    """Yield each pair of tokens that makes a token, the highest score first."""
    known = {token for token, its in zip(tokens, mergeable, strict=True) if its}
    for number in sorted(range(len(tokens)), key=lambda number: -scores[number]):
        token = tokens[number]
        if mergeable[number]:
            for cut in range(1, len(token)):
                if token[:cut] in known and token[cut:] in known:
                    yield token[:cut], token[cut:]
