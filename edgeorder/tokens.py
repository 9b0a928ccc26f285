"""Token counting: tiktoken by name, any callable, or a bound that needs no tokenizer.

Nothing here runs unless a budget is set. A counter that cannot be loaded is an error, never a reason to count
with another one.
"""

import importlib.util
import os
import re
import threading
from base64 import b64decode
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING

from edgeorder.checks import whole_number
from edgeorder.chunk import TokenCounter
from edgeorder.errors import CounterError
from edgeorder.guard import guarded, reason
from edgeorder.message_parts import IMAGE_TOKENS
from edgeorder.messages import MessageCounter

if TYPE_CHECKING:
    import tiktoken

DEFAULT_ENCODING = "o200k_base"
_WAYS_OUT = (
    "Pass a callable (a model's own tokenizer: lambda text: len(tokenizer.encode(text))), or approximate_counter(), "
    "which needs no tokenizer."
)
# tiktoken names a cached file after the SHA-1 of the address that it comes from.
_CACHED_AS = {
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
}
_SLICE = 20_000
_SURELY_SOME = 32  # characters, letters among them, that no tokenizer makes nothing of
_loading = threading.Lock()


@dataclass(frozen=True, slots=True)
class TiktokenCounter:
    """Counts with one tiktoken encoding, loaded at the first count. Special-token text counts as ordinary text."""

    name: str

    def __call__(self, text: str) -> int:
        encode = _encoding(self.name).encode
        try:
            return len(encode(text, disallowed_special=()))
        except ValueError:
            # tiktoken's regex gives up on runs of hundreds of thousands of blanks; it manages them in slices.
            slices = range(0, len(text), _SLICE)
            return sum(len(encode(text[start : start + _SLICE], disallowed_special=())) for start in slices)


