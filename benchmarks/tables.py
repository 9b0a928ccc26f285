"""Tables in Markdown."""

from collections.abc import Iterable


def table(title: str, heads: Iterable[object], rows: Iterable[Iterable[object]]) -> None:
    """Print a table in Markdown."""
    heads = list(heads)
    print(f"\n{title}\n")
    for row in (heads, ["---"] * len(heads), *rows):
        print("|", " | ".join(map(str, row)), "|", flush=True)
