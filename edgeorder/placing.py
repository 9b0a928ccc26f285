"""Placing: the one path from chunks to a placement.

    chunks -> rank -> rerank -> dedupe -> min_score, top_n -> budget -> block units -> order -> flatten -> Placement

Every face of every adapter comes through here. A stage that was not asked for costs one comparison.
"""

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from operator import itemgetter

from edgeorder.auto import Auto
from edgeorder.chunk import Chunk, ChunkList, ChunkView, Shortened
from edgeorder.errors import BudgetError, EdgeOrderWarning
from edgeorder.listening import Recorder, check_recorders, deliver
from edgeorder.nearhead import near_head
from edgeorder.orders import ORDERS, Order, checked_permutation, order_name
from edgeorder.packing import Budget, Judge, Packing, fitting_tokens, pack
from edgeorder.placement import Placement, Trace
from edgeorder.plan import AUTO, OrderSetting, Plan, make_plan
from edgeorder.profile import PositionProfile
from edgeorder.prompting import Prompt, QuestionPlace
from edgeorder.ranking import RankBy, as_score, indices_at, rank, warn_if_placed_already
from edgeorder.reading import Reading, block_units
from edgeorder.rendering import Layout, Style, repeated
from edgeorder.scoring import Rerank, Reranked, Scorer, ascore, score
from edgeorder.selecting import Cut, Dedupe, with_min_score, with_top_n, without_duplicates


def place(
    chunks: Sequence[Chunk] | ChunkView,
    *,
    query: str | None = None,
    rank_by: RankBy = "input",
    rerank: Rerank | Scorer | None = None,
    dedupe: Dedupe = "off",
    top_n: int | None = None,
    min_score: float | None = None,
    budget: Budget | int | None = None,
    reading: Reading = "runs",
    order: OrderSetting = "auto",
    layout: Layout | Style | None = None,
    prompt: Prompt | QuestionPlace | None = None,
    recorders: Sequence[Recorder] = (),
) -> Placement:
    """Decide where each chunk sits in the prompt, and which fit the budget.

    Args:
        chunks: Retrieved chunks, best first unless `rank_by` says otherwise. Nothing of them is changed.
        query: The question; only a scorer, a prompt and `overflow="compress"` need it.
        rank_by: `"input"` (best first), `"score"` (descending), `"distance"` (ascending), or a callable from a chunk to
            a sortable key, larger is better. Chunks without a score or key come last.
        rerank: A scorer, `(query, texts) -> scores`, or a `Rerank`.
        dedupe: `"id"`, `"text"` or `"near"` (extra `text`) drops the lower rank of two duplicates.
        top_n: Keep at most this many chunks.
        min_score: Keep chunks that score at least this much: by the scorer if there is one, else by their own score.
        budget: Tokens for the rendered block, or for the prompt if there is one; or a `Budget`.
        reading: `"runs"` reads neighbours of one source in document order, `"source"` whole sources; `"off"`.
        order: `"auto"`, a name in `ORDERS`, any callable from n to a permutation, or an `Auto`.
        layout: How the block is written: `"plain"`, `"numbered"`, `"xml"`, a callable, or a `Layout`. It is counted.
        prompt: What stands around the block: the question `"before"`, `"after"` or on `"both"` sides, or a `Prompt`.
        recorders: Callables that get the `OrderRecord`.

    Returns:
        The placement.

    Raises:
        ValueError: For an unknown or impossible setting, or a scorer without a query.
        TypeError: For an item that is no `Chunk`, naming its index and type.
        BudgetError: If the reserve leaves no room, or with `overflow="error"` if a chunk does not fit.
        CounterError: If tokens cannot be counted.
        RerankError: If the scorer fails.

    >>> place([Chunk(text) for text in "ABCDE"], order="bookend").apply("ABCDE")
    ['A', 'C', 'E', 'D', 'B']
    """
    if recorders != ():
        check_recorders(recorders)
    plan = make_plan(rank_by, rerank, dedupe, top_n, min_score, budget, reading, order, layout, prompt)
    view = chunks if isinstance(chunks, ChunkView) else ChunkList(chunks)
    if plan.prompt is not None or plan.budget is not None:
        _check_query(plan, query)
    reranked = score(plan.rerank, query, view) if plan.rerank and len(view) else None
    placement = _arrange(view, plan, query, reranked, None if plan.budget is None else _judge(plan, query))
    deliver(placement, recorders)
    return placement


