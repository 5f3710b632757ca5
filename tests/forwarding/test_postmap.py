"""The maps, asked by Postfix's own program. `script/system` unpacks Debian's package."""

import asyncio
import os
from pathlib import Path

import pytest

from tests.cast import Person
from tests.forwarding.postfix import MailServer
from tests.plans.make import alias, apply

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif("BUILDERS_MAIL_ROOT" not in os.environ, reason="script/system unpacks the package"),
]


async def postmap(folder: Path, key: str, table: str) -> tuple[int | None, str, str]:
    """Return the status and the output of `postmap -q`."""
    root = Path(os.environ["BUILDERS_MAIL_ROOT"])
    # Any user and group that exist: postmap does not become them.
    (folder / "main.cf").write_text(
        "compatibility_level = 3.6\nmail_owner = daemon\nsetgid_group = mail\nqueue_directory = /\n"
    )
    process = await asyncio.create_subprocess_exec(
        *(root / "usr/sbin/postmap", "-c", folder, "-q", key, table),
        env={"LD_LIBRARY_PATH": f"{root}/usr/lib/postfix:{root}/usr/lib"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await process.communicate()
    return process.returncode, output.decode().strip(), errors.decode().strip()


async def test_postmap_gets_the_answers_of_the_service(
    alice: Person, shared: str, lookups: MailServer, tmp_path: Path
) -> None:
    await apply(alice, alias(f"ada@{shared}", alice.account.email))
    place = f"socketmap:unix:{lookups.path}"
    found = [
        await postmap(tmp_path, key, f"{place}:{table}")
        for table, key in (
            ("alias", f"ada@{shared}"),
            ("recipient", f"Ada+tag@{shared}"),
            ("recipient", f"nobody@{shared}"),
            ("domain", shared),
            ("alias", f"nobody@{shared}"),
        )
    ]
    assert found == [
        (0, alice.account.email, ""),
        (0, "DUNNO", ""),
        (0, "550 5.1.1 This address does not receive mail.", ""),
        (0, shared, ""),
        (1, "", ""),
    ]
    status, _, said = await postmap(tmp_path, "ada", f"{place}:none")
    assert (status, "temporary error" in said) == (1, True)
