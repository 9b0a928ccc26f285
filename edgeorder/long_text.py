"""One long text in a small room: a log, a file, a transcript, JSON. Its two ends stay, and the best of its middle."""

from dataclasses import dataclass, replace

from edgeorder.alerts import passed_on
from edgeorder.budget import Budget, as_budget
from edgeorder.checks import check_query
from edgeorder.chunk import TokenCounter
from edgeorder.cutting import LongText
from edgeorder.errors import BudgetError
from edgeorder.scorers.lexical import LexicalScorer
from edgeorder.scoring import Rerank, Reranked, Scorer, as_rerank, ascore_texts, score_texts
from edgeorder.text.units import Span
from edgeorder.threads import in_thread
from edgeorder.tokens import checked_counter
from edgeorder.window import Share, share


@dataclass(frozen=True, slots=True)
class PlacedText:
    """What stays of one text.

    Attributes:
        text: The text, or what stays of it in its own words and order, and marks that say what is missing.
        tokens: Tokens of it.
        whole: Tokens of the text that was given.
        gone: What is missing: spans (0-based start, stop) of characters of the text that was given.
        notes: What else there is to say.
    """

    text: str
    tokens: int
    whole: int
    gone: tuple[Span, ...] = ()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


def place_text(
    text: str,
    query: str | None,
    budget: Budget | int,
    *,
    counter: TokenCounter | str | None = None,
    rerank: Rerank | Scorer | None = None,
) -> PlacedText:
    r"""Cut one long text to a budget: what a tool printed, a log, a file, a transcript, JSON (extra `text`).

    It is cut between its units (lines, sentences, rows, items, turns). A fifth of the room goes to its beginning and
    three tenths to its end, where errors stand; the rest to the units in between that score best, in reading order. A
    table keeps its header, a fence is closed. A text that fits is returned as it is. Inside a `window` it draws from
    that, and where nothing is left nothing stays.

    Args:
        text: The text.
        query: The question that the middle is searched for; None or blank for the two ends alone.
        budget: Tokens, or a `Budget`, whose counter and reserve count; its `overflow` is not asked.
        counter: What counts, instead of the counter of the budget.
        rerank: What scores the middle: a scorer or a `Rerank`; BM25 if None. Of a text of more than four times the room
            it sees what BM25 puts first.

    Returns:
        The text, its tokens, and what is missing.

    Raises:
        TypeError: If the text or the question is none.
        BudgetError: If the reserve leaves no room outside of a `window`, or nothing stays in a strict one.
        CounterError: If tokens cannot be counted.
        RerankError: If the scorer fails.

    >>> log = "\n".join(f"12:00:{second:02} pump {second} is fine" for second in range(60)) + "\n12:01:00 pump 7 burns"
    >>> print(place_text(log, "pump 31", 30, counter=lambda text: len(text.split())))
    12:00:00 pump 0 is fine
    12:00:01 pump 1 is fine
    [… 29 lines]
    12:00:31 pump 31 is fine
    [… 27 lines]
    12:00:59 pump 59 is fine
    12:01:00 pump 7 burns
    """
    plan, asked = _budget_of(budget, counter), as_rerank(rerank)
    check_query(query)
    while True:
        shared = share()
        made = _opened(text, plan, shared)
        if not isinstance(made, PlacedText):
            judge = _judge(made, query, asked)
            reranked = None if judge is None else score_texts(judge, query, made.texts, ties=False)
            made = _chosen(made, reranked)
        if _taken(made, shared):
            return made


async def aplace_text(
    text: str,
    query: str | None,
    budget: Budget | int,
    *,
    counter: TokenCounter | str | None = None,
    rerank: Rerank | Scorer | None = None,
) -> PlacedText:
    """The same as `place_text`; neither scoring nor counting blocks the event loop."""
    plan, asked = _budget_of(budget, counter), as_rerank(rerank)
    check_query(query)
    while True:
        with passed_on() as messages:
            shared = share()
            made = await in_thread(_opened, text, plan, shared)
            if not isinstance(made, PlacedText):
                judge = _judge(made, query, asked)
                reranked = None if judge is None else await ascore_texts(judge, query, made.texts, ties=False)
                made = await in_thread(_chosen, made, reranked)
            if not (done := _taken(made, shared)):
                messages.clear()
        if done:
            return made


def _budget_of(budget: Budget | int, counter: TokenCounter | str | None) -> Budget:
    own = as_budget(budget)
    if own is None:
        raise TypeError("place_text needs a budget: a number of tokens, or a Budget")
    return own if counter is None else replace(own, counter=counter)


def _opened(text: str, budget: Budget, shared: Share | None) -> PlacedText | LongText:
    """Return a text that fits, or one that must be cut."""
    if not isinstance(text, str):
        raise TypeError(f"place_text cuts a text (str), not {type(text).__name__}")
    if not text:
        return PlacedText("", 0, 0)
    if shared is None or shared.left is None:
        count = checked_counter(budget.counter)
        room = budget.room(count)
    else:
        count = checked_counter(budget.counter if shared.counter is None else shared.counter)
        room = max(0, min(budget.left(count), shared.left))
    tokens = count(text)
    if tokens <= room:
        return PlacedText(text, tokens, tokens)
    if not room:
        return PlacedText("", 0, tokens, ((0, len(text)),), ("nothing was left of the window",))
    return LongText(text, tokens, room, count)


def _judge(made: LongText, query: str | None, rerank: Rerank | None) -> Rerank | None:
    """Return what should score the texts; None if there is nothing to score, or to score for."""
    if not query or not query.strip() or not made.texts:
        return None
    if rerank is None:
        return Rerank(LexicalScorer())
    if made.reach >= len(made.texts):
        return rerank
    return replace(rerank, scorer=(LexicalScorer(), *rerank.scorers), keep=(made.reach, *rerank.keeps))


def _chosen(made: LongText, reranked: Reranked | None) -> PlacedText:
    """Return what stays.

    Raises:
        BudgetError: If even an empty text counts as more than there is room for.
    """
    tokens, body = made.choose(() if reranked is None else reranked.scores or ())
    if tokens > made.room:
        raise BudgetError(f"an empty text counts as {tokens} tokens, and the room is {made.room}")
    notes = [] if reranked is None else [*reranked.notes, *([reranked.failure] if reranked.failure else [])]
    if not body.text:
        notes.append("not even one word and a mark fit")
    return PlacedText(body.text, tokens, made.tokens, tuple(body.gone), tuple(notes))


def _taken(placed: PlacedText, shared: Share | None) -> bool:
    """Draw from the windows around; False if others have taken too much meanwhile.

    Raises:
        BudgetError: If nothing stays in a strict window.
    """
    if shared is None:
        return True
    if shared.strict and placed.whole and not placed.text:
        raise BudgetError(f"the window is full: nothing stays of a text of {placed.whole} tokens")
    return shared.take(placed.tokens)
