"""Files that are written whole or not at all."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a file to write to, which takes the place of `path` in one step when all is written.

    A kill, a full disk or a bad character leaves what was there before. A link stays one: what it leads to is replaced.
    A device or a pipe is written to as it is.

    Raises:
        FileNotFoundError: If the folder does not exist.
        OSError: If the file cannot be written.
    """
    if is_device(path):
        yield path
        return
    target = path.resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(f"no folder {target.parent} to write {target.name} into; make it first")
    part = beside(target)
    try:
        yield part
        with part.open("rb+") as written:
            os.fsync(written.fileno())
        if target.exists():
            shutil.copymode(target, part)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file in UTF-8, whole or not at all, see `replacing`."""
    with replacing(Path(path)) as part:
        part.write_text(text, encoding="utf-8")


def is_device(path: Path) -> bool:
    """Say whether a path leads to something that cannot be replaced, such as /dev/stdout, wherever that leads."""
    special = str(path).startswith(("/dev/fd/", "/dev/std", "/proc/"))
    return special or (path.exists() and not (path.is_file() or path.is_dir()))


def beside(target: Path) -> Path:
    """Return a name for a part of a file that nobody else takes; it keeps the suffix, which tells writers the kind."""
    return target.with_name(f".{secrets.token_hex(8)}{target.suffix}")
