"""Files that are written whole or not at all."""

import os
import secrets
import shutil
from pathlib import Path


def write_text(path: str | Path, text: str) -> None:
    """Write a text file in UTF-8: a kill, a full disk or a bad character leaves what was there before.

    What exists and is no regular file, such as a pipe or a device, is written to as it stands. A link stays one.

    Raises:
        FileNotFoundError: If the folder does not exist.
        OSError: If the file cannot be written.
    """
    target = Path(path).resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(f"no folder {target.parent} to write {target.name} into; make it first")
    if target.exists() and not target.is_file():
        target.write_text(text, encoding="utf-8")
        return
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with part.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, part)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
