"""The window of a request: tokens that several placements share, and the numbers that they give.

It stands in a context variable, so that it reaches placers deep inside a chain, an engine or an agent, and nothing that
belongs to one request is put on an object that others use at the same time.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from edgeorder.budget import Budget, as_budget
from edgeorder.call import Call
from edgeorder.chunk import TokenCounter
from edgeorder.contexts import Opened
from edgeorder.errors import BudgetError, bad_choice
from edgeorder.messages import MessageCounter
from edgeorder.placement import Placement
from edgeorder.register import Numbered, Register, Source
from edgeorder.settled import Settled

Already: TypeAlias = Literal["send", "point", "drop"]


class window:  # noqa: N801 - a context manager, named as one
    """Let everything that is placed in this context share one window of tokens, one register, or both.

    Each placement has what is left, or its own budget if that is less, and takes what its text needs. Several at once
    are served in the order in which they end. A window that is full is a result: the placement is empty, its record
    says so, and a warning is given. What starts inside inherits the window: tasks, `asyncio.to_thread`, and the
    executors of LangChain and LlamaIndex. Plain threads may each enter the same one. Inside another window, both hold.

    Args:
        budget: The tokens, 0 for a window that is full already; or a `Budget`, whose counter counts here and whose
            policy holds where a placer has none.
        register: Where the numbers of the conversation stand.
        already: What stands for a chunk that one of the texts in `shown` holds word for word: `"send"` sends it again,
            `"point"` puts a line such as `[4] above`, `"drop"` leaves it out.
        shown: The texts that the model gets to see besides, such as earlier tool messages.
        each: Every placement may take all of it, as in engines that make a call of their own for each step.
        strict: Whether a full window raises `BudgetError`.

    Raises:
        ValueError: For an unknown value, or if there is nothing to share.
        TypeError: If the register is none, or what was shown is no list of texts.

    >>> from edgeorder import Chunk, place
    >>> with window(Budget(5, counter=len)) as shared:
    ...     [len(place([Chunk(text) for text in found])) for found in ("AB", "C")], shared.left
    ([2, 1], 0)
    """

    def __init__(
        self,
        budget: Budget | int | None = None,
        *,
        register: Register | None = None,
        already: Already = "send",
        shown: Sequence[str] = (),
        each: bool = False,
        strict: bool = False,
        draft: bool = False,
    ) -> None:
        if budget is None and register is None and not draft:
            raise ValueError("a window shares tokens, a register, or both: window(6000), window(register=Register())")
        if register is not None and not isinstance(register, Register):
            raise TypeError(f"register must be a Register, such as Register(), not {register!r:.80}")
        if already not in ("send", "point", "drop"):
            raise bad_choice("already", already, ("send", "point", "drop"))
        if already != "send" and register is None:
            raise ValueError(f"already={already!r} needs the numbers of the conversation: register=Register()")
        texts = tuple(shown) if isinstance(shown, Iterable) else (shown,)
        if isinstance(shown, str) or not all(isinstance(text, str) for text in texts):
            raise TypeError(f"shown must be a list of texts, not {shown!r:.80}")
        self.budget = as_budget(1 if budget == 0 and type(budget) is int else budget)
        self.register = register
        self.already = already
        self.shown = texts
        self.each = each
        self.strict = strict
        self.draft = draft
        """For what is only tried out or written as it came: nothing is recorded, nor asked of a window around."""
        self._left = None if self.budget is None else 0 if budget == 0 else _tokens(self.budget)

    @property
    def left(self) -> int | None:
        """The tokens that are left; None if it has no budget."""
        return None if self._left is None else max(0, self._left)

    def __enter__(self) -> "window":
        _open.enter(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _open.leave(self)

    async def __aenter__(self) -> "window":
        return self.__enter__()

    async def __aexit__(self, *exception: object) -> None:
        self.__exit__(*exception)


_open: Opened[window] = Opened("edgeorder_windows")
_taking = threading.Lock()


class Share(NamedTuple):
    """What one placement may have of the windows that it stands in.

    Args:
        windows: From the outermost in.
        left: The tokens that all of them have left; None if none has a budget.
        budget: Of the innermost that has one.
        counter: Of the innermost that has one.
        strict: Whether an empty placement raises.
        draft: Whether nobody hears of it.
    """

    windows: tuple[window, ...]
    left: int | None
    budget: Budget | None
    counter: TokenCounter | MessageCounter | str | None
    strict: bool
    draft: bool

    def call(self, call: Call) -> Call:
        """Return the call with what the windows know: the tokens left, the numbers, what the model sees already."""
        view, budget = call.view, call.plan.budget
        numbering = next((each for each in reversed(self.windows) if each.register is not None), None)
        if numbering is not None and numbering.register is not None:
            view = numbered = Numbered(view, numbering.register)
            if numbering.already != "send":
                view.above = _standing(call, numbered, numbering)
        if self.budget is not None:
            own = self.budget if budget is None else budget
            counter = own.counter if self.counter is None else self.counter
            budget = Budget(own.tokens, counter, own.overflow, () if budget is None else own.reserve)
        drops = numbering is not None and numbering.already == "drop"
        return call._replace(view=view, plan=call.plan._replace(budget=budget), left=self.left, drops=drops)

    def taken(self, call: Call, settled: Settled) -> bool:
        """Take what a placement came to; False if others have taken it meanwhile, so that it must be settled anew.

        Raises:
            BudgetError: If nothing was left, in a strict window.
        """
        message = settled.emptied() if self.strict else None
        if message is not None and any(reason == "budget" for _, _, reason, *_ in settled.cuts):
            raise BudgetError(f"the window is full: {message}")
        view = call.view
        sources = view.shown(settled.indices, settled.first) if isinstance(view, Numbered) else {}
        tokens = settled.weighed.tokens if settled.weighed and settled.indices else 0
        if not self.take(tokens, sources, view.free if isinstance(view, Numbered) else 0):
            return False
        if isinstance(view, Numbered):
            view.keep(sources)
        return True

    def take(self, tokens: int, sources: Mapping[str, Source] = MappingProxyType({}), free: int = 0) -> bool:
        """Take tokens, and put chunks into the register; False, and nothing is done, if that is not possible any more.

        Args:
            tokens: What a text needs.
            sources: The chunks that it shows, by key.
            free: The first free number when theirs were chosen.
        """
        with _taking:
            shares = [each for each in self.windows if each._left is not None]
            if any(each._left < tokens for each in shares if each._left is not None):
                return False
            if sources:
                register = next(each.register for each in reversed(self.windows) if each.register is not None)
                if not register.add(sources, free):
                    return False
            for each in shares:
                if not each.each and each._left is not None:
                    each._left -= tokens
        return True


FULL = "No document fits the token budget."
"""What an agent reads where a window is full: some providers refuse an empty message."""


def line_of(placement: Placement) -> str:
    """Return what an agent reads in place of a block that is empty."""
    reasons = {drop.reason for drop in placement.dropped}
    if "budget" in reasons:
        return FULL
    if reasons == {"already"}:
        return "All documents that were found stand above."
    return "No document that was found is good enough." if reasons else "No document was found."


def said(placement: Placement, *, draws: bool = True) -> str:
    """Return what an agent reads of a placement: its text, else a line, which draws from the windows around too.

    A line is said even where less is left than it needs: then it takes all that is left.

    Args:
        placement: The placement.
        draws: Whether a line draws; not that of a draft.
    """
    if placement.indices:
        return placement.text
    line, weighed = line_of(placement), placement.settled.weighed
    if draws and weighed is not None:
        tokens = weighed.counter(line)
        while (shared := share()) is not None and not shared.take(min(tokens, shared.left or 0)):
            pass  # others have taken it meanwhile
    return line


def registered() -> Register | None:
    """Return the register of the windows around: that of the innermost that has one."""
    return next((each.register for each in reversed(_open.all()) if each.register is not None), None)


def share() -> Share | None:
    """Return what a placement that starts now may have; None outside of any window."""
    windows = _open.all()
    if not windows:
        return None
    budgets = [each.budget for each in windows if each.budget is not None]
    counters = [budget.counter for budget in budgets if budget.counter is not None]
    if windows[-1].draft:
        windows = windows[-1:]
    left = [each.left for each in windows if each.left is not None]
    return Share(
        windows,
        min(left, default=None),
        budgets[-1] if left else None,
        counters[-1] if counters else None,
        any(each.strict for each in windows),
        windows[-1].draft,
    )


def unheard() -> window:
    """Return a window to write in what goes its way without us, as in shadow mode: with the numbers around, no more."""
    return window(register=registered(), draft=True)


def drafting() -> bool:
    """Say whether what is placed now is only tried out."""
    windows = _open.all()
    return bool(windows) and windows[-1].draft


def _tokens(budget: Budget) -> int:
    if budget.reserve == 0:
        return budget.tokens
    from edgeorder.tokens import checked_counter

    return budget.left(checked_counter(budget.counter))


def _standing(call: Call, view: Numbered, numbering: window) -> frozenset[int]:
    """Return the input indices of the chunks that one of the shown texts holds word for word, under their number."""
    layout = call.plan.layout
    if layout.style == "plain":
        raise ValueError(f"already={numbering.already!r} needs numbers to point at: layout='numbered' or 'xml'")
    numbers = ((index, view.number(index)) for index in range(len(view)))
    parts = {index: layout.part(view, index, None, number) for index, number in numbers if number is not None}
    return frozenset(index for index, part in parts.items() if any(part in text for text in numbering.shown))
