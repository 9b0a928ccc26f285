"""Settling: pack, arrange, write, count; where the text is too long, pack again into less room.

Parts are counted as the packer reaches them. The joined text can need more tokens than its parts, and which text it
is depends on what is kept, so it is the joined text that decides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from edgeorder.arranging import Arrangement, arrange
from edgeorder.budget import Budget
from edgeorder.call import Call
from edgeorder.chunk import Shortened
from edgeorder.errors import BudgetError
from edgeorder.packing import PATIENCE, Load, Packer, Scale
from edgeorder.ranking import indices_at
from edgeorder.rendering import repeated
from edgeorder.selecting import Cut
from edgeorder.shortening import Span

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


class Room(NamedTuple):
    """The room of a call with a budget: what fits into it is what its packer says.

    Args:
        packer: The overflow policy at work.
        window: Tokens that the text may need: the block, or the prompt around it.
        tokens: What the prompt leaves of them for the block.
        counter: What counts.
    """

    packer: Packer
    window: int
    tokens: int
    counter: "CheckedCounter"


def room_of(call: Call, ranks: Sequence[int]) -> Room | None:
    """Return the room for the ranks (0-based) that compete; None without a budget.

    Raises:
        BudgetError: If the reserve or the prompt leaves no room.
    """
    plan, budget = call.plan, call.plan.budget
    if budget is None:
        return None
    from edgeorder.tokens import checked_counter

    counter = checked_counter(call.view.counter if budget.counter is None else budget.counter)
    if not len(call.view) and plan.prompt is None:  # empty in is empty out, whatever the reserve leaves
        window = room = max(0, budget.left(counter))
    elif call.left is not None:  # a window that is full is a result: nothing fits
        window = room = max(0, min(budget.left(counter), call.left))
    else:
        window = room = budget.room(counter)
    around = "" if plan.prompt is None else plan.prompt.around("", call.query, ())
    if around:
        framing = counter(around)
        room -= framing
        if room < 1 and call.left is None:
            raise BudgetError(
                f"the prompt around the block needs {framing} tokens, and {window} are left of the budget of "
                f"{budget.tokens}: nothing remains for the chunks"
            )
    scale = Scale(call.view, call.ranking, plan.layout, counter, budget.tokens)
    return Room(budget.packer(scale, ranks), window, room, counter)


def settle(
    call: Call,
    ranks: Sequence[int],
    cuts: Sequence[Cut] = (),
    room: Room | None = None,
    scores: Sequence[float | None] = (),
    first: int = 1,
) -> Settled:
    """Return what becomes of the ranks that are left.

    Args:
        call: The call.
        ranks: Ranks (0-based) still in the running.
        cuts: What was left out before.
        room: Their room; None for as much as they need.
        scores: Of the texts that the room's packer wanted.
        first: The citation number of the passage at the head.

    Raises:
        BudgetError: With `overflow="error"`, if a chunk does not fit.
        CounterError: If a text cannot be counted.
    """
    if room is None:
        arrangement, echo = arrange(call, ranks, {}), call.plan.layout.echo
        indices = indices_at(call.ranking, arrangement.ranks)
        echoes = repeated(indices, indices_at(call.ranking, ranks[:echo])) if echo else ()
        return Settled(indices, arrangement, cuts, {}, {}, echoes, first, None)
    settled, load = _within(call, room, scores, first)
    kept, weights, ranking = frozenset(load.kept), room.packer.scale.weights, call.ranking
    out: list[Cut] = [
        (ranking[rank], rank + 1, "budget", weights.get(ranking[rank]), None) for rank in ranks if rank not in kept
    ]
    ended = None if load.walked >= len(ranks) else ranks[load.walked - 1] + 1
    weighed = settled.weighed._replace(ended=ended) if settled.weighed else None
    return settled._replace(cuts=sorted([*cuts, *out], key=itemgetter(1)), weighed=weighed)


def _within(call: Call, room: Room, scores: Sequence[float | None], first: int) -> tuple[Settled, Load]:
    """Return what is kept such that the joined text fits, and as much of it as there is room for."""
    packer, tokens, echo = room.packer, room.tokens, call.plan.layout.echo
    framing = room.window - room.tokens
    load = packer.pack(tokens, echo, scores)
    settled, used = _counted(call, room, load, first)
    while load.kept and used > room.window:
        if load.echoed:
            echo = len(load.echoed) - 1
        else:
            # In proportion: a counter whose joins cost much would otherwise take a count for each chunk that leaves.
            tokens = min(tokens - 1, tokens * room.tokens // (used - framing))
        load = packer.pack(tokens, echo, scores)
        settled, used = _counted(call, room, load, first)
    if not packer.fills:
        return settled, load
    failures = 0
    for rank in _dropped(packer, load):
        tokens = packer.scale.weights.get(call.ranking[rank], room.window + 1)
        if tokens + (packer.between if load.kept else 0) > room.window - used or failures == PATIENCE:
            continue
        # An echo that is not seen, as its chunk sits at that edge, keeps no room from others.
        echoed = load.echoed if settled.echoes else []
        more = load._replace(kept=sorted([*load.kept, rank]), echoed=echoed)
        trial, needed = _counted(call, room, more, first)
        if needed <= room.window:
            settled, load, used = trial, more, needed
        else:
            failures += 1
    return settled, load


def _dropped(packer: Packer, load: Load) -> list[int]:
    """Return the ranks that the walk saw and did not keep."""
    if len(load.kept) == load.walked:
        return []
    kept = frozenset(load.kept)
    return [rank for rank in packer.ranks[: load.walked] if rank not in kept]


def _counted(call: Call, room: Room, load: Load, first: int) -> tuple[Settled, int]:
    """Return what a load comes to, and the tokens of its text."""
    arrangement = arrange(call, load.kept, load.texts)
    indices = indices_at(call.ranking, arrangement.ranks)
    echoes = repeated(indices, indices_at(call.ranking, load.echoed)) if load.echoed else ()
    settled = Settled(indices, arrangement, (), load.texts, load.elisions, echoes, first, None, load.notes)
    text, prompt = block_text(call, settled), call.plan.prompt
    if prompt is not None:
        text = prompt.around(text, call.query, call.view.numbers(indices, first))
    used = room.counter(text) if text or load.kept else 0
    weighed = Weighed(used, room.window - used, room.tokens, room.counter, room.packer.scale.weights, None)
    return settled._replace(weighed=weighed), used


def split(call: Call, settled: Settled, max_tokens: int) -> list[tuple[Call, Settled]]:
    """Return the passes of a block, see `Placement.passes`.

    Raises:
        BudgetError: If a chunk does not fit a pass.
    """
    plan = call.plan
    budget = Budget(max_tokens) if plan.budget is None else replace(plan.budget, tokens=max_tokens)
    view = Shortened(call.view, settled.texts) if settled.texts else call.view
    own = call._replace(view=view, plan=plan._replace(budget=replace(budget, overflow="stop")))
    left = sorted(settled.arrangement.ranks)
    passes: list[tuple[Call, Settled]] = []
    first = settled.first
    while left:
        room = room_of(own, left)
        assert room is not None  # noqa: S101 - there is a budget
        one, _ = _within(own, room, (), first)
        if not one.indices:
            index = call.ranking[left[0]]
            raise BudgetError(
                f"the chunk at input index {index} (rank {left[0] + 1}) does not fit a pass of {max_tokens} tokens; "
                "raise max_tokens, or shorten chunks first with Budget(max_tokens, overflow='truncate')"
            )
        texts = {index: settled.texts[index] for index in one.indices if index in settled.texts}
        elisions = {index: settled.elisions[index] for index in texts}
        passes.append((call, one._replace(cuts=(), texts=texts, elisions=elisions)))
        first += len(one.indices)
        left = left[len(one.indices) :]
    return passes
