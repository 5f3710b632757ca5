"""The port on which `serve`, or a worker that runs alone, serves metrics."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from builders.cli import ports
from builders.cli.session import fail
from builders.forwarding.queue_metrics import QueueCollector
from builders.kit.process import metrics
from builders.kit.process.settings import Settings


@contextmanager
def served(settings: Settings, *, of_children: bool) -> Iterator[Mapping[str, str]]:
    """Serve metrics while the context is open, if a port is set; yield what children need in their environment.

    A port that cannot be used ends the command with a message.
    """
    host, port = settings.metrics_host, settings.metrics_port
    with ExitStack() as stack:
        environment: Mapping[str, str] = {}
        if port is not None:
            if of_children:
                environment = stack.enter_context(metrics.shared())
            collectors = (metrics.Machine(settings.data_dir), QueueCollector())
            folder = environment.get(metrics.FOLDER)
            try:
                ports.retry_in_use(
                    lambda: stack.enter_context(metrics.served(host, port, collectors, folder=folder))
                )
            except (OSError, UnicodeError) as error:
                reason = getattr(error, "strerror", None) or "this is no host"
                fail(
                    f"Cannot serve metrics on BUILDERS_METRICS_HOST, {host}, at BUILDERS_METRICS_PORT, {port}: "
                    f"{reason}. Choose another one, or end the program that has it."
                )
        yield environment
