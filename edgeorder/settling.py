"""Settling: pack, arrange, write, count; where the text is too long, pack again into less room.

Parts are counted as the packer reaches them. The joined text can need more tokens than its parts, and which text it
is depends on what is kept, so it is the joined text that decides.
"""

from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from edgeorder.arranging import Arrangement, arrange
from edgeorder.budget import Budget
from edgeorder.call import Call
from edgeorder.errors import BudgetError
from edgeorder.packing import PATIENCE, Load, Packer, Scale
from edgeorder.ranking import indices_at
from edgeorder.rendering import repeated
from edgeorder.selecting import Cut
from edgeorder.settled import Settled, Weighed
from edgeorder.views import Shortened

if TYPE_CHECKING:
    from edgeorder.tokens import CheckedCounter


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
) -> Settled:
    """Return what becomes of the ranks that are left.

    Args:
        call: The call.
        ranks: Ranks (0-based) still in the running.
        cuts: What was left out before.
        room: Their room; None for as much as they need.
        scores: Of the texts that the room's packer wanted.

    Raises:
        BudgetError: With `overflow="error"`, if a chunk does not fit.
        CounterError: If a text cannot be counted.
    """
    if room is None:
        arrangement, echo = arrange(call, ranks, {}), call.plan.layout.echo
        indices = indices_at(call.ranking, arrangement.ranks)
        echoes = repeated(indices, indices_at(call.ranking, ranks[:echo])) if echo else ()
        return Settled(indices, arrangement, cuts, {}, {}, echoes, 1, None)
    trial = _within(call, room, scores, 1)
    out = [*cuts, *_over(room.packer, trial.load)]
    out.sort(key=itemgetter(1))
    return _settled(room, trial, out, 1)


class _Trial(NamedTuple):
    """A load, and what it comes to: `used` are the tokens of its text."""

    load: Load
    arrangement: Arrangement
    indices: Sequence[int]
    echoes: Sequence[int]
    used: int


def _settled(room: Room, trial: _Trial, cuts: Sequence[Cut], first: int) -> Settled:
    load, packer = trial.load, room.packer
    ended = None if load.walked >= len(packer.ranks) else packer.ranks[load.walked - 1] + 1
    left = room.window - trial.used
    weighed = Weighed(trial.used, left, room.tokens, room.counter, packer.scale.weights, ended)
    return Settled(
        trial.indices,
        trial.arrangement,
        cuts,
        load.texts,
        load.elisions,
        trial.echoes,
        first,
        weighed,
        load.notes,
    )


def _over(packer: Packer, load: Load) -> list[Cut]:
    """Return what the budget leaves out; what the walk did not reach was not weighed."""
    ranking, weights, kept = packer.scale.ranking, packer.scale.weights, frozenset(load.kept)
    seen, rest = packer.ranks[: load.walked], packer.ranks[load.walked :]
    cuts: list[Cut] = [
        (ranking[rank], rank + 1, "budget", weights.get(ranking[rank]), None) for rank in seen if rank not in kept
    ]
    cuts += [(ranking[rank], rank + 1, "budget", None, None) for rank in rest]
    return cuts


def _within(call: Call, room: Room, scores: Sequence[float | None], first: int) -> _Trial:
    """Return what is kept such that the joined text fits, and never less than a policy promises."""
    trial, packer = _fitting(call, room, scores, first), room.packer
    if packer.at_least is None or len(trial.load.kept) == len(packer.ranks):
        return trial
    least = _fitting(call, room._replace(packer=packer.at_least(packer.scale, packer.ranks)), (), first)
    if not set(least.load.kept) <= set(trial.load.kept):
        # Joined, more fitted than by the sum of its parts: the policy may still keep all of it in its own way.
        packer.promise(least.load.kept)
        trial = _fitting(call, room, scores, first)
    return trial if set(least.load.kept) <= set(trial.load.kept) else least


def _fitting(call: Call, room: Room, scores: Sequence[float | None], first: int) -> _Trial:
    """Return what is kept such that the joined text fits, and as much of it as there is room for."""
    packer, tokens, echo = room.packer, room.tokens, call.plan.layout.echo
    framing = room.window - room.tokens
    trial = _tried(call, room, packer.pack(tokens, echo, scores), first)
    while trial.load.kept and trial.used > room.window:
        if trial.load.echoed:
            echo = len(trial.load.echoed) - 1
        else:
            # In proportion: a counter whose joins cost much would otherwise take a count for each chunk that leaves.
            tokens = min(tokens - 1, tokens * room.tokens // (trial.used - framing))
        trial = _tried(call, room, packer.pack(tokens, echo, scores), first)
    failures = 0
    for rank in _passed_over(packer, trial.load, room.window - trial.used):
        load, left = trial.load, room.window - trial.used
        if packer.scale.weights[call.ranking[rank]] + (packer.between if load.kept else 0) > left:
            continue
        # An echo that is not seen, as its chunk sits at that edge, keeps no room from others.
        more = load._replace(kept=sorted([*load.kept, rank]), echoed=load.echoed if trial.echoes else [])
        filled = _tried(call, room, more, first)
        if filled.used <= room.window:
            trial = filled
        elif (failures := failures + 1) == PATIENCE:
            break
    return trial


def _passed_over(packer: Packer, load: Load, left: int) -> Sequence[int]:
    """Return the ranks that the walk weighed and did not keep, where they may take the tokens left."""
    if not packer.fills or left < 1 or len(load.kept) == load.walked:
        return ()
    weights, ranking, kept = packer.scale.weights, packer.scale.ranking, frozenset(load.kept)
    return [r for r in packer.ranks[: load.walked] if weights.get(ranking[r], left + 1) <= left and r not in kept]


def _tried(call: Call, room: Room, load: Load, first: int) -> _Trial:
    """Return what a load comes to."""
    arrangement = arrange(call, load.kept, load.texts)
    indices = indices_at(call.ranking, arrangement.ranks)
    echoes = repeated(indices, indices_at(call.ranking, load.echoed)) if load.echoed else ()
    text, prompt = call.plan.layout.write(call.view, indices, load.texts, echoes, first), call.plan.prompt
    if prompt is not None:
        text = prompt.around(text, call.query, call.view.numbers(indices, first))
    return _Trial(load, arrangement, indices, echoes, room.counter(text) if text or load.kept else 0)


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
        one = _settled(room, _within(own, room, (), first), (), first)
        if not one.indices:
            index = call.ranking[left[0]]
            raise BudgetError(
                f"the chunk at input index {index} (rank {left[0] + 1}) does not fit a pass of {max_tokens} tokens; "
                "raise max_tokens, or shorten chunks first with Budget(max_tokens, overflow='truncate')"
            )
        texts = {index: settled.texts[index] for index in one.indices if index in settled.texts}
        elisions = {index: settled.elisions[index] for index in texts}
        passes.append((call, one._replace(texts=texts, elisions=elisions)))
        first += len(one.indices)
        left = left[len(one.indices) :]
    return passes
