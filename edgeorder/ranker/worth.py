"""Whether a model is worth asking at all."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from edgeorder.near import repeated
from edgeorder.ranker.passages import as_passages


class Worth(NamedTuple):
    """Whether there is something to rank. True or false as a condition.

    Args:
        worth: Whether there is.
        reason: Why not; empty if there is.
    """

    worth: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.worth


def worth_ranking(passages: Sequence[Any]) -> Worth:
    """Say before a model is asked whether its answer could change anything.

    It cannot for fewer than two passages that differ by more than near-duplicates do.

    Args:
        passages: What `EvidenceRanker.rank` takes.

    >>> worth_ranking(["one passage"])
    Worth(worth=False, reason='one passage needs no ranking')
    """
    texts = [passage.text for passage in as_passages(passages)]
    if len(texts) < 2:
        return Worth(False, "one passage needs no ranking" if texts else "there are no passages")
    different = len({" ".join(text.split()) for text in texts})
    if different > 1:
        different = repeated(texts).count(None)
    return Worth(True) if different > 1 else Worth(False, f"the {len(texts)} passages say the same")
