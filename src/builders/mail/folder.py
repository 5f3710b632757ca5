"""The dev outbox: without a mail server, messages become files in a folder of the owner alone."""

import asyncio
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from builders.mail.carriers import Outcome, Parcel
from builders.mail.records import Status


class Folder:
    """A folder of `.eml` files whose names sort by time."""

    def __init__(self, data_dir: Path) -> None:
        self.path = data_dir / "outbox"

    async def carry(self, parcel: Parcel) -> Outcome:
        """Writes the message; again over its own file, when an attempt is repeated."""
        await asyncio.to_thread(self._write, parcel)
        return Outcome(status=Status.SENT)

    def list_files(self) -> Sequence[Path]:
        """The messages, oldest first."""
        return sorted(self.path.glob("*.eml"))

    def _write(self, parcel: Parcel) -> None:
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        # The id sorts by time too, within the second.
        name = f"{parcel.created_at:%Y%m%dT%H%M%SZ}-{parcel.id.hex}-{parcel.letter}.eml"
        descriptor, draft = tempfile.mkstemp(dir=self.path, prefix=".")  # mkstemp makes it 0600
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(parcel.content)
            Path(draft).replace(self.path / name)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
