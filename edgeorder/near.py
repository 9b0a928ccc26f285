"""Near-duplicates: texts that say nothing which an earlier one does not say in the same words."""

from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from edgeorder.text.words import compared

_Run: TypeAlias = tuple[int, ...]
_BEGINNING = 5  # words by which a text is looked for in others before it is taken apart


def repeated(texts: Sequence[str]) -> list[int | None]:
    """Find the texts that an earlier one holds whole.

    A text is repeated if all its words stand in the earlier one, in the same order and with nothing between them. Case,
    form (NFKC), punctuation and mark-up do not count; numbers with their sign, and signs such as `<` and `€`, do.
    Nothing is lost with a text that is dropped: "may" and "may not" are two texts, 150 and 190 as well. A text that
    holds an earlier one repeats nothing, and neither does one without words.

    It takes time in proportion to the length of the texts.

    Args:
        texts: The texts, the better one first.

    Returns:
        For each text the position (0-based) of the first text that holds it; None if it is not repeated.

    >>> repeated(["The limit is 150 a night.", "the limit is *150*", "The limit is not 150."])
    [None, 0, None]
    """
    number_of: dict[str, int] = {}
    runs = [tuple([number_of.setdefault(word, len(number_of)) for word in compared(text)]) for text in texts]
    beginnings = Counter(run[:_BEGINNING] for run in runs)
    sizes = {len(beginning) for beginning in beginnings} - {0}
    found: list[int | None] = []
    kept = _Kept()
    for position, run in enumerate(runs):
        found.append(kept.first_with(run) if run else None)
        # Only a text in which another one begins can hold it; most hold none, and need not be taken apart.
        if found[-1] is None and any(_holds_beginning(run, size, beginnings) for size in sizes):
            kept.add(run, position)
    return found


def _holds_beginning(run: _Run, size: int, beginnings: Counter[_Run]) -> bool:
    if beginnings[run[:size]] > (len(run[:_BEGINNING]) == size):
        return True
    return any(run[at : at + size] in beginnings for at in range(1, len(run) - size + 1))


class _Kept:
    """A suffix automaton (Blumer et al., 1985) of the texts that stay: it knows every run of words in them.

    A state stands for the runs that end at the same places. Time and memory grow with the number of words.
    """

    def __init__(self) -> None:
        self.following: list[dict[int, int]] = [{}]  # the state behind each next word
        self.suffix: list[int] = [-1]  # the state of the longest run of the same end that ends at more places
        self.length: list[int] = [0]  # of the longest run
        self.first: list[int] = [-1]  # the first text that holds it

    def first_with(self, run: _Run) -> int | None:
        """Return the position of the first text that holds a run of words."""
        state, following = 0, self.following
        for word in run:
            if word not in following[state]:
                return None
            state = following[state][word]
        return self.first[state]

    def add(self, run: _Run, position: int) -> None:
        """Add a text."""
        last = 0
        for word in run:
            last = self._state_behind(last, word, position)

    def _state_behind(self, last: int, word: int, position: int) -> int:
        """Return the state of a text's beginning that is one word longer than that of the state `last`."""
        following, suffix, length = self.following, self.suffix, self.length
        known = following[last].get(word)
        if known is not None:
            return known if length[known] == length[last] + 1 else self._split(last, word, known)
        state = self._state({}, 0, length[last] + 1, position)
        while last >= 0 and word not in following[last]:
            following[last][word] = state
            last = suffix[last]
        if last >= 0:
            known = following[last][word]
            suffix[state] = known if length[known] == length[last] + 1 else self._split(last, word, known)
        return state

    def _split(self, last: int, word: int, known: int) -> int:
        """Part the short runs of a state, which end at a new place, from its long ones; return their state."""
        state = self._state(dict(self.following[known]), self.suffix[known], self.length[last] + 1, self.first[known])
        self.suffix[known] = state
        while last >= 0 and self.following[last].get(word) == known:
            self.following[last][word] = state
            last = self.suffix[last]
        return state

    def _state(self, following: dict[int, int], suffix: int, length: int, first: int) -> int:
        self.following.append(following)
        self.suffix.append(suffix)
        self.length.append(length)
        self.first.append(first)
        return len(self.length) - 1
