"""Files that appear complete: a reader never sees a part of one."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO


@contextmanager
def written(path: Path, *, replaces: bool = True) -> Iterator[TextIO]:
    """Open a file for text (UTF-8) that gets its name at the end of the block; its owner alone can read it.

    Concurrent writers have separate drafts: the last one replaces the file or, unless it `replaces`, the first one
    creates it. The folder must exist.
    """
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)  # makes it 0600
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # before it gets its name, in case the machine stops
        if replaces:
            draft.replace(path)
        else:
            with suppress(FileExistsError):  # another process has created it
                path.hardlink_to(draft)
    finally:
        draft.unlink(missing_ok=True)
