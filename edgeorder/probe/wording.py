"""What the probe and the comparison found, in words and rows of text: for tables, for the report and for scripts."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from edgeorder.orders import ORDERS
from edgeorder.probe.comparison import Arm, Comparison
from edgeorder.probe.evidence import CLAIM
from edgeorder.probe.faults import Fault
from edgeorder.probe.results import LengthResult, ProbeResult
from edgeorder.probe.shares import Share
from edgeorder.profile import gain_words

CURVE_HEAD = ("position", "depth", "right", "share", "95 % interval", "fitted", "95 % band", "used it", "first line")
_ARMS_HEAD = ("order", "question", "chunks", "right", "share", "95 % interval", "points to best", "95 % interval")
_COSTS: Mapping[str, Callable[[Arm], str]] = {
    "used it": lambda arm: percent(sum(arm.used) / len(arm.used) if arm.used else None),
    "prompt tokens": lambda arm: percent(None) if arm.tokens is None else f"{arm.tokens:,.0f}",
    "s a reply": lambda arm: percent(None) if arm.seconds is None else f"{arm.seconds:.2f}",
}


def percent(share: float | None) -> str:
    """Return a share, 0..1, as text."""
    return "–" if share is None else f"{100 * share:.0f} %"


def between(low: float, high: float) -> str:
    """Return an interval of shares as text."""
    return f"{100 * low:.0f}–{100 * high:.0f} %"


def points(difference: float) -> str:
    """Return a difference of shares as signed points."""
    text = f"{100 * difference:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text.replace("-", "−")


def number(value: float) -> str:
    """Return an e-value as text, as short as its size allows."""
    return f"{value:,.2f}" if value < 100 else f"{value:,.0f}" if value < 1e6 else f"{value:.1e}"


def counted(share: Share, of: str = "") -> str:
    """Return a share, of what, with its counts and its interval as text."""
    return f"{percent(share.value)}{of} ({share.right} of {share.asked}, 95 % interval {between(*share.interval)})"


def measured(length: LengthResult) -> tuple[Share, ...]:
    """Return right answers by depth, also where no question was asked."""
    return length.shares or (Share(0, 0),) * len(length.positions)


def curve_rows(length: LengthResult) -> list[tuple[str, ...]]:
    """Return the numbers of one length's curve, one row a depth, under `CURVE_HEAD`."""
    fitted, bands = (
        length.posterior.accuracy(length.depths),
        zip(*length.posterior.interval(length.depths), strict=True),
    )
    shares = zip_longest(measured(length), length.used, length.first_lines, fillvalue=Share(0, 0))
    return [
        (
            f"{position} of {length.chunks}",
            f"{depth:.2f}",
            f"{share.right} of {share.asked}",
            percent(share.value),
            between(*share.interval),
            percent(fit),
            between(*band),
            percent(used.value),
            percent(first.value),
        )
        for position, depth, (share, used, first), fit, band in zip(
            length.positions, length.depths, shares, fitted, bands, strict=True
        )
    ]


def ranked(comparison: Comparison) -> list[Arm]:
    """Return the arms, most right answers first."""
    return sorted(comparison.arms, key=lambda arm: -arm.share.right)


