"""The corpus of the examples: the travel policy of an invented company, and a BM25 search over its sections.

The other examples import it; run alone, it lists what the search finds: `python examples/handbook.py`.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import bm25s
import Stemmer

FOLDER = Path(__file__).parent / "handbook"


@dataclass(frozen=True)
class Section:
    """One numbered section of the handbook.

    Args:
        document: The name of its document, such as "hotels".
        number: Its number in the document, from 1.
        title: Its heading, without the number.
        text: What is shown to a model: the heading and the prose.
    """

    document: str
    number: int
    title: str
    text: str

    def __str__(self) -> str:
        return f"{self.document} §{self.number}"


@cache
def load_sections() -> list[Section]:
    """Return all sections in document order."""
    sections = []
    for path in sorted(FOLDER.glob("*.md")):
        for part in re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            heading, prose = part.split("\n", 1)
            number, title = heading.split(". ", 1)
            sections.append(Section(path.stem, int(number), title, f"{title}\n{' '.join(prose.split())}"))
    return sections


def search(question: str, k: int = 10) -> list[tuple[Section, float]]:
    """Return the k sections that BM25 finds best for a question, best first, each with its score."""
    places, scores = _index().retrieve(_tokens([question]), k=k, show_progress=False)
    sections = load_sections()
    return [(sections[place], float(score)) for place, score in zip(places[0], scores[0], strict=True)]


@cache
def _index() -> bm25s.BM25:
    index = bm25s.BM25()
    index.index(_tokens([section.text for section in load_sections()]), show_progress=False)
    return index


def _tokens(texts: list[str]) -> bm25s.tokenization.Tokenized:
    return bm25s.tokenize(texts, stopwords="en", stemmer=Stemmer.Stemmer("english"), show_progress=False)


if __name__ == "__main__":
    for found, score in search("What is the hotel limit in Geneva for a stay of three weeks?"):
        print(f"{score:5.2f}  {found}  {found.title}")
