"""Files that commands write."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from builders.cli.session import fail


@contextmanager
def written(output: Path | None) -> Iterator[TextIO]:
    """Where to write, the screen for None; a file appears whole or not at all, and is its owner's alone.

    Each writer has a draft of its own: of two at once the last one's file stands in the end, and it is whole.
    """
    if output is None:
        yield sys.stdout
        return
    draft: Path | None = None
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{output.name}.", suffix=".part", dir=output.parent)
        draft = Path(name)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # whole also when the machine stops in this moment
        draft.replace(output)
    except OSError as error:
        fail(f"{output} cannot be written: {error.strerror}.")
    finally:
        if draft is not None:
            draft.unlink(missing_ok=True)
