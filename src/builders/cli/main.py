"""The command `builders`."""

import click

from builders.cli.accounts import accounts
from builders.cli.aliases import aliases
from builders.cli.catalog import catalog
from builders.cli.deliveries import deliveries
from builders.cli.domains import domains
from builders.cli.funnel import funnel
from builders.cli.invoices import invoices
from builders.cli.keys import keys
from builders.cli.leads import leads
from builders.cli.login_as import login_as
from builders.cli.mail import mail
from builders.cli.operate import demo, doctor_command, migrate_command
from builders.cli.secrets import secrets
from builders.cli.serve import http_command, serve, worker_command
from builders.cli.token import token
from builders.kit.documents import REVISION


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(REVISION, prog_name="builders")
def main() -> None:
    """Run and operate the Builders Automation API. Settings are environment variables BUILDERS_*."""


for command in (
    *(serve, http_command, worker_command),
    *(migrate_command, doctor_command, demo),
    *(
        accounts,
        keys,
        token,
        login_as,
        catalog,
        aliases,
        domains,
        funnel,
        mail,
        deliveries,
        invoices,
        leads,
        secrets,
    ),
):
    main.add_command(command)
