"""Files that are whole or not there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomically(path: Path, content: bytes) -> None:
    """A reader, or a process killed at any moment, sees the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, 0o666 & ~_umask())  # mkstemp's files are their owner's alone
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, path)
    except BaseException as reason:
        os.unlink(temporary)
        if isinstance(reason, OSError) and reason.errno is not None:
            reason.filename = str(path)  # what was to be written, not the file that is gone again
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
