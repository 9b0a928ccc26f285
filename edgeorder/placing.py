"""Placing: the one path from chunks to a placement.

    chunks -> rank -> rerank -> dedupe -> min_score, top_n -> budget -> block units -> order -> flatten -> Placement

Every face of every adapter comes through here. A stage that was not asked for costs one comparison.
"""

import time
from collections.abc import Sequence

from edgeorder.alerts import passed_on, warn
from edgeorder.budget import Budget
from edgeorder.call import Call, select
from edgeorder.checks import check_query
from edgeorder.chunk import Chunk, ChunkList, ChunkView
from edgeorder.listening import Recorder, check_recorders, deliver
from edgeorder.placed import ranked_as_before
from edgeorder.placement import Placement
from edgeorder.plan import OrderSetting, Plan, make_plan
from edgeorder.prompting import Prompt, QuestionPlace
from edgeorder.ranking import RankBy, rank, warn_if_placed_already
from edgeorder.reading import Reading
from edgeorder.rendering import Layout, Style
from edgeorder.scoring import Rerank, Reranked, Scorer, ajudged, ascore, judged, score
from edgeorder.selecting import Cut, Dedupe
from edgeorder.settled import Settled
from edgeorder.settling import Room, room_of, settle
from edgeorder.threads import in_thread
from edgeorder.tracing import circumstances
from edgeorder.window import drafting, share


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
        dedupe: `"id"`, `"text"`, `"near"` or a callable from a chunk to a key drops the lower rank of two duplicates.
        top_n: Keep at most this many chunks.
        min_score: Keep chunks that score at least this much: by the scorer if there is one, else by their own score.
        budget: Tokens for the rendered block, or for the prompt if there is one; or a `Budget`.
        reading: `"runs"` reads neighbours of one source in document order, `"source"` whole sources; `"off"`.
        order: `"auto"`, a name in `ORDERS`, any callable from n to a permutation, an `Auto`, or a `PositionProfile`.
        layout: How the block is written: `"plain"`, `"numbered"`, `"xml"`, a callable, or a `Layout`. It is counted.
        prompt: What stands around the block: the question `"before"`, `"after"` or on `"both"` sides, or a `Prompt`.
        recorders: Callables that get the `OrderRecord`.

    Returns:
        The placement.

    Raises:
        ValueError: For an unknown or impossible setting, or a scorer without a query.
        TypeError: For an item that is no `Chunk`, naming its index and type; for a question that is no text.
        BudgetError: If the reserve leaves no room, or with `overflow="error"` if a chunk does not fit.
        CounterError: If tokens cannot be counted.
        RerankError: If the scorer fails.

    >>> place([Chunk(text) for text in "ABCDE"], order="bookend").apply("ABCDE")
    ['A', 'C', 'E', 'D', 'B']
    """
    if recorders != ():
        check_recorders(recorders)
    plan = make_plan(rank_by, rerank, dedupe, top_n, min_score, budget, reading, order, layout, prompt)
    view = _asked(chunks, plan, query)
    reranked = score(plan.rerank, query, view) if plan.rerank and len(view) else None
    asked = _ranked(view, plan, query, reranked)
    while True:
        shared = share()
        call = asked if shared is None else shared.call(asked)
        ranks, cuts, room, wanted = _prepared(call)
        scores = judged(plan.rerank, query, wanted) if wanted else ()
        settled = settle(call, ranks, cuts, room, scores)
        if shared is None or call.circumstances.shadow or shared.taken(call, settled):
            return _delivered(call, settled, recorders)


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
    """The same as `place`; scoring, token counting and comparing texts never block the event loop."""
    if recorders != ():
        check_recorders(recorders)
    plan = make_plan(rank_by, rerank, dedupe, top_n, min_score, budget, reading, order, layout, prompt)
    view = _asked(chunks, plan, query)
    reranked = await ascore(plan.rerank, query, view) if plan.rerank and len(view) else None
    asked = _ranked(view, plan, query, reranked)
    if plan.budget is None and plan.dedupe in ("off", "id") and share() is None:
        ranks, cuts, room, _ = _prepared(asked)
        return _delivered(asked, settle(asked, ranks, cuts, room), recorders)
    while True:
        with passed_on() as messages:
            shared = share()
            call = asked if shared is None else await in_thread(shared.call, asked)
            # Two visits to a thread with the scorer between them: no thread waits for another one, nor for the loop.
            ranks, cuts, room, wanted = await in_thread(_prepared, call)
            scores = await ajudged(plan.rerank, query, wanted) if wanted else ()
            settled = await in_thread(settle, call, ranks, cuts, room, scores)
            done = shared is None or call.circumstances.shadow or shared.taken(call, settled)
            if not done:  # whatever it warned of is to be found out again
                messages.clear()
        if done:
            return _delivered(call, settled, recorders)


def _asked(chunks: Sequence[Chunk] | ChunkView, plan: Plan, query: str | None) -> ChunkView:
    """Return the chunks as a view.

    Raises:
        ValueError: If the question is missing where one is needed.
        TypeError: If it is no text, or an item is no `Chunk`.
    """
    check_query(query)
    if not query and plan.prompt is not None and plan.prompt.question != "none":
        raise ValueError(f"prompt={plan.prompt.question!r} shows the question, so it needs one: give query=...")
    if not query and plan.budget is not None and plan.budget.overflow == "compress":
        raise ValueError("overflow='compress' keeps the sentences that matter to the question: give query=...")
    return chunks if isinstance(chunks, ChunkView) else ranked_as_before(ChunkList(chunks), chunks)


def _ranked(view: ChunkView, plan: Plan, query: str | None, reranked: Reranked | None) -> Call:
    """Return the facts of the call, the chunks ranked."""
    ranking = rank(view, plan.rank_by)
    if reranked is not None:
        ranking = reranked.order(ranking)
    elif plan.rank_by == "input":
        warn_if_placed_already(view)
    return Call(view, plan, query, time.time(), ranking, reranked, circumstances())


def _prepared(call: Call) -> tuple[Sequence[int], list[Cut], Room | None, Sequence[str]]:
    """Return the ranks that stay, what was cut, the room for them, and the texts that must be scored before."""
    ranks, cuts = select(call)
    room = room_of(call, ranks)
    return ranks, cuts, room, () if room is None or not ranks else room.packer.wanted(room.tokens)


def _delivered(call: Call, settled: Settled, recorders: Sequence[Recorder]) -> Placement:
    """Return the placement, once whoever should know of it does."""
    placement = Placement(call, settled)
    if not drafting():
        if (message := settled.emptied()) is not None:
            warn(message)
        deliver(placement, recorders)
    return placement
