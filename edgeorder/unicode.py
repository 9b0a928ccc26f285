"""Text that compiled libraries take."""


def clean(text: str) -> str:
    """Return a text that every tokenizer takes: lone surrogates become question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
