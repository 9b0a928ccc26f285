"""Dates as they stand in metadata."""

from datetime import UTC, date, datetime
from typing import Any


def as_day(value: Any, *, end: bool = False) -> float | None:
    """Return the day of a date, an ISO text or a year, as a number; None for what is no date.

    Args:
        value: The date.
        end: Whether a year or a month stands for its last day instead of its first.

    >>> as_day("2024") == as_day(date(2024, 1, 1)), as_day("2024-02", end=True) == as_day("2024-02-29")
    (True, True)
    """
    if isinstance(value, datetime):
        at = value.astimezone(UTC) if value.tzinfo else value
        return at.toordinal() + (at.hour * 3600 + at.minute * 60 + at.second) / 86400
    if isinstance(value, date):
        return float(value.toordinal())
    text = str(value).strip() if isinstance(value, int | str) and not isinstance(value, bool) else ""
    parts = text.split("-")
    try:
        if len(parts) <= 2 and len(parts[0]) == 4 and all(part.isdecimal() for part in parts):
            year, month = int(parts[0]), int(parts[1]) if len(parts) == 2 else 12 if end else 1
            after = date(year + month // 12, month % 12 + 1, 1)
            return float(after.toordinal() - 1 if end else date(year, month, 1).toordinal())
        return as_day(datetime.fromisoformat(text)) if text else None
    except (ValueError, OverflowError):
        return None
