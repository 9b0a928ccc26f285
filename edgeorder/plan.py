"""The settings of one call, checked: the one place where shorthands are spelt out."""

from typing import NamedTuple, TypeAlias

from edgeorder.auto import Auto
from edgeorder.budget import Budget, as_budget
from edgeorder.checks import check_made
from edgeorder.orders import Order, named_order
from edgeorder.profile import PositionProfile
from edgeorder.prompting import Prompt, QuestionPlace, as_prompt
from edgeorder.ranking import RankBy, check_rank_by
from edgeorder.reading import Reading, check_reading
from edgeorder.rendering import Layout, Style, as_layout
from edgeorder.scoring import Rerank, Scorer, as_rerank
from edgeorder.selecting import Dedupe, check_dedupe, check_min_score, check_top_n

OrderSetting: TypeAlias = str | Order | Auto | PositionProfile
AUTO = Auto()


class Plan(NamedTuple):
    """The settings of one call, checked, shorthands spelt out."""

    rank_by: RankBy
    rerank: Rerank | None
    dedupe: Dedupe
    top_n: int | None
    min_score: float | None
    budget: Budget | None
    reading: Reading
    order: Order | Auto
    layout: Layout
    prompt: Prompt | None


def make_plan(
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
) -> Plan:
    """Check the settings and spell out their shorthands.

    Raises:
        ValueError: For an unknown or impossible value, naming it and the choices.
        TypeError: For a value of the wrong type.
    """
    if rank_by != "input":
        check_rank_by(rank_by)
    if dedupe != "off":
        check_dedupe(dedupe)
    check_reading(reading)
    if isinstance(order, str):
        order = AUTO if order == "auto" else named_order(order)
    elif isinstance(order, type) and issubclass(order, Auto | PositionProfile):  # another may be an order, as range is
        check_made("order", order)
    elif not callable(order) and not isinstance(order, Auto):
        raise TypeError(
            f"order must be a name, a callable from n to a permutation, an Auto or a PositionProfile, not {order!r}"
        )
    if min_score is not None and rank_by == "distance" and rerank is None:
        raise ValueError("min_score needs scores where higher is better, and rank_by='distance' says lower is")
    layout, prompt = as_layout(layout), as_prompt(prompt)
    if prompt is not None and "weak_slots" in prompt.instructions and layout.style == "plain":
        raise ValueError("instruction 'weak_slots' names passages by number: use layout='numbered' or 'xml'")
    return Plan(
        rank_by,
        as_rerank(rerank),
        dedupe,
        check_top_n(top_n),
        check_min_score(min_score),
        as_budget(budget),
        reading,
        order,
        layout,
        prompt,
    )
