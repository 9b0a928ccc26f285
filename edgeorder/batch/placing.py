"""Placing batch by batch: a callable that every engine can call."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack

from edgeorder.alerts import of_each_kind, passed_on
from edgeorder.batch.columns import (
    NAMES,
    PROMPT,
    cells,
    check_lengths,
    check_named,
    column_names,
    question_column,
    schema,
    whole,
    with_columns,
)
from edgeorder.batch.rows import Row, as_row, said
from edgeorder.batch.together import scored_together
from edgeorder.budget import Budget
from edgeorder.listening import Recorder, check_recorders
from edgeorder.placement import Placement
from edgeorder.placing import place
from edgeorder.plan import OrderSetting, Plan, make_plan
from edgeorder.prompting import Prompt, QuestionPlace
from edgeorder.ranking import RankBy
from edgeorder.reading import Reading
from edgeorder.rendering import Layout, Style
from edgeorder.scorer import is_async, scorer_name
from edgeorder.scoring import Rerank, Scorer
from edgeorder.selecting import Dedupe
from edgeorder.settled import block_text
from edgeorder.stopping import tireless

if TYPE_CHECKING:
    import pyarrow


class PlaceSettings(TypedDict, total=False):
    """The keywords of `place()` that are the same for every row."""

    rank_by: RankBy
    rerank: Rerank | Scorer | None
    dedupe: Dedupe
    top_n: int | None
    min_score: float | None
    budget: Budget | int | None
    reading: Reading
    order: OrderSetting
    layout: Layout | Style | None
    prompt: Prompt | QuestionPlace | None
    recorders: Sequence[Recorder]


class Outcome(NamedTuple):
    """The cells that are added to a row, in the order of the columns."""

    order: str | None = None
    kept: list[int] | None = None
    block: str | None = None
    tokens: int | None = None
    dropped: list[dict[str, Any]] | None = None
    reason: str | None = None
    error: str | None = None
    prompt: str | None = None


class PlaceBatch:
    """Place the chunks of every row of a batch; a callable for the engine that hands over the batches.

    A batch is a pyarrow Table or RecordBatch, a pandas DataFrame or a dict of columns. It has a column `chunks`, lists
    of texts or of structs with the fields of `Chunk` (text, score, source, offset, end, id and so on), and a column
    `query`, or else `question`, which may be missing where no stage needs it. The same rows come back in the same order
    and form, with these columns added:

    - `order`: the name of the order that was used
    - `kept`: input indices (0-based) of the chunks in the block, head first
    - `block`: the text of the block
    - `tokens`: its length; null without a budget
    - `dropped`: structs of index, rank (1 = best), reason, tokens and duplicate_of, by rank
    - `reason`: why that order, and why a scorer that failed did not count
    - `error`: what is wrong with the row; null if nothing is, and all else is null if something is
    - `prompt`: the prompt around the block, where one was asked for

    A row gets what `place` gives for it alone, whatever shares its batch. A scorer with `score_many`, as the
    cross-encoders of `edgeorder.rerank` have it, scores the rows of a batch together.

    Args:
        prefix: What the names of the added columns begin with, where a table has some of these names already.
        settings: The keywords of `place()`; all but `query`.

    Raises:
        ValueError: For an unknown or impossible setting; for a batch, if a column is missing, there twice or already.
        TypeError: For a setting that `place` does not have or of the wrong type, or a scorer that is async only; for
            something that is no batch.
        ImportError: For a batch, if a package is not installed that a setting needs.
        RerankError: For a batch, if the scorer's model cannot be loaded.
        BudgetError: For a batch, if the reserve leaves no room.
        CounterError: For a batch, if the token counter cannot be loaded.

    >>> place_batch = PlaceBatch(order="bookend", top_n=3)
    >>> placed = place_batch({"id": [7, 8], "chunks": [["A", "B", "C", "D"], None]})
    >>> placed["id"], placed["kept"], placed["dropped"][0][0]["reason"]
    ([7, 8], [[0, 2, 1], None], 'top_n')
    >>> placed["error"]
    [None, 'ValueError: the chunks are missing; a question without any has an empty list']
    """

    def __init__(self, *, prefix: str = "", **settings: Unpack[PlaceSettings]) -> None:
        if unknown := sorted(set(settings) - set(PlaceSettings.__annotations__)):
            raise TypeError(
                f"PlaceBatch has no setting {', '.join(map(repr, unknown))}; it has: "
                f"{', '.join(PlaceSettings.__annotations__)}; the query is a column"
            )
        if not isinstance(prefix, str):
            raise TypeError(f"prefix must be a text, not {prefix!r:.60}")
        check_recorders(settings.get("recorders", ()))
        self.prefix = prefix
        self.settings = settings
        self.plan: Plan = make_plan(**{name: settings[name] for name in Plan._fields if name in settings})  # type: ignore[literal-required]
        for scorer in () if self.plan.rerank is None else self.plan.rerank.scorers:
            if is_async(scorer):  # every row would fail
                raise TypeError(
                    f"rerank: scorer {scorer_name(scorer)} is async, and batches are placed without an event loop; "
                    "give it a sync __call__"
                )

    def __repr__(self) -> str:
        given = {"prefix": self.prefix, **self.settings} if self.prefix else self.settings
        return f"PlaceBatch({', '.join(f'{name}={value!r}' for name, value in given.items())})"

    @property
    def schema(self) -> "pyarrow.Schema":
        """The columns that are added, as a schema of pyarrow, for engines that must know them before."""
        return schema(self.prefix, self.plan.prompt is not None)

    def __call__(self, batch: Any) -> Any:
        """Return a batch of the same form with the columns added."""
        batch = whole(batch)
        names = self.check_columns(column_names(batch))
        asked = question_column(names) if self.needs_query else "query"
        read = {name: cells(batch, name) for name in (asked, "chunks") if name in names}
        length = check_lengths(read)
        rows = [as_row(*row) for row in zip(read.get(asked, [None] * length), read["chunks"], strict=True)]
        outcomes = self.place_rows(rows)
        wanted = (*NAMES, PROMPT) if self.plan.prompt else NAMES
        added = {self.prefix + name: [getattr(outcome, name) for outcome in outcomes] for name in wanted}
        return with_columns(batch, added, self.prefix, self.plan.prompt is not None)

    def check_columns(self, names: Sequence[str]) -> Sequence[str]:
        """Return the names of a table's columns.

        Raises:
            ValueError: If one is missing that is needed, there twice, or there that would be added.
        """
        check_named(names, "chunks", *([question_column(names)] if self.needs_query else []))
        wanted = (*NAMES, PROMPT) if self.plan.prompt else NAMES
        if taken := [self.prefix + name for name in wanted if self.prefix + name in names]:
            raise ValueError(
                f"columns {', '.join(map(repr, taken))} are there already and would be replaced; name the new ones "
                "otherwise with prefix='placed_'"
            )
        return names

    def place_rows(self, rows: Sequence[Row]) -> list[Outcome]:
        """Return what is added to each row; the rows share the scorer's batches."""
        plan, alerts = self.plan, list[str]()
        if rows:
            self.check_budget()
        outcomes = []
        with passed_on() as messages, tireless():
            try:
                steps = [None] * len(rows) if plan.rerank is None else scored_together(plan.rerank, rows)
                alerts += messages
                for at, (row, rerank) in enumerate(zip(rows, steps, strict=True)):
                    messages.clear()
                    outcomes.append(self._placed(row, rerank))
                    alerts += [f"row {at} of a batch: {message}" for message in messages]
            finally:  # a line for each of a million rows would be read by nobody, and kept by Python for ever
                found = alerts or messages  # where scoring failed, its own
                messages[:] = of_each_kind(found, f" in a batch of {len(rows)} rows")
        return outcomes

    def check_budget(self) -> None:
        """Find out whether tokens can be counted: without that no row could be placed, which ends the run.

        Raises:
            BudgetError: If the reserve leaves no room.
            CounterError: If the counter cannot be loaded.
        """
        if self.plan.budget is not None:
            from edgeorder.tokens import checked_counter

            count = checked_counter(self.plan.budget.counter)
            self.plan.budget.room(count)
            if not callable(self.plan.budget.counter):
                count("")

    @property
    def needs_query(self) -> bool:
        """Whether a stage needs the question."""
        plan = self.plan
        shown = plan.prompt is not None and plan.prompt.question != "none"
        return plan.rerank is not None or shown or (plan.budget is not None and plan.budget.overflow == "compress")

    def _placed(self, row: Row, rerank: Rerank | None) -> Outcome:
        if row.error is not None:
            return Outcome(error=row.error)
        try:
            settings = self.settings.copy()
            settings["rerank"] = rerank
            return _outcome(place(row.chunks, query=row.query, **settings))
        except ImportError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever is wrong with a row, the others go on
            return Outcome(error=said(error))


def _outcome(placement: Placement) -> Outcome:
    reranked, reason = placement.call.reranked, placement.reason
    if reranked is not None and reranked.failure and placement.call.ranking:
        reason = f"{reason}; {reranked.failure}"
    return Outcome(
        placement.order,
        list(placement.indices),
        block_text(placement.call, placement.settled),
        placement.tokens,
        [
            {"index": index, "rank": rank, "reason": why, "tokens": tokens, "duplicate_of": duplicate_of}
            for index, rank, why, tokens, duplicate_of in placement.settled.cuts
        ],
        reason,
        None,
        placement.prompt if placement.call.plan.prompt else None,
    )