@dataclass(frozen=True, slots=True)
class ApproximateCounter:
    """An upper bound on the tokens of any text, see `approximate_counter`."""

    name: str = "approximate"

    def __call__(self, text: str) -> int:
        n_bytes = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        # A run of n of these letters is at most (2n + 2) // 3 tokens, so at least (n - 1) // 3 fewer than its bytes.
        return n_bytes - sum((len(run) - 1) // 3 for run in _PAIRING_LETTERS.findall(text))


# Every pair of these letters is a token of cl100k_base and of o200k_base. Byte-pair encoding goes on merging while
# two neighbours form a token, so no two single letters of this set stay side by side.
_PAIRING_LETTERS = re.compile("[abcdefghilmnoprstuw]{4,}")


def tiktoken_counter(name: str = DEFAULT_ENCODING) -> TokenCounter:
    """Return a counter for a tiktoken encoding or an OpenAI model name.

    tiktoken is exact for OpenAI models only; for others pass the model's own tokenizer as a callable.

    Args:
        name: `"o200k_base"`, `"cl100k_base"`, ... or a model such as `"gpt-4o"` or `"openai/gpt-4o"`.

    Raises:
        CounterError: If no such encoding or model is known. (One that cannot be loaded raises at the first count.)
        TypeError: If the name is no text.
    """
    import tiktoken

    if not isinstance(name, str):
        raise TypeError(f"tiktoken_counter takes the name of an encoding or a model, not {name!r:.80}")
    if name in tiktoken.list_encoding_names():
        return TiktokenCounter(name)
    try:
        return TiktokenCounter(tiktoken.encoding_name_for_model(name.removeprefix("openai/")))
    except KeyError:
        known = ", ".join(tiktoken.list_encoding_names())
        raise CounterError(f"tiktoken knows no encoding or model {name!r}. Encodings: {known}. {_WAYS_OUT}") from None


def approximate_counter() -> TokenCounter:
    """Return a counter that needs no tokenizer and never counts too few tokens.

    A byte-level tokenizer makes at most one token of each UTF-8 byte, in every script. Long runs of common lowercase
    letters are counted closer, by a property of cl100k_base's and o200k_base's vocabulary. In English prose it comes
    to about three times the real count: the price of a bound.
    """
    return ApproximateCounter()


def message_counter(counter: TokenCounter | str | None = None, *, image_tokens: int = IMAGE_TOKENS) -> MessageCounter:
    """Return a counter of messages: what a chat model receives, as far as it can be known without its provider.

    A message counts 3 tokens for its framing, and the tokens of its role, name, texts, tool calls with their arguments
    and ids, tool results, and reasoning that is sent back. An image counts `image_tokens`, whatever its size. A block
    of an unknown kind (audio, files) counts its JSON, and a token for each byte of binary data; a note names it. Tool
    calls that a message holds twice, parsed and raw, count once. A list counts the sum of its messages.

    Args:
        counter: What counts texts: None for tiktoken's o200k_base, the name of an encoding or model, or a callable.
        image_tokens: What each image counts.

    Raises:
        TypeError, ValueError: For a number of tokens that is none, or a counter that counts nothing.
        CounterError: For a name that tiktoken does not know, or later, if a text cannot be counted.

    >>> count = message_counter(lambda text: len(text.split()))
    >>> count([{"role": "user", "content": "Which wells are dry?"}])
    8
    """
    return MessageCounter(checked_counter(counter), whole_number("image_tokens", image_tokens, least=0))


@dataclass(frozen=True, slots=True)
class CheckedCounter:
    """A counter that checks what it counts.

    Args:
        inner: What counts.
        name: The name under which it is recorded.
    """

    inner: TokenCounter
    name: str

    def __call__(self, text: str) -> int:
        try:
            tokens = guarded(self.inner, text)
        except CounterError:
            raise
        except Exception as error:
            raise CounterError(f"token counter {self.name} failed with {reason(error)}. {_WAYS_OUT}") from error
        if type(tokens) is int and tokens > 0:
            return tokens
        try:
            tokens = whole_number("tokens", tokens, least=0)
        except (TypeError, ValueError):
            raise CounterError(
                f"token counter {self.name} must return a number of tokens, not {tokens!r:.80}"
            ) from None
        # Under a counter without a vocabulary every budget would hold. A rough one may give 0 for a few characters.
        if tokens == 0 and len(text) >= _SURELY_SOME and any(map(str.isalnum, text)):
            raise CounterError(
                f"token counter {self.name} gave 0 tokens for a text of {len(text):,} characters: its tokenizer seems "
                "to have no vocabulary, as that which get_num_tokens of many LangChain models loads without network. "
                f"{_WAYS_OUT}"
            )
        return tokens


def checked_counter(counter: TokenCounter | MessageCounter | str | None) -> CheckedCounter:
    """Return a counter that checks what it counts.

    Raises:
        CounterError: At once for an unknown name; later, from the counter, when it fails or returns no count.
        TypeError: If it can neither be called nor is a name.
    """
    if counter is None or isinstance(counter, str):
        counter = tiktoken_counter(DEFAULT_ENCODING if counter is None else counter)
    if isinstance(counter, MessageCounter):
        counter = counter.counter
    if isinstance(counter, CheckedCounter):
        return counter
    if not callable(counter):
        raise TypeError(f"counter must be a name or a callable from text to tokens, not {counter!r:.80}")
    return CheckedCounter(counter, counter_name(counter))


def counter_name(counter: TokenCounter | str | None) -> str:
    """Return the name of a counter: its own `name`, or where it was defined."""
    if isinstance(counter, str):
        return counter
    name = getattr(counter, "name", None) or getattr(counter, "__qualname__", None)
    return str(name or (DEFAULT_ENCODING if counter is None else type(counter).__qualname__))


@lru_cache
def _encoding(name: str) -> "tiktoken.Encoding":
    import tiktoken

    with _loading:
        try:
            file = _shipped_with_llama_index(name)
            if file is not None and not {"TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"} & set(os.environ):
                return _from_file(name, file)
            return tiktoken.get_encoding(name)
        except Exception as error:
            cached = _CACHED_AS.get(name)
            raise CounterError(
                f"the tiktoken file of {name} could not be loaded ({type(error).__name__}: {error}). Put "
                f"{f'the file {cached}' if cached else 'its file'} into a folder and name the folder in "
                f"TIKTOKEN_CACHE_DIR. {_WAYS_OUT}"
            ) from error


def _shipped_with_llama_index(name: str) -> Path | None:
    """Return the file of that encoding that an installed llama-index-core ships; nothing of it is imported."""
    spec = importlib.util.find_spec("llama_index") and importlib.util.find_spec("llama_index.core")
    if spec is None or spec.origin is None or name not in _CACHED_AS:
        return None
    file = Path(spec.origin).parent / "_static" / "tiktoken_cache" / _CACHED_AS[name]
    return file if file.is_file() else None


def _from_file(name: str, file: Path) -> "tiktoken.Encoding":
    """Return an encoding whose vocabulary is read from a file. TIKTOKEN_CACHE_DIR would do, but is the process's."""
    import tiktoken
    from tiktoken.load import check_hash
    from tiktoken_ext import openai_public

    def read(_: str, expected_hash: str) -> dict[bytes, int]:
        data = file.read_bytes()
        if not check_hash(data, expected_hash):
            raise ValueError(f"{file} is damaged")
        return {b64decode(token): int(rank) for token, rank in map(bytes.split, data.splitlines())}

    # Pattern and special tokens are tiktoken's own; only where it reads the vocabulary is ours.
    make = openai_public.ENCODING_CONSTRUCTORS[name]
    settings = FunctionType(make.__code__, {**make.__globals__, "load_tiktoken_bpe": read})()
    return tiktoken.Encoding(**settings)
