"""Tables to place, and scorers that a worker can load by name."""

import os
import random
from pathlib import Path
from typing import Any

import pyarrow as pa

WORDS = """
the a of to and in for hotel night limit city policy travel refund manager approves expense report airline ticket
""".split()  # noqa: SIM905 - a page of quotes reads worse

TYPES = pa.schema(
    [
        ("id", pa.int64()),
        ("query", pa.string()),
        (
            "chunks",
            pa.list_(
                pa.struct(
                    [
                        ("text", pa.string()),
                        ("score", pa.float64()),
                        ("source", pa.string()),
                        ("offset", pa.int64()),
                        ("id", pa.string()),
                    ]
                )
            ),
        ),
    ]
)
"""The types of the columns."""


def text(words: int, seed: object) -> str:
    """Return a text of that many words."""
    chosen = random.Random(str(seed))
    return " ".join(chosen.choice(WORDS) for _ in range(words)) + "."


def row(at: int, chunks: int = 6) -> dict[str, Any]:
    """Return a row: an id, a question, and chunks of several sources, neighbours among them; every ninth is bad."""
    drawn = random.Random(at)
    if at % 9 == 8:
        return {"id": at, "query": f"question {at}", "chunks": None}
    return {
        "id": at,
        "query": f"question {at}: {text(5, at)}",
        "chunks": [
            {
                "text": text(drawn.randint(3, 40), (at, chunk)),
                "score": round(drawn.random(), 3) if chunk % 5 else None,
                "source": f"doc{drawn.randint(0, 2)}",
                "offset": drawn.randint(0, 4),
                "id": f"{at}-{chunk}",
            }
            for chunk in range(chunks)
        ],
    }


def columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return rows as columns."""
    return {name: [row[name] for row in rows] for name in rows[0]}


def length_scorer(query: str, texts: list[str]) -> list[float]:
    """Prefer texts of about forty characters; a question about 5 makes it fail."""
    if "question 5:" in query:
        raise OSError("no way to the server, key sk-1234567890")
    return [-abs(len(text) - 40 - len(query) % 7) for text in texts]


class KilledOnce:
    """Ends the process that calls it, the first time; then it is `PlaceBatch`."""

    def __init__(self, mark: str, **settings: Any) -> None:
        from edgeorder.batch import PlaceBatch

        self._mark = Path(mark)
        self._place = PlaceBatch(**settings)

    def __call__(self, batch: Any) -> Any:
        if self._mark.exists() and batch.column("id")[0].as_py() >= 20:
            self._mark.unlink()
            os._exit(1)
        return self._place(batch)
