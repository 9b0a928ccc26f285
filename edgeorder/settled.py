"""What became of a call, as it stays: which chunks sit where, what was cut, and what was counted."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from edgeorder.arranging import Arrangement
from edgeorder.call import Call
from edgeorder.selecting import Cut
from edgeorder.text.units import Span

if TYPE_CHECKING:
    from edgeorder.tokens import CheckedCounter


class Weighed(NamedTuple):
    """What was counted.

    Args:
        tokens: Of the text that the budget holds on: the prompt if there is one, else the block.
        left: Tokens that the budget still has.
        room: Tokens that the budget had for the block.
        counter: What counted.
        weights: Tokens of the chunks that were weighed, by input index.
        ended: Rank (1 = best) at which the walk down the ranks ended; None if it saw all.
    """

    tokens: int
    left: int
    room: int
    counter: "CheckedCounter"
    weights: Mapping[int, int]
    ended: int | None


class Settled(NamedTuple):
    """What became of a call; it never changes.

    Args:
        indices: Input index at each position, head first.
        arrangement: The ranks behind them, and why they sit there.
        cuts: What was left out, by rank.
        texts: Shortened bodies by input index.
        elisions: What was cut out of them.
        echoes: Input indices that are repeated at the far end of the block, best first.
        first: The citation number of the passage at the head.
        weighed: What was counted; None without a budget.
        notes: What the record should say.
    """

    indices: Sequence[int]
    arrangement: Arrangement
    cuts: Sequence[Cut]
    texts: Mapping[int, str]
    elisions: Mapping[int, Sequence[Span]]
    echoes: Sequence[int]
    first: int
    weighed: Weighed | None
    notes: tuple[str, ...] = ()

    def emptied(self) -> str | None:
        """Return in words why nothing was kept, if something came in."""
        if self.indices or not self.cuts:
            return None
        reasons = ", ".join(sorted({reason for _, _, reason, *_ in self.cuts}))
        message = f"all {len(self.cuts)} chunks were dropped ({reasons})"
        if self.weighed is not None and self.weighed.weights:
            smallest = min(self.weighed.weights.values())
            message += (
                f"; the block has room for {self.weighed.room} tokens, the smallest chunk counted needs {smallest}"
            )
        return message


def block_tokens(call: Call, settled: Settled) -> int | None:
    """Return the tokens of the rendered block; None without a budget."""
    weighed = settled.weighed
    if weighed is None or call.plan.prompt is None:
        return None if weighed is None else weighed.tokens
    return weighed.counter(block_text(call, settled)) if settled.indices else 0


def block_text(call: Call, settled: Settled) -> str:
    """Return the rendered block."""
    return call.plan.layout.write(call.view, settled.indices, settled.texts, settled.echoes, settled.first)
