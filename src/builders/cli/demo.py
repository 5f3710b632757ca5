"""`builders demo` and `builders demo registrars`."""

import json
import shlex
import signal
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import date
from typing import Any

import click

from builders.cli.address import with_address
from builders.cli.commands import counted, json_option, run, show
from builders.cli.session import fail, note, read_settings
from builders.demo import service as demo_service
from builders.demo.registrars.fake import HOST, FakeServer
from builders.demo.registrars.fakes import FAKES, make_fakes
from builders.demo.service import DemoKey
from builders.identity.records import KeyKind, Preset
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from builders.kit.values import clock

_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_CONNECTS = (Preset.DOMAINER_FULL, KeyKind.TEST)


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def demo(ctx: click.Context, *, as_json: bool) -> None:
    """Load the demo catalog, accounts and portfolio, and print the keys of the accounts."""
    if ctx.invoked_subcommand is not None:
        return

    async def work(database: Database, settings: Settings) -> Sequence[DemoKey]:
        return await demo_service.set_up(database, data_dir=settings.data_dir)

    keys = run(work)
    lines = [f"  {each.preset:<15} {each.kind:<4} {each.key}" for each in keys]
    show(keys, as_json=as_json, text="\n".join(lines))


@demo.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8100,
    show_default=True,
    help="Port to listen on; 0 for a free one.",
)
@click.option("--provider", "providers", multiple=True, type=click.Choice(sorted(FAKES)), help="All by default.")
@json_option
def registrars(port: int, providers: Sequence[str], *, as_json: bool) -> None:
    """Run stand-ins of registrars that hold domains of the demo portfolio, and print how to connect them."""

    async def work(database: Database, _settings: Settings) -> date:
        return await demo_service.find_day(database) or clock.now().date()

    fakes = make_fakes(run(work), kinds={name: FAKES[name] for name in providers or FAKES})
    with _blocked(_STOPS), ExitStack() as stack:
        try:
            server = stack.enter_context(FakeServer(port=port))
        except OSError as error:
            fail(f"Cannot listen on {HOST}:{port}: {error.strerror}. Choose another port by --port.")
        rows = [
            {
                "provider": each.provider,
                "domains": len(each.account.domains),
                "orders": len(each.account.orders),
                "body": {"base_url": server.add(each), "credentials": each.credentials},
            }
            for each in fakes
        ]
        show(rows, as_json=as_json, text=_instructions(server.address, rows))
        note("Press Ctrl-C to stop them.")
        signal.sigwait(_STOPS)


@contextmanager
def _blocked(signals: Collection[signal.Signals]) -> Iterator[None]:
    """Hold signals back, also from threads that start inside, so that one thread can wait for them."""
    earlier = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, earlier)


def _instructions(address: str, rows: Sequence[Mapping[str, Any]]) -> str:
    settings = with_address(read_settings())
    keys = demo_service.read_keys(settings.data_dir)
    key = next((each.key for each in keys if (each.preset, each.kind) == _CONNECTS), "svc_test_...")
    lines = [
        f"The service may call them if it is started with BUILDERS_OUTBOUND_ALLOW={address}.",
        "Connect them with a test key:",
        "",
        f"  export API={settings.url}/v1 TEST={key}",
    ]
    for each in rows:
        orders = f", {counted(each['orders'], 'order')}" if each["orders"] else ""
        lines += [
            "",
            f"{each['provider']}: {counted(each['domains'], 'domain')}{orders}",
            f'  curl -X PUT $API/portfolio/registrars/{each["provider"]} -H "X-API-Key: $TEST" \\',
            f'    -H "Content-Type: application/json" -d {shlex.quote(json.dumps(each["body"]))}',
        ]
    return "\n".join(lines)
