"""Placing: the one path from chunks to a placement.

    chunks -> rank -> rerank -> dedupe -> min_score, top_n -> budget -> block units -> order -> flatten -> Placement

Every face of every adapter comes through here. A stage that was not asked for costs one comparison.
"""

import time
import warnings
from collections.abc import Sequence
from itertools import count
from operator import itemgetter

from edgeorder.auto import Auto
from edgeorder.chunk import Chunk, ChunkList, ChunkView
from edgeorder.errors import EdgeOrderWarning
from edgeorder.listening import Recorder, check_recorders, deliver
from edgeorder.orders import ORDERS, Order, checked_permutation, order_name
from edgeorder.packing import Budget, Packing, fitting_tokens, pack
from edgeorder.placement import Placement, Trace
from edgeorder.plan import OrderSetting, Plan, make_plan
from edgeorder.ranking import RankBy, as_score, indices_at, rank, warn_if_placed_already
from edgeorder.reading import Reading, block_units
from edgeorder.rendering import Layout, Style
from edgeorder.reranking import Rerank, Reranked, Scorer, ascore, score
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
    recorders: Sequence[Recorder] = (),
) -> Placement:
    """Decide where each chunk sits in the prompt, and which fit the budget.

    Args:
        chunks: Retrieved chunks, best first unless `rank_by` says otherwise. Nothing of them is changed.
        query: The question; only a scorer needs it.
        rank_by: `"input"` (best first), `"score"` (descending), `"distance"` (ascending), or a callable from a chunk to
            a sortable key, larger is better. Chunks without a score or key come last.
        rerank: A scorer, `(query, texts) -> scores`, or a `Rerank`.
        dedupe: `"id"`, `"text"` or `"near"` (extra `text`) drops the lower rank of two duplicates.
        top_n: Keep at most this many chunks.
        min_score: Keep chunks that score at least this much: by the scorer if there is one, else by their own score.
        budget: Tokens for the rendered block, or a `Budget`.
        reading: `"runs"` reads neighbours of one source in document order, `"source"` whole sources; `"off"`.
        order: `"auto"`, a name in `ORDERS`, any callable from n to a permutation, or an `Auto`.
        layout: A `Layout`: the separator is counted.
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
    plan = make_plan(rank_by, rerank, dedupe, top_n, min_score, budget, reading, order, layout)
    view = chunks if isinstance(chunks, ChunkView) else ChunkList(chunks)
    reranked = score(plan.rerank, query, view) if plan.rerank and len(view) else None
    placement = _arrange(view, plan, reranked)
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
    recorders: Sequence[Recorder] = (),
) -> Placement:
    """The same as `place`; scoring and token counting never block the event loop."""
    import asyncio

    if recorders != ():
        check_recorders(recorders)
    plan = make_plan(rank_by, rerank, dedupe, top_n, min_score, budget, reading, order, layout)
    view = chunks if isinstance(chunks, ChunkView) else ChunkList(chunks)
    reranked = await ascore(plan.rerank, query, view) if plan.rerank and len(view) else None
    if plan.budget is None:
        placement = _arrange(view, plan, reranked)
    else:
        placement = await asyncio.to_thread(_arrange, view, plan, reranked)
    deliver(placement, recorders)
    return placement


def _arrange(view: ChunkView, plan: Plan, reranked: Reranked | None) -> Placement:
    """Everything after scoring."""
    ranking = rank(view, plan.rank_by)
    scores = None
    if plan.rank_by == "input" and reranked is None:
        warn_if_placed_already(view)
    if reranked is not None:
        ranking, scores = reranked.order(ranking), reranked.scores
    kept, cuts = _select(view, plan, ranking, scores)
    packing = tokens = None
    texts: dict[int, str] = {}
    if plan.budget is not None:
        packing = pack(view, ranking, kept, plan.budget, plan.layout)
        kept, texts = packing.kept, packing.texts
    positions, units, order, reason = _order(view, plan, ranking, kept, scores)
    if packing is not None:
        # The joined block can need more than its parts, and which block it is depends on what is kept.
        for attempt in count():
            indices = indices_at(ranking, positions)
            block = plan.layout.join(view.rendered(index, texts.get(index)) for index in indices)
            tokens = fitting_tokens(packing, view, ranking, block, attempt)
            if tokens is not None:
                break
            positions, units, order, reason = _order(view, plan, ranking, kept, scores)
        cuts += packing.cuts
    if cuts:
        cuts.sort(key=itemgetter(1))
        if not kept:
            _warn_of_empty(cuts, packing)
    trace = Trace(view, ranking, units, plan, time.time(), packing, reranked)
    return Placement(indices_at(ranking, positions), order, reason, cuts, texts, tokens, trace)


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
) -> tuple[Sequence[int], list[list[int]] | None, str, str]:
    """Group the kept ranks into block units, order the units, and lay out their chunks.

    Returns:
        The rank (0-based) at each position, the units if any holds more than one chunk, and the order and its reason.
    """
    units = block_units(view, ranking, kept, plan.reading)
    order: Order
    if isinstance(plan.order, Auto):
        name, reason = plan.order.choose(view, indices_at(ranking, kept), scores)
        order = ORDERS[name]
    else:
        order, name, reason = plan.order, order_name(plan.order), "asked for"
    n = len(kept if units is None else units)
    places = order(n) if order is ORDERS.get(name) else checked_permutation(order, n)
    if units is not None:
        return [rank for place in places for rank in units[place]], units, name, reason
    if type(kept) is not range:
        places = [kept[place] for place in places]
    return places, None, name, reason


def _warn_of_empty(cuts: Sequence[Cut], packing: Packing | None) -> None:
    message = f"all {len(cuts)} chunks were dropped ({', '.join(sorted({reason for _, _, reason, *_ in cuts}))})"
    if packing is not None and packing.counts:
        smallest = min(packing.counts.values())
        message += f"; the block has room for {packing.room} tokens, the smallest chunk counted needs {smallest}"
    warnings.warn(message, EdgeOrderWarning, stacklevel=2)
