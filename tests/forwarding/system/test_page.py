"""The page for operators, typed as it stands on a bare Debian: tests/forwarding/system/check."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import dkim  # type: ignore[import-untyped] # it has no types
import pytest

from tests.docs import walks
from tests.docs.walks import Step
from tests.forwarding.system.chain import HOST, HOST_IP, SINK_IP, Names, Sink
from tests.forwarding.system.conftest import SOCKET, run

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/how-to/run-a-mail-server.md"
STEP_S = 90.0
END = "===== the next lines ====="
# Of the installation, which the page leaves to another one.
BUILDERS = f"""
mkdir -p /srv/builders/bin
printf '#!/bin/sh\\nexec {sys.executable} -P -m builders "$@"\\n' >/srv/builders/bin/builders
chmod 755 /srv/builders/bin/builders
cp {Path(__file__).parent}/systemctl /usr/local/bin/systemctl
# Another user runs this Python too, which can be in the home of this one.
case {sys.base_prefix} in {Path.home()}/*) chmod 711 {Path.home()} ;; esac
"""
_KEYGEN = re.compile(r"\"([^\"]*)\"")
_RECORD = re.compile(r"^(\S+) IN (MX|TXT) (.*)$", re.MULTILINE)


class Terminal:
    """A shell in which a reader types the lines of a page."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        self._process, self._file = process, folder / "typed"

    async def type(self, step: Step) -> str:
        """Return what the lines printed; each of them succeeds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._file.write_text(step.lines)
        # From a file: a program that reads its input takes no further lines.
        self._process.stdin.write(f". {self._file} </dev/null; printf '\\n{END}\\n'\n".encode())
        printed: list[str] = []
        with suppress(TimeoutError):
            async with asyncio.timeout(STEP_S):
                while line := await self._process.stdout.readline():
                    if line.decode().rstrip() == END:
                        return "".join(printed)
                    printed.append(line.decode())
        raise AssertionError(f"{step.lines}\n{''.join(printed)}")


@pytest.fixture
async def terminal(tmp_path: Path) -> AsyncIterator[Terminal]:
    """Open a shell on the bare Debian with the service; end all programs that were started in it."""
    await run("sh", "-ec", BUILDERS)
    process = await asyncio.create_subprocess_exec(
        *("bash", "-e"),
        cwd=tmp_path,
        env={
            "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    yield Terminal(process, tmp_path)
    await run("systemctl", "stop", "postfix", "rspamd", "postsrsd", "builders")
    if process.returncode is None:
        process.kill()
    await process.wait()
    await run(
        "sh", "-c", f"while [ -e {SOCKET} ] || ss -ltn | grep -qE ':(10001|10002|11332) '; do sleep 0.1; done"
    )
    await run("rm", "-rf", SOCKET.parent, "/var/lib/rspamd/dkim")


def set_records(names: Names, printed: str) -> None:
    """Set the records that a command printed as lines of a zone file."""
    for name, kind, value in _RECORD.findall(printed):
        if kind == "MX":
            names.exchanges[name] = value
        else:
            names.texts[name] = "".join(_KEYGEN.findall(value))


async def test_the_page_leads_from_a_bare_debian_to_a_forwarded_message(terminal: Terminal, names: Names) -> None:
    install, configure, start, claim, publish, check, sending = walks.read(PAGE.read_text(encoding="utf-8"))
    for step in (install, configure):
        await terminal.type(step)
    names.texts[f"builders._domainkey.{HOST}."] = "".join(_KEYGEN.findall(await terminal.type(start)))
    await terminal.type(claim)
    set_records(names, await terminal.type(publish))
    names.texts[f"{HOST}."] = "v=spf1 a -all"
    assert await terminal.type(check)
    assert (SOCKET.stat().st_mode & 0o777, SOCKET.parent.stat().st_mode & 0o7777) == (0o660, 0o2750)
    sink = Sink()
    server = await asyncio.get_running_loop().create_server(sink.server, SINK_IP, 25)
    # The other machine.
    await terminal.type(Step(lines=sending.lines.replace("curl ", "curl --interface 192.0.2.10 "), answer=None))
    got = await sink.next()
    server.close()
    names.texts[f"{HOST}."] = f"v=spf1 ip4:{HOST_IP} -all"
    assert got.recipients == ["ada@example.net"]
    assert got.sender.endswith(f"=lists.example=reader@{HOST}")
    status, _, _ = dkim.arc_verify(got.content, dnsfunc=names.txt)
    assert status == dkim.CV_Pass
