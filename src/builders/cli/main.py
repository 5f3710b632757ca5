"""The command `builders`."""

import gc
import json
from collections.abc import Mapping
from importlib import import_module

import click

from builders.cli.session import CannotStart, CommandFailed
from builders.kit.process import supervision
from builders.kit.process.version import REVISION, VERSION

# The module of each command.
COMMANDS: Mapping[str, str] = {
    "serve": "builders.cli.serve:serve",
    "http": "builders.cli.http:http_command",
    "worker": "builders.cli.worker:worker_command",
    "lookup": "builders.cli.lookup:lookup_command",
    "try-servers": "builders.cli.remote_checks:try_servers_command",
    "filter": "builders.cli.mail_filter:filter_command",
    "mail-log": "builders.cli.mail_log:mail_log_command",
    "migrate": "builders.cli.operate:migrate_command",
    "distribute": "builders.cli.operate:distribute_command",
    "postgres": "builders.cli.postgres:postgres",
    "roles": "builders.cli.operate:roles_command",
    "status": "builders.cli.status:status_command",
    "reload": "builders.cli.status:reload_command",
    "doctor": "builders.cli.operate:doctor_command",
    "demo": "builders.cli.demo:demo",
    "audit": "builders.cli.audit:audit",
    "backup": "builders.cli.backup:backup",
    "accounts": "builders.cli.accounts:accounts",
    "keys": "builders.cli.keys:keys",
    "top": "builders.cli.top:top",
    "token": "builders.cli.keys:token",
    "login-as": "builders.cli.login_as:login_as",
    "catalog": "builders.cli.catalog:catalog",
    "aliases": "builders.cli.aliases:commands",
    "domains": "builders.cli.domains:domains",
    "funnel": "builders.cli.catalog:funnel",
    "mail": "builders.cli.mail:mail",
    "postfix": "builders.cli.postfix:postfix",
    "jobs": "builders.cli.jobs:jobs",
    "deliveries": "builders.cli.deliveries:deliveries",
    "invoices": "builders.cli.invoices:group",
    "leads": "builders.cli.leads:leads",
    "secrets": "builders.cli.operate:secrets",
}


WANTS_JSON = "builders.json"  # in the context of a run


class Commands(click.Group):
    """Loads a command on demand, because importing the whole service takes longer than most commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, sorted."""
        return sorted({*super().list_commands(ctx), *COMMANDS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name, or None."""
        # For an unknown name click suggests similar ones among the loaded commands, so all are loaded.
        for name in [cmd_name] if cmd_name in COMMANDS else COMMANDS:
            if name in self.commands:
                continue
            module, _, attribute = COMMANDS[name].partition(":")
            gc.disable()  # imported objects stay; collecting among them takes a fifth of the time
            try:
                self.add_command(getattr(import_module(module), attribute))
            except (OSError, MemoryError):  # of the machine, and not of the program
                raise
            except Exception as error:
                if not supervision.is_followed():
                    raise
                raise CannotStart(f"{module} cannot be imported: {supervision.describe(error)}.") from error
            finally:
                gc.freeze()
                gc.enable()
        return super().get_command(ctx, cmd_name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Record whether the command prints JSON, before its arguments are parsed."""
        ctx.meta[WANTS_JSON] = "--json" in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; with --json a failure is JSON on stderr, with the same status.

        A child of `serve` tells its parent why it fails, which decides what the log says.
        """
        supervision.follow()
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            if supervision.is_followed():
                supervision.report_end(error.format_message(), is_hopeless=isinstance(error, CannotStart))
                ctx.exit(error.exit_code)
            if not ctx.meta[WANTS_JSON]:
                raise
            described = {"code": "command_failed", "detail": error.format_message(), "next_action": None}
            if isinstance(error, CommandFailed):
                described = {"code": error.code, "detail": error.detail, "next_action": error.next_action}
            elif isinstance(error, click.UsageError):
                described["code"] = "usage"
            click.echo(json.dumps({"error": described}), err=True)
            ctx.exit(error.exit_code)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="builders", message=f"%(prog)s %(version)s, specification {REVISION}")
def main() -> None:
    """Run and operate the Builders Automation API. Settings are environment variables BUILDERS_*."""
