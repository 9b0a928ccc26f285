"""The options that several commands share, and what is read from their texts."""

from collections.abc import Collection
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

from typer import Option

from edgeorder.errors import bad_choice
from edgeorder.orders import ORDERS, Order
from edgeorder.profile import PositionProfile
from edgeorder.prompting import QuestionPlace
from edgeorder.reading import Reading
from edgeorder.systems import AS_IS


class StyleChoice(StrEnum):
    """The styles that a block can be asked for by name."""

    plain = "plain"
    numbered = "numbered"
    xml = "xml"


Model: TypeAlias = Annotated[
    str,
    Option(
        help="local (a small model that comes with the extra `local`), hf:PATH (a folder of transformers or a GGUF "
        "file; extra `hf`, `gguf` for a file), or a model's name."
    ),
]
BaseUrl: TypeAlias = Annotated[str | None, Option(help="An OpenAI-compatible endpoint; its key is in OPENAI_API_KEY.")]
Judge: TypeAlias = Annotated[
    str | None, Option(help="A model that says whether an answer is right; without, an alias must be in it.")
]
JudgeBaseUrl: TypeAlias = Annotated[str | None, Option(help="Where the judge is; without, where the model is.")]
Cases: TypeAlias = Annotated[str, Option(help="facts or kv (made up), or a JSONL file of cases, packed (.gz) too.")]
Questions: TypeAlias = Annotated[int, Option(min=1, max=1_000_000, help="Questions at most.")]
Chunks: TypeAlias = Annotated[str, Option(help="Chunks in the block; several lengths with commas.")]
Question: TypeAlias = Annotated[str, Option(help="Where the question stands: before, after or both.")]
Placers: TypeAlias = Annotated[
    list[str] | None,
    Option(
        "--placer",
        help="A whole placer, 'NAME: key=value, ...' with k, order, reading, budget, overflow, counter, top_n, "
        "min_score, dedupe, rank_by, layout or rerank; several if it is given again.",
    ),
]
Seed: TypeAlias = Annotated[int, Option(help="For cases that are made up, drawn ranks and shuffled orders.")]
Report: TypeAlias = Annotated[Path | None, Option(help="Write an HTML report; a figure if it ends in .svg or .png.")]
Json: TypeAlias = Annotated[Path | None, Option("--json", help="Write everything that was found as JSON.")]
Cache: TypeAlias = Annotated[
    Path | None, Option(help="Keep answers in this folder; a run that was stopped goes on there.")
]
Style: TypeAlias = Annotated[StyleChoice, Option(help="How the block is written.")]
Instruction: TypeAlias = Annotated[str | None, Option(help="What stands before the block.")]
Concurrency: TypeAlias = Annotated[int | None, Option(min=1, max=1000, help="Questions asked at a time.")]
MaxTokens: TypeAlias = Annotated[
    int | None, Option(min=1, max=1_000_000, help="Tokens of an answer at most; without, enough for the longest known.")
]
DryRun: TypeAlias = Annotated[
    bool, Option("--dry-run", help="Say how many calls and tokens it takes, and ask nothing.")
]


def numbers(option: str, text: str, least: int) -> tuple[int, ...]:
    """Return the numbers of an option, which stand with commas between.

    Raises:
        ValueError: If one is no whole number, below the least or there twice.
    """
    try:
        found = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"{option}={text!r:.60} must be whole numbers with commas between, such as 10,20") from None
    if min(found) < least or len(set(found)) < len(found):
        raise ValueError(f"{option}={text!r:.60} must be different numbers from {least} up")
    return found


def question_places(text: str) -> tuple[QuestionPlace, ...]:
    """Return the places of `--question`.

    Raises:
        ValueError: For an unknown one, or one that is there twice.
    """
    known: dict[str, QuestionPlace] = {"before": "before", "after": "after", "both": "both"}
    return tuple(known[name] for name in names("--question", text, known))


def readings(text: str) -> tuple[Reading, ...]:
    """Return the readings of `--reading`.

    Raises:
        ValueError: For an unknown one, or one that is there twice.
    """
    known: dict[str, Reading] = {"runs": "runs", "source": "source", "off": "off"}
    return tuple(known[name] for name in names("--reading", text, known))


def named_orders(text: str, profile: Path | None) -> list[str | Order]:
    """Return the orders of `--orders`; `measured` is the order of a profile, `as_is` is left to whoever places.

    Raises:
        ValueError: For an unknown name, one that is there twice, `measured` without a profile, or a profile without it.
    """
    found = names("--orders", text, (*ORDERS, "shuffled", "measured", AS_IS))
    if ("measured" in found) != (profile is not None):
        raise ValueError(
            "the order 'measured' needs --profile FILE, which `edgeorder probe --out FILE` writes"
            if profile is None
            else "--profile is for the order 'measured'; name it in --orders"
        )
    return [PositionProfile.load(profile) if profile and name == "measured" else name for name in found]


def check_legible(option: str, text: str | None) -> None:
    """Raise ValueError if the bytes that were typed are no UTF-8: no model could be sent them."""
    try:
        (text or "").encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{option}={text!r:.60} is not UTF-8") from error


def names(option: str, text: str, choices: Collection[str]) -> list[str]:
    """Return the names of an option, which stand with commas between.

    Raises:
        ValueError: For an unknown one, or one that is there twice.
    """
    found = [name.strip() for name in text.split(",")]
    for name in found:
        if name not in choices:
            raise bad_choice(option, name, choices)
    if len(set(found)) < len(found):
        raise ValueError(f"{option}={text!r:.60} names one twice")
    return found
