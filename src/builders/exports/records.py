"""Records of exports, and their bounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from builders.kit.limits import maximums
from builders.kit.values.docs import doc
from builders.kit.values.resources import HIDDEN, resource

LIFETIME = timedelta(hours=24)
COLLECTIONS = 2  # of a complete export
TOO_LARGE = "export_too_large"
MAX_BYTES = maximums.declare(
    "export_bytes",
    1_000_000_000,
    of="export",
    counts="Bytes of the content of an export of an account.",
    code=TOO_LARGE,
)
# Stored mail, as the largest part, has at most 1 GB, which is 1.4 GB as text.
MAX_COMPLETE_BYTES = maximums.declare(
    "complete_export_bytes",
    5_000_000_000,
    of="export",
    counts="Bytes of the content of the complete export of an account.",
    code=TOO_LARGE,
)


class ExportState(StrEnum):
    """How far an export is."""

    ASKED = "asked"  # too few deciders have confirmed it
    RUNNING = "running"
    READY = "ready"
    FAILED = "failed"  # `code` says why


@resource("AccountExportReply", computed={"expires_at": "Until when it can be collected."})
@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """An export of what credentials read."""

    account_id: Annotated[UUID, HIDDEN]
    id: Annotated[UUID, doc("Identifier.")]
    credential_id: Annotated[UUID, HIDDEN]  # that requested it and collects it
    state: Annotated[ExportState, doc("How far it is.")]
    code: Annotated[
        str | None,
        doc("Why it failed: `export_too_large`, or `credentials_invalid` if the credentials ended; else null."),
    ]
    parts: Annotated[Sequence[str], doc("The lists and tables that it holds until now.")]
    left_out: Annotated[
        Mapping[str, str],
        doc(
            "What it lacks, each with the reason: `never` in an export, `computed` from others, `single` if read "
            "one by one, `hash`, `credential`, or the code of a refusal."
        ),
    ]
    part: Annotated[str, HIDDEN]  # the last one that was read
    position: Annotated[str | None, HIDDEN]  # the cursor of its next page; None: no more of it
    step: Annotated[int, HIDDEN]  # counts what the job did
    size: Annotated[int, doc("Bytes of the content that are written.")]
    created_at: Annotated[datetime, doc("When it was requested.")]
    is_complete: Annotated[bool, HIDDEN] = False
    confirmed_by: Annotated[Sequence[UUID], HIDDEN] = ()

    @property
    def expires_at(self) -> datetime:
        """Return until when it can be collected."""
        return self.created_at + LIFETIME
