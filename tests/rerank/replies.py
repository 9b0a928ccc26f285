"""Replies of a model that ranks, and a model that gives them."""

import json
import re
from collections.abc import Sequence
from typing import Any

WHY = "states the limit of {} euros for a night in a listed city"


def row(label: str, *scores: Any, why: str | None = None, **more: Any) -> dict[str, Any]:
    """Return a record; one score stands for all three."""
    relevance, specificity, support = scores * 3 if len(scores) == 1 else scores
    return {
        "passage_id": label,
        "relevance_score": relevance,
        "specificity_score": specificity,
        "support_strength_score": support,
        "rationale": WHY.format(label) if why is None else why,
        **more,
    }


def reply(*rows: Any, unranked: Sequence[str] = (), notes: str = "", **more: Any) -> str:
    """Return a reply."""
    return json.dumps(
        {"ranked_passages": list(rows), "unranked_passages": list(unranked), "ranking_notes": notes, **more}
    )


def shown(prompt: str) -> dict[str, str]:
    """Return the passages of a prompt by label, in their order."""
    return dict(re.findall(r'<passage-[0-9a-f]+ id="(\w+)">\n(.*?)\n</passage-', prompt, re.DOTALL))


class Model:
    """A model that gives one reply after the other, the last one for ever; an exception is raised.

    Attributes:
        prompts: What it was asked.
    """

    def __init__(self, *replies: Any) -> None:
        self.replies = list(replies)
        self.prompts: list[str] = []

    def __call__(self, prompt: str) -> Any:
        self.prompts.append(prompt)
        said = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(said, BaseException):
            raise said
        return said


class Reader:
    """A model that reads: its scores are those of a function of the passage's text, whatever its label and place."""

    def __init__(self, judge: Any) -> None:
        self.judge = judge
        self.prompts: list[str] = []

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        passages = shown(prompt)
        rows = [row(label, score) for label, text in passages.items() if (score := self.judge(text)) is not None]
        return reply(*rows, unranked=[label for label, text in passages.items() if self.judge(text) is None])