async def aplace(
    chunks: Sequence[Chunk] | ChunkView,
    *,
    query: str | None = None,
    rank_by: RankBy = "input",
    rerank: Rerank | Scorer | None = None,
    dedupe: Dedupe = "off",
    top_n: int | None = None,
    min_score: float | None = None,
    budget: Budget | int | None = None,
    reading: Reading = "runs",
    order: OrderSetting = "auto",
    layout: Layout | Style | None = None,
    prompt: Prompt | QuestionPlace | None = None,
    recorders: Sequence[Recorder] = (),
) -> Placement:
    """The same as `place`; scoring and token counting never block the event loop."""
    import asyncio

    if recorders != ():
        check_recorders(recorders)
    plan = make_plan(rank_by, rerank, dedupe, top_n, min_score, budget, reading, order, layout, prompt)
    view = chunks if isinstance(chunks, ChunkView) else ChunkList(chunks)
    if plan.prompt is not None or plan.budget is not None:
        _check_query(plan, query)
    reranked = await ascore(plan.rerank, query, view) if plan.rerank and len(view) else None
    if plan.budget is None:
        placement = _arrange(view, plan, query, reranked)
    else:
        loop = asyncio.get_running_loop()

        def judge(sentences: ChunkView) -> Sequence[float | None]:
            # Called in the thread below; the scorer may need the loop, which is free meanwhile.
            scoring = ascore(_judge_of(plan), query, sentences, ties=False)
            return _judged(asyncio.run_coroutine_threadsafe(scoring, loop).result(), sentences)

        placement = await asyncio.to_thread(_arrange, view, plan, query, reranked, judge)
    deliver(placement, recorders)
    return placement


def _check_query(plan: Plan, query: str | None) -> None:
    if query:
        return
    if plan.prompt is not None and plan.prompt.question != "none":
        raise ValueError(f"prompt={plan.prompt.question!r} shows the question, so it needs one: give query=...")
    if plan.budget is not None and plan.budget.overflow == "compress":
        raise ValueError("overflow='compress' keeps the sentences that matter to the question: give query=...")


def _judge(plan: Plan, query: str | None) -> Judge:
    """Return what scores sentences without an event loop."""

    def judge(sentences: ChunkView) -> Sequence[float | None]:
        return _judged(score(_judge_of(plan), query, sentences, ties=False), sentences)

    return judge


def _judge_of(plan: Plan) -> Rerank:
    """Return what scores sentences: the scorer of the call, or BM25."""
    if plan.rerank is not None:
        return plan.rerank
    from edgeorder.rerank.lexical import LexicalScorer

    return Rerank(LexicalScorer())


def _judged(reranked: Reranked, sentences: ChunkView) -> Sequence[float | None]:
    """Return a score for each sentence; none, so that the first ones stay, if the scorer failed and may."""
    return reranked.scores or [None] * len(sentences)


def _arrange(
    view: ChunkView, plan: Plan, query: str | None, reranked: Reranked | None, judge: Judge | None = None
) -> Placement:
    """Everything after scoring."""
    ranking = rank(view, plan.rank_by)
    scores = None
    if plan.rank_by == "input" and reranked is None:
        warn_if_placed_already(view)
    if reranked is not None:
        ranking, scores = reranked.order(ranking), reranked.scores
    kept, cuts = _select(view, plan, ranking, scores)
    return _settle(Trace(view, ranking, plan, query, time.time(), reranked), kept, cuts, judge)


def _settle(
    trace: Trace, kept: Sequence[int], cuts: list[Cut], judge: Judge | None = None, first: int = 1
) -> Placement:
    """Pack and order the ranks that are left, until the joined text fits.

    Args:
        trace: The call.
        kept: Ranks (0-based) still in the running.
        cuts: What was left out before.
        judge: What scores sentences.
        first: The citation number of the passage at the head.
    """
    view, ranking, plan = trace.view, trace.ranking, trace.plan
    scores = trace.reranked.scores if trace.reranked else None
    layout, prompt, packing, tokens = plan.layout, plan.prompt, None, None
    texts: dict[int, str] = {}
    if plan.budget is not None:
        around = None if prompt is None else prompt.around("", trace.query, ())
        packing = pack(view, ranking, kept, plan.budget, layout, around, judge)
        kept, texts = packing.kept, packing.texts
    positions, units, order, reason, notes = _order(view, plan, ranking, kept, scores, texts)
    echoed: Sequence[int] = () if layout.echo == 0 else kept[: layout.echo] if packing is None else packing.echoed
    if packing is not None:
        # The joined text can need more than its parts, and which text it is depends on what is kept.
        for attempt in count():
            indices = indices_at(ranking, positions)
            text = layout.write(view, indices, texts, indices_at(ranking, echoed), first)
            if prompt is not None:
                text = prompt.around(text, trace.query, range(first, first + len(indices)))
            tokens = fitting_tokens(packing, view, ranking, layout, text, attempt)
            if tokens is not None:
                break
            positions, units, order, reason, notes = _order(view, plan, ranking, kept, scores, texts)
        cuts += packing.cuts
    if cuts:
        cuts.sort(key=itemgetter(1))
        if not kept:
            _warn_of_empty(cuts, packing)
    return Placement(
        indices_at(ranking, positions),
        order,
        reason,
        cuts,
        tokens,
        trace,
        packing,
        units,
        repeated(indices_at(ranking, positions), indices_at(ranking, echoed)) if echoed else (),
        first,
        notes,
    )


