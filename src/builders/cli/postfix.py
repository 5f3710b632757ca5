"""`builders postfix`."""

import shutil
import subprocess
from pathlib import Path

import click

from builders.cli.session import fail, failing, note, read_settings
from builders.forwarding import mail_server
from builders.kit.process.hosts import read_host


@click.group()
def postfix() -> None:
    """Configure the mail server that forwards the mail to names."""


@postfix.command("config")
@click.option("--host", help="Full name of this machine; by default the first of BUILDERS_MAIL_HOSTS.")
@click.option(
    "--tls-chain",
    type=click.Path(path_type=Path),
    help="File with the private key and the certificates of the host (PEM). Unset: no STARTTLS.",
)
@click.option(
    "--root",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("/"),
    show_default=True,
    help="Folder to write the files below.",
)
def config_command(host: str | None, tls_chain: Path | None, root: Path) -> None:
    """Write the files of Postfix, postsrsd and rspamd below /etc, from the settings.

    The command replaces these files. At their places below / they are checked by `postfix check`.
    """
    settings = read_settings()
    name = host or mail_server.find_host(settings)
    if name is None:
        fail("The name of the mail server is missing: set BUILDERS_MAIL_HOSTS, or use --host.")
    chain = None if tls_chain is None else str(tls_chain.absolute())
    with failing(mail_server.NotConfigured, ValueError):
        built = mail_server.build(settings, mail_server.MailHost(name=read_host(name), tls_chain=chain))
    for place, text in built.items():
        path = root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")  # not private: each daemon reads it as a user of its own
        click.echo(path)
    if root == Path("/") and (program := shutil.which("postfix")):
        _check(program)
    note("Reload the daemons: systemctl restart postsrsd rspamd postfix")


def _check(program: str) -> None:
    """Fail if Postfix does not accept the files."""
    done = subprocess.run([program, "check"], capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 # the program of the machine
    if done.returncode or done.stderr:
        fail(f"`postfix check` reports: {done.stderr.strip() or done.returncode}")
