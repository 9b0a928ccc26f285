"""Generated cases: records and keys that need no data, seeded."""

import random
from itertools import product
from math import ceil, isqrt

from edgeorder.probe.cases import Case, CaseChunk, check_chunks

_KINDS = (  # a record of a person and a year, and what is asked
    ("{} was born in {}.", "In which year was {} born?"),
    ("{} graduated in {}.", "In which year did {} graduate?"),
    ("{} got married in {}.", "In which year did {} get married?"),
    ("{} retired in {}.", "In which year did {} retire?"),
)
_YEARS = range(1900, 2000)
_MOST = 1_000_000  # passages of all cases together, which take about 300 MB
_FIRST_NAMES = (
    *("Ada", "Anton", "Bruno", "Clara", "Diego", "Edith", "Elsa", "Emil", "Felix", "Greta", "Hugo", "Ines", "Ivan"),
    *("Jonas", "Karl", "Lena", "Mara", "Milo", "Nadia", "Noor", "Oscar", "Pavel", "Priya", "Rosa", "Salma", "Thea"),
    *("Tomas", "Viktor", "Wanda", "Yusuf"),
)
_LAST_NAMES = (
    *("Almeida", "Bergman", "Brandt", "Castillo", "Costa", "Drummond", "Dube", "Eriksen", "Farouk", "Fischer"),
    *("Galloway", "Haddad", "Horvat", "Jensen", "Kaplan", "Larsen", "Lindqvist", "Marchetti", "Moreau", "Novak"),
    *("Nyberg", "Okafor", "Osei", "Petrov", "Quiroga", "Rossi", "Silva", "Tanaka", "Weiss"),
)


def facts(n: int, chunks: int = 20, seed: int = 0) -> list[Case]:
    """Return made cases: short records of one kind, one of which is asked for.

    The people of a case share their first and last names with each other, so that a reader who looks up half a name
    finds the wrong record; no two of them share both, nor a year.

    Args:
        n: Cases. The first are the same whatever `n` is.
        chunks: Records in a case, gold included.
        seed: Another seed gives other cases.

    Raises:
        ValueError: For fewer than 2 chunks, more than there are years, or more than a million in all.

    >>> case = facts(1)[0]
    >>> case.question, case.answers, case.gold.text
    ('In which year did Pavel Almeida get married?', ('1986',), 'Pavel Almeida got married in 1986.')
    """
    _check(n, chunks)
    if chunks > len(_YEARS):
        raise ValueError(f"chunks={chunks}: facts has {len(_YEARS)} years; use fewer chunks, or kv")
    cases = []
    for number in range(n):
        draw = random.Random(f"facts {seed} {number}")  # noqa: S311
        told, asked = draw.choice(_KINDS)
        last = isqrt(chunks)
        names = list(product(draw.sample(_FIRST_NAMES, ceil(chunks / last)), draw.sample(_LAST_NAMES, last)))
        people = [f"{one} {two}" for one, two in draw.sample(names, chunks)]
        years = draw.sample(_YEARS, chunks)
        gold, *distractors = (CaseChunk(told.format(who, year)) for who, year in zip(people, years, strict=True))
        question = asked.format(people[0])
        cases.append(Case(f"facts-{seed}-{number}", question, (str(years[0]),), gold, tuple(distractors)))
    return cases


def key_values(n: int, chunks: int = 20, seed: int = 0) -> list[Case]:
    """Return made cases: keys and values of eight hexadecimal digits, one of which is asked for.

    Args:
        n: Cases. The first are the same whatever `n` is.
        chunks: Pairs in a case, gold included.
        seed: Another seed gives other cases.

    Raises:
        ValueError: For fewer than 2 chunks, or more than a million in all.

    >>> key_values(1)[0].question
    'What is the value of the key e992cce7?'
    """
    _check(n, chunks)
    cases = []
    for number in range(n):
        draw = random.Random(f"kv {seed} {number}")  # noqa: S311
        words = [f"{value:08x}" for value in draw.sample(range(2**28, 2**32), 2 * chunks)]
        (key, value), *others = zip(words[::2], words[1::2], strict=True)
        gold, *distractors = (CaseChunk(f"The value of the key {k} is {v}.") for k, v in ((key, value), *others))
        question = f"What is the value of the key {key}?"
        cases.append(Case(f"kv-{seed}-{number}", question, (value,), gold, tuple(distractors)))
    return cases


def _check(n: int, chunks: int) -> None:
    """Raise ValueError for a block that is too short, or for more than the memory holds."""
    check_chunks(chunks)
    if n * chunks > _MOST:
        raise ValueError(f"{n} cases of {chunks} chunks are more than {_MOST:,} passages; make fewer")
