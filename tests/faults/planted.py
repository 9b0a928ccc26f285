"""A key that must not be seen again, and everything that a traceback might show of it."""

import traceback

KEY = "sk-planted/9d1f0c77"


def whole_traceback(error: BaseException) -> list[str]:
    """Return a traceback with its locals, but for those of tests, and those of all that led to it."""
    told = []
    while error:
        told += [repr(error), str(error)]
        frames = traceback.StackSummary.extract(traceback.walk_tb(error.__traceback__), capture_locals=True)
        told += [str(frame.locals) for frame in frames if "/tests/" not in frame.filename]
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    return told
