"""Runs what is promised about environments, and says what does not hold: script/promises."""

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tests.promises import pages, servers, service
from tests.promises.environments import NEWEST, OLDEST, Environment, Workshop
from tests.promises.report import Report, Told, say
from tests.promises.service import Service
from tests.promises.stranger import Broken, Stranger, tail
from tests.promises.versions import DEBIAN, SERVERS, find_pythons, is_externally_managed, promised_pythons

AT_ONCE = 2  # a promise often waits for the network
CLIENTS = {OLDEST: "the oldest packages", NEWEST: "the newest packages"}
CALL = """
from builders_client import Builders

with Builders() as client:
    print(client.profile.get().email, len(list(client.projects.list_projects())))
"""


class Promises:
    """Runs the promises with environments in a folder."""

    def __init__(self, folder: Path, report: Report) -> None:
        self._folder, self._promise = folder, report.promise
        with self._promise("the wheel of the service is built"):
            self._shop = Workshop(folder)
        self._user = Stranger.at(folder / "home")
        self._inside = Path(shutil.copy(Path(__file__).with_name("inside.py"), folder))

    def run_python(self, version: str, pythons: Sequence[Path], resolutions: Sequence[str]) -> Environment | None:
        """Run the service and the clients on a Python, with the embedded server; return the environment."""
        where, name = f"Python {version}", f"python-{version}"
        with suppress(Told):
            with self._promise(f"{where}: requirements.txt and the wheel install"):
                python, user = self._shop.for_user(pythons, self._user)
                made = self._shop.install_service(name, python, user)
            self._explain(where, made)
            with self._serving(where, made, name) as found:
                with suppress(Told), self._promise(f"{where}: the guide is in the wheel"):
                    for page in ("/guide/docs/how-to/run.html", "/llms.txt"):
                        service.get(f"{found.address}{page}")
                for resolution in resolutions:
                    with suppress(Told), self._promise(f"{where}: `bld` and the client, {CLIENTS[resolution]}"):
                        client = f"{name}-{resolution}"
                        call(self._shop.install_client(client, python, user, resolution=resolution), found)
            return made
        return None

    def run_newest(self, version: str, made: Environment) -> None:
        """Run the service with the newest packages that it allows, as `pip install .` alone installs it."""
        where = f"Python {version}, newest packages"
        with suppress(Told):
            with self._promise(f"{where}: the wheel installs"):
                newest = self._shop.install_service("newest", made.program("python"), made.user, pinned=False)
            self._explain(where, newest)
            with self._serving(where, newest, "newest"):
                pass

    def run_server(self, major: int, made: Environment) -> None:
        """Run the service on a PostgreSQL server of another version."""
        where, name = f"PostgreSQL {major}", f"postgresql-{major}"
        with suppress(Told), ExitStack() as stack:
            with self._promise(f"{where}: it starts"):
                programs = servers.fetch(major, self._folder)
                address = stack.enter_context(servers.running(programs, f"{name}-server", self._user))
            with self._serving(where, made, name, database_url=address):
                pass

    def type_pages(self) -> None:
        """Install with Debian's own Python, as README.md and docs/how-to/run.md say, and run what is there."""
        where = f"the lines of the pages, {DEBIAN}"
        with suppress(Told):
            with self._promise(f"{where}: the service installs"):
                if not is_externally_managed(DEBIAN):
                    raise Broken("it is not Debian's")
                checkout, to = pages.check_out(self._user), self._user.folder("srv")
                pages.type_lines(self._user, checkout, pages.service_lines(str(to)))
            with (
                self._serving(where, Environment(folder=to, user=self._user), "pages") as found,
                self._promise(f"{where}: `bld` installs and answers"),
            ):
                pages.type_lines(reach(self._user, found), checkout, [*pages.client_lines(), "bld whoami"])

    def _explain(self, where: str, made: Environment) -> None:
        """Import each module and explain each command, without the checkout."""
        with self._promise(f"{where}: every module imports, every command answers --help"):
            made.user.run(made.program("python"), "-I", self._inside)
            made.user.run(made.program("builders"), "--version")

    @contextmanager
    def _serving(
        self, where: str, made: Environment, name: str, *, database_url: str | None = None
    ) -> Iterator[Service]:
        """Run `builders serve` with all its processes, and ask each."""
        stack = ExitStack()
        with self._promise(f"{where}: `builders serve --demo` starts"):
            found = stack.enter_context(service.running(made, name, database_url=database_url))
        try:
            for what, ask in service.list_asks(found).items():
                with suppress(Told), self._promise(f"{where}: {what}"):
                    _ask(ask, found.log)
            yield found
        finally:
            with self._promise(f"{where}: it ends by SIGTERM, and its log has no error"):
                stack.close()


