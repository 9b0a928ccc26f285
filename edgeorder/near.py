"""Near-duplicates: texts that repeat an earlier one but for a little, or are contained in one another."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from edgeorder.errors import missing_extra

SIMILAR = 90  # percent, of the better of two alignments: whole with whole, or the shorter inside the longer
_SHINGLE = 3  # words
_COMMON = 64  # a run of words that this many texts share is boilerplate, and tells nothing
_WORDS = re.compile(r"\w+")
_NUMBERS = re.compile(r"\d+")


def repeated(texts: Sequence[str]) -> list[int | None]:
    """Find the texts that repeat an earlier one.

    Two texts repeat each other if they align to 90 percent, or if the shorter one stands in the longer one to 90
    percent. Texts whose numbers differ never do: a limit of 150 and a limit of 190 are two rules.

    Args:
        texts: The texts, the better one first.

    Returns:
        For each text the position (0-based) of the first text that it repeats; None if it repeats none.

    Raises:
        ImportError: If rapidfuzz is not installed.

    >>> repeated(["The hotel limit is 150 a night.", "A limit is 190.", "the hotel limit is 150 a night"])
    [None, None, 0]
    """
    try:
        from rapidfuzz import fuzz
    except ImportError as error:
        raise missing_extra("rapidfuzz", "text") from error
    found: list[int | None] = []
    kept: dict[int, tuple[str, Counter[str]]] = {}
    holders: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    sizes: dict[int, int] = {}
    for position, text in enumerate(texts):
        words = _WORDS.findall(text.casefold())
        plain, numbers = " ".join(words), Counter(_NUMBERS.findall(text))
        shingles = {tuple(words[start : start + _SHINGLE]) for start in range(max(1, len(words) - _SHINGLE + 1))}
        shared = Counter(
            holder for shingle in shingles if len(holders[shingle]) <= _COMMON for holder in holders[shingle]
        )
        original = None
        for holder, count in sorted(shared.items()):
            # Alignment to 90 percent leaves about two thirds of the shingles; only such pairs are worth aligning.
            if count * 2 < min(len(shingles), sizes[holder]):
                continue
            earlier, earlier_numbers = kept[holder]
            shorter, longer = sorted(((plain, numbers), (earlier, earlier_numbers)), key=lambda item: len(item[0]))
            if shorter[1] - longer[1]:
                continue
            same_length = len(longer[0]) * SIMILAR <= len(shorter[0]) * 100
            if same_length and numbers != earlier_numbers:
                continue
            alignment = fuzz.ratio if same_length else fuzz.partial_ratio
            if alignment(shorter[0], longer[0], score_cutoff=SIMILAR):
                original = holder
                break
        found.append(original)
        if original is None:
            kept[position], sizes[position] = (plain, numbers), len(shingles)
            for shingle in shingles:
                holders[shingle].append(position)
    return found