def arm_table(comparison: Comparison) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the head and the rows of a comparison, best arm first; with use and cost where an arm knows them."""
    costs = {name: cell for name, cell in _COSTS.items() if any(cell(arm) != percent(None) for arm in comparison.arms)}
    rows: list[tuple[str, ...]] = []
    for arm in ranked(comparison):
        difference, low, high = comparison.against(arm, comparison.best)
        against = ("best", "") if arm is comparison.best else (points(difference), f"{points(low)} to {points(high)}")
        share, asked = arm.share, (arm.question_place, str(arm.chunks))
        rows.append(
            (
                arm.label,
                *asked,
                f"{share.right} of {share.asked}",
                percent(share.value),
                between(*share.interval),
                *against,
                *(cell(arm) for cell in costs.values()),
            )
        )
    return (*_ARMS_HEAD, *costs), rows


def rivals(comparison: Comparison) -> list[Arm]:
    """Return the arms, apart from the best, whose difference from it may be none."""
    return [arm for arm in ranked(comparison) if arm is not comparison.best and _alike(comparison, arm)]


def expected_rows(length: LengthResult, ranks: Sequence[int]) -> list[tuple[str, str, str]]:
    """Return what the curve promises of the named orders and of `ranks`: name, accuracy, points to the best."""
    orders = {"measured": tuple(ranks), **{name: tuple(order(length.chunks)) for name, order in ORDERS.items()}}
    worth = {name: length.posterior.expected(order, length.gold or None) for name, order in orders.items()}
    best = max(worth.values())
    return [
        (name, f"{100 * worth[name]:.1f} %", points(worth[name] - best))
        for name in sorted(worth, key=lambda n: -worth[n])
    ]


def order_words(ranks: Sequence[int]) -> str:
    """Return an order in words: its name if it has one, and where the best passages and the weakest go."""
    n, ranks = len(ranks), tuple(ranks)
    name = next((name for name, order in ORDERS.items() if tuple(order(n)) == ranks), "an order of its own")
    places = [ranks.index(rank) + 1 for rank in range(min(n, 3))]
    then = "".join(f", then {place}" for place in places[1:])
    return f"{name}: best passage at position {places[0]}{then}; weakest at {ranks.index(n - 1) + 1}"


def advice(result: ProbeResult) -> list[str]:
    """Return what to do, in plain words, one sentence a length."""
    if not result.valid:
        return ["No order is recommended: too many replies were unusable. Mend that and run the probe again."]
    profile, lines = result.profile(), []
    for length, shown in zip(result.lengths, result.shown, strict=True):
        order = order_words(profile.order(length.chunks))
        if shown:
            lines.append(f"At {length.chunks} chunks use {order}.")
        else:
            more = length.verdict.more
            then = f"about {more} more questions would tell" if more else "nothing needs to change"
            lines.append(
                f"At {length.chunks} chunks position was not shown to matter: {then}. The profile uses {order}."
            )
    return lines


def facts(length: LengthResult) -> dict[str, str]:
    """Return what was found at one length beside its curve, by name."""
    asked, shares = len(length.questions), length.posterior.shape_shares()
    found = {
        "Questions": f"{asked} asked, {length.dropped} dropped for an unusable reply; stopped: {length.stopped}",
        "Floor, closed book": counted(length.floor),
        "Ceiling, gold only": counted(length.ceiling),
        "Change with position": counted(length.changing, " of the questions are right at some depths only"),
        "E-value": f"{number(length.evidence.e_value)} now, {number(length.evidence.peak)} at most; "
        f"{CLAIM:.0f} proves an effect",
        "Differences": "none is excluded yet"
        if length.verdict.excluded >= 1 or not asked
        else f"above {math.ceil(100 * length.verdict.excluded)} points are excluded, between head, middle and tail",
        "Shape": ", ".join(
            f"{name} {percent(shares[name])}" for name in sorted(shares, key=lambda name: -shares[name])
        ),
    }
    if length.verdict.kind != "invalid":
        decided = length.decision
        found["Order"] = f"{decided.order}, {gain_words(decided.order, decided.gain, decided.low, decided.high)}"
    if length.dropped:
        found["Unusable replies"] = " ".join(fault_lines(length.faults))
    if length.cut.right:
        wrong = sum(
            cut and not right
            for question in length.questions
            for cut, right in zip(question.cut, question.right, strict=False)
        )
        found["Cut"] = cut_line(length.cut, wrong)
    if length.prompt_tokens and length.computed_tokens is not None:
        found["Prefill"] = (
            f"{percent(length.computed_tokens / length.prompt_tokens)} computed: "
            f"{length.computed_tokens:,} of {length.prompt_tokens:,} prompt tokens, the rest from the prefix cache"
        )
    elif length.prompt_tokens:
        found["Prefill"] = f"{length.prompt_tokens:,} prompt tokens; the model does not say how many it computed"
    return found


def headline(result: ProbeResult, place: int) -> str:
    """Return the verdict on one length in words, corrected for several lengths."""
    length = result.lengths[place]
    text = f"{length.chunks} chunks: {length.verdict.text}"
    if length.evidence.proved and length.verdict.kind != "invalid" and not result.shown[place]:
        text += f"; no longer, corrected for {len(result.lengths)} lengths"
    return text


def verdict_lines(result: ProbeResult) -> list[str]:
    """Return the verdict, what it rests on and what to do, as plain lines."""
    lines = []
    for place, length in enumerate(result.lengths):
        lines += [headline(result, place), *(f"  {name}: {text}" for name, text in facts(length).items())]
    if len(result.lengths) > 1:
        lines.append(f"All lengths: e-value {number(result.e_value)} for an effect at any of them")
    return lines + unsent_lines(result.setup) + advice(result)


def comparison_lines(comparison: Comparison) -> list[str]:
    """Return what a comparison found, as plain lines."""
    best, others = comparison.best, rivals(comparison)
    lines = [f"Most right answers: {best.name}, {counted(best.share)}."]
    if others:
        names = "; ".join(arm.name for arm in others[:3]) + (f"; and {len(others) - 3} more" if len(others) > 3 else "")
        lines.append(f"{len(others)} of the {len(comparison.arms) - 1} others cannot be told from it: {names}.")
    elif len(comparison.arms) > 1:
        lines.append("Every other is worse, each by its own 95 % interval (not corrected for their number).")
    lines += [*long_context_lines(comparison), *used_lines(comparison), *unsent_lines(comparison.setup)]
    if comparison.cut.right:
        wrong = sum(
            cut and not right for arm in comparison.arms for cut, right in zip(arm.cut, arm.right, strict=False)
        )
        lines.append(cut_line(comparison.cut, wrong))
    if comparison.dropped:
        asked = len(best.right) + comparison.dropped
        lines.append(
            f"{comparison.dropped} of {asked} questions were left out for an unusable reply; stopped: "
            f"{comparison.stopped}."
        )
    return lines + fault_lines(comparison.faults)


def used_lines(comparison: Comparison) -> list[str]:
    """Return how each arm differs from the first in how often its gold chunk was used."""
    first, *others = comparison.arms
    lines = []
    for arm in others if first.used else ():
        difference, low, high = comparison.against(arm, first, "used")
        told = f"{points(difference)} points to {first.name} (95 % interval {points(low)} to {points(high)})"
        lines.append(f"{arm.name}: gold chunk used {percent(sum(arm.used) / len(arm.used))}, {told}.")
    return lines


def fault_lines(faults: Sequence[Fault]) -> list[str]:
    """Return why replies were unusable, a line a kind: how often, an example, and what to do."""
    return [
        f"{fault.count} unusable: {fault.kind}"
        + (f" ({fault.example})" if fault.example else "")
        + f"; {fault.remedy}."
        for fault in faults
    ]


def unusable_line(faults: Sequence[Fault]) -> str:
    """Return that and why a run is invalid, in one line."""
    return "; ".join(["too many replies were unusable", *(line.rstrip(".") for line in fault_lines(faults))])


def cut_line(cut: Share, wrong: int) -> str:
    """Return what was cut, and what to do; a cut reply is right only if it held the answer by then."""
    return (
        f"{percent(cut.value)} of the replies ({cut.right} of {cut.asked}) met the limit of tokens and were graded as "
        f"they stand, {wrong} of them as wrong; a higher --max-tokens would let them end."
    )


def unsent_lines(setup: Mapping[str, Any]) -> list[str]:
    """Return which settings a model refused, so that it was asked without them."""
    unsent = setup.get("unsent") or {}
    named = ", ".join(f"{name}={value}" for name, value in unsent.items())
    return [f"Asked for but not sent, since the model refuses it: {named}."] if named else []


def long_context_lines(comparison: Comparison) -> list[str]:
    """Return what `LongContextReorder` loses where it differs from bookend: at even counts it puts the best last."""
    lines = []
    for arm in comparison.arms:
        asked = (arm.question_place, arm.chunks, arm.reading)
        peers = (one for one in comparison.arms if (one.question_place, one.chunks, one.reading) == asked)
        bookend = next((other for other in peers if other.order == "bookend"), None)
        if arm.order != "long_context_reorder" or arm.chunks % 2 or bookend is None:
            continue
        difference, low, high = comparison.against(arm, bookend)
        told = "" if low > 0 or high < 0 else ": it may be none"
        at = f"at {arm.chunks} chunks, question {arm.question_place}"
        lines.append(
            f"LongContextReorder puts the best passage last at even counts: {points(difference)} points to bookend "
            f"{at} (95 % interval {points(low)} to {points(high)}{told})."
        )
    return lines


def _alike(comparison: Comparison, arm: Arm) -> bool:
    _, low, high = comparison.against(arm, comparison.best)
    return low <= 0 <= high