def _ask(ask: Callable[[], object], log: Path) -> None:
    try:
        ask()
    except (Broken, OSError) as error:
        raise Broken(f"{error}\n{tail(log)}") from error


def reach(user: Stranger, found: Service) -> Stranger:
    """Return the user with what a client needs."""
    return user.with_variables(BUILDERS_API_URL=found.address, BUILDERS_API_KEY=found.live_key)


def call(client: Environment, found: Service) -> None:
    """Use `bld` and the Python client with a running service."""
    user, bld = reach(client.user, found), client.program("bld")
    for words in (["--help"], ["names", "claim", "--help"], ["whoami"]):
        user.run(bld, *words)
    if not json.loads(user.run(bld, "--map", "json"))["commands"]:
        raise Broken("bld --map json has no commands")
    address = f"{client.folder.name}@harbour.example"
    user.run(bld, "names", "claim", address, "--to", "ada@example.net", "--max-total", "24.00 USD", "--yes")
    if address not in user.run(bld, "names", "list", "--json"):
        raise Broken(f"bld names list lacks {address}")
    user.run(client.program("python"), "-I", "-c", CALL)


def choose(found: Mapping[str, Sequence[Path]], *, quick: bool) -> dict[str, Sequence[str]]:
    """Return the Pythons to run, the oldest first, with what the clients on each are installed with."""
    here = [version for version, pythons in found.items() if pythons]
    if quick and len(here) > 1:  # the oldest packages are those that a new Python is the likeliest to break
        return {here[0]: [NEWEST], here[-1]: [OLDEST]}
    return {version: [OLDEST, NEWEST] for version in here}


def run(promises: Promises, found: Mapping[str, Sequence[Path]], *, quick: bool) -> None:
    """Run the promises; those on one environment after it is made."""
    chosen = choose(found, quick=quick)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        made = [pool.submit(promises.run_python, each, found[each], chosen[each]) for each in chosen]
        newest = [each.result() for each in made][-1]
        if quick:
            return
        work = [pool.submit(promises.type_pages)]
        if newest is not None:
            work += [pool.submit(promises.run_server, major, newest) for major in SERVERS]
            work += [pool.submit(promises.run_newest, [*chosen][-1], newest)]
        for each in work:
            each.result()


def tell_missing(found: Mapping[str, Sequence[Path]], report: Report, *, quick: bool) -> None:
    """Say which Pythons are not here; without --quick each is needed."""
    for version in [version for version, pythons in found.items() if not pythons]:
        if quick:
            say(f"Python {version}: it is not here, and is not run")
        else:
            report.note_broken(f"Python {version}", "It is not here: neither on the PATH nor in pyenv.")


def main(words: Sequence[str]) -> int:
    """Run the promises; return the exit code."""
    parser = argparse.ArgumentParser(prog="script/promises", description="Run the promises about environments.")
    parser.add_argument("--quick", action="store_true", help="the oldest and the newest Python that are here")
    quick = parser.parse_args(words).quick
    report, begin = Report(), time.monotonic()
    found = {version: find_pythons(version) for version in promised_pythons()}
    tell_missing(found, report, quick=quick)
    folder = Path(tempfile.mkdtemp(prefix="builders-promises-"))
    folder.chmod(0o755)
    try:
        with suppress(Told):
            run(Promises(folder, report), found, quick=quick)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    say(f"{report.held} hold, broken: {', '.join(report.broken) or 'none'} ({time.monotonic() - begin:.0f} s)")
    return 1 if report.broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
