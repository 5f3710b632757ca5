"""Metrics of a process for Prometheus, on a port of their own."""

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, start_http_server

from builders.kit.process import log

_log = log.get_logger()


@contextmanager
def served(registry: CollectorRegistry, host: str, port: int | None) -> Iterator[bool]:
    """Serve the metrics while the context is open, if there is a port; return whether they are served.

    A port that is in use is logged: the process does its work without metrics.
    """
    if port is None:
        yield False
        return
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        _log.error("metrics_not_served", port=port, error=error.strerror)
        yield False
        return
    try:
        yield True
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
