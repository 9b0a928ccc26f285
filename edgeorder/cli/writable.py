"""Whether a file that a command is asked to write can be written, and is none that it reads."""

import os
from pathlib import Path

from edgeorder.files import beside, is_device


def check_output(path: Path, *read: str | Path | None) -> None:
    """Find out before the work what could not be written after it.

    Args:
        path: The file.
        read: Files that the command reads, so that none is overwritten.

    Raises:
        ValueError: If it is one of those.
        OSError: If it cannot be written.
    """
    _check_writable(path)
    if not is_device(path) and path.resolve() in {Path(other).resolve() for other in read if other is not None}:
        raise ValueError(f"{path} is read or written by another option too; give it a name of its own")


def _check_writable(path: Path) -> None:
    try:
        if not path.parent.is_dir():
            raise FileNotFoundError(f"no folder {path.parent} to write {path.name} in; make it first")
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder; name a file in it")
        if not is_device(path):
            part = beside(path.resolve())
            part.touch()
            part.unlink()
        elif not os.access(path, os.W_OK):
            raise PermissionError(f"{path} may not be written to; name another file")
    except OSError as error:
        if error.strerror is None:  # one of the above
            raise
        raise OSError(f"{path} cannot be written ({error.strerror}); name another file") from error