def split(placement: Placement, max_tokens: int) -> list[Placement]:
    """Return the passes of a placement, see `Placement.passes`."""
    trace = placement._trace
    plan, view = trace.plan, trace.view
    budget = Budget(max_tokens) if plan.budget is None else replace(plan.budget, tokens=max_tokens)
    if placement.texts:
        view = Shortened(view, placement.texts)
    trace = trace._replace(view=view, plan=plan._replace(budget=replace(budget, overflow="stop")))
    rank_of = {index: rank for rank, index in enumerate(trace.ranking)}
    left = sorted(rank_of[index] for index in placement.indices)
    passes: list[Placement] = []
    first = placement._first
    while left:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOrderWarning)  # an empty pass is an error, below
            one = _settle(trace, left, [], first=first)
        if not one.indices:
            index = trace.ranking[left[0]]
            raise BudgetError(
                f"the chunk at input index {index} (rank {left[0] + 1}) does not fit a pass of {max_tokens} tokens; "
                "raise max_tokens, or shorten chunks first with Budget(max_tokens, overflow='truncate')"
            )
        one._cuts = ()
        one.texts = {index: text for index, text in placement.texts.items() if index in one.indices}
        one.elisions = {index: placement.elisions[index] for index in one.texts}
        passes.append(one)
        first += len(one.indices)
        left = left[len(one.indices) :]
    return passes


def _select(
    view: ChunkView, plan: Plan, ranking: Sequence[int], scores: Sequence[float | None] | None
) -> tuple[Sequence[int], list[Cut]]:
    """Drop duplicates, low scores and what is beyond `top_n`; return the ranks that stay and what does not."""
    kept: Sequence[int] = range(len(ranking))
    cuts: list[Cut] = []
    if plan.dedupe != "off":
        kept, out = without_duplicates(view, ranking, kept, plan.dedupe)
        cuts += out
    if plan.min_score is not None:
        if scores is not None and plan.rerank is not None:
            judged = [plan.rerank.scaled(score) for score in scores]
        else:
            judged = [as_score(score) for score in view.scores()]
        kept, out = with_min_score(judged, ranking, kept, plan.min_score)
        cuts += out
    if plan.top_n is not None:
        kept, out = with_top_n(ranking, kept, plan.top_n)
        cuts += out
    return kept, cuts


def _order(
    view: ChunkView,
    plan: Plan,
    ranking: Sequence[int],
    kept: Sequence[int],
    scores: Sequence[float | None] | None,
    bodies: Mapping[int, str],
) -> tuple[Sequence[int], list[list[int]] | None, str, str, tuple[str, ...]]:
    """Group the kept ranks into block units, order the units, and lay out their chunks.

    Returns:
        The rank (0-based) at each position, the units if any holds more than one chunk, the order, its reason, and what
        the record should say.
    """
    units, notes = block_units(view, ranking, kept, plan.reading)
    n = len(kept if units is None else units)
    order: Order
    if isinstance(plan.order, Auto):
        name, reason = plan.order.choose(view, indices_at(ranking, kept), scores, bodies)
        order = ORDERS[name]
    elif isinstance(plan.order, PositionProfile):
        order, name, reason = plan.order, plan.order.name, plan.order.why(n)
        if not plan.order.shows(n):
            name, why = AUTO.choose(view, indices_at(ranking, kept), scores, bodies)
            order, reason = ORDERS[name], f"{reason}; {why}"
    else:
        order, name, reason = plan.order, order_name(plan.order), "asked for"
    permute = order if order is ORDERS.get(name) else partial(checked_permutation, order)
    if units is None:
        slots = permute(n)
        return slots if type(kept) is range else [kept[slot] for slot in slots], None, name, reason, notes
    slots = permute(n)
    if plan.reading == "runs":
        units, slots, more = near_head(units, slots, permute)
        notes += more
    return [rank for slot in slots for rank in units[slot]], units, name, reason, notes


def _warn_of_empty(cuts: Sequence[Cut], packing: Packing | None) -> None:
    message = f"all {len(cuts)} chunks were dropped ({', '.join(sorted({reason for _, _, reason, *_ in cuts}))})"
    if packing is not None and packing.counts:
        smallest = min(packing.counts.values())
        message += f"; the block has room for {packing.room} tokens, the smallest chunk counted needs {smallest}"
    warnings.warn(message, EdgeOrderWarning, stacklevel=2)
