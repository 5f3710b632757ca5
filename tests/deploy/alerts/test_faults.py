"""Each alert fires for its fault: a test makes it, and promtool evaluates the rules over the metrics then."""

import asyncio
import os
import subprocess
import sys
import time
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import psycopg
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from builders.app import Service, create_app, lifespan
from builders.demo.registrars.fake import FakeServer, Fault
from builders.forwarding.mail_log import MailLog
from builders.forwarding.queue_metrics import QueueCollector
from builders.forwarding.recipients import Recipients
from builders.forwarding.server import LookupServer
from builders.identity.records import Preset
from builders.kit.db import partitions
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import database_metrics, queue
from builders.kit.process import metrics, secret_keys, supervision
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.mail import jobs as mail_jobs, service as mail
from builders.tracking import jobs as tracking_jobs
from builders.webhooks import sender
from tests.cast import Client, Person
from tests.cli.archives import Archived, give_up
from tests.cli.embedded.servers import wait_until
from tests.cli.serving import Serving, data_folder, free_port, refusing_port
from tests.conftest import MakePerson
from tests.deploy.alerts.promtool import RULES, UP, Alert, Values, made, makes, values
from tests.kit.db.proxy import DatabaseProxy
from tests.kit.jobs.recorder import Recorder
from tests.kit.outbound.receivers import OK, calling, receiving, saying
from tests.kit.scratch import until
from tests.mail.conftest import with_server
from tests.mail.make import SIGN_IN
from tests.portfolio.registrars.make import connect
from tests.portfolio.registrars.sync import by_provider, fake_of, sync
from tests.tracking.conftest import BROWSER, SentMessage
from tests.webhooks.engine.harness import Harness, status

PROJECTS = "/v1/builders/projects"
FULL = """
import pathlib, sys
from prometheus_client import CollectorRegistry, generate_latest
from builders.kit.process.metrics import Machine
registry = CollectorRegistry()
registry.register(Machine(pathlib.Path(sys.argv[1])))
print(generate_latest(registry).decode(), "# after")
pathlib.Path(sys.argv[1], "full").write_bytes(bytes(3_900_000))
print(generate_latest(registry).decode())
"""
MOUNTED = 'mount -t tmpfs -o size=4m tmpfs "$1" && exec "$2" -c "$3" "$1"'


def test_each_alert_has_a_fault() -> None:
    assert made == {*RULES}


def served(port: int) -> Values:
    """Return the values of a served page, only `up` without one."""
    try:
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as response:
            return values(text_string_to_metric_families(response.read().decode()))
    except URLError:
        return {UP: 0.0}


def is_measured(port: int) -> bool:
    return any(each.startswith("builders_outbox_oldest_seconds") for each in served(port))


@makes("BuildersDown")
def test_a_service_that_was_killed(alert: Alert) -> None:
    port = free_port()
    with data_folder() as data:
        with Serving(data, BUILDERS_METRICS_PORT=str(port)) as running:
            running.wait()
            before = served(port)
        alert.check(before, served(port))


@makes("BuildersNoWorker")
def test_a_service_without_a_worker(alert: Alert) -> None:
    port = free_port()
    with data_folder() as data:
        with Serving(data, BUILDERS_METRICS_PORT=str(port)) as running:
            running.wait()
            wait_until(lambda: is_measured(port))
            before = served(port)
            assert running.stop() == 0
        with Serving(data, "--http-only", BUILDERS_METRICS_PORT=str(port)) as running:
            running.wait()
            assert running.status("/livez") == 200
            alert.check(before, served(port))


@makes("BuildersErrors")
async def test_requests_without_a_database(alert: Alert, conninfo: str, settings: Settings, alice: Person) -> None:
    async with AsyncExitStack() as stack:
        proxy = await stack.enter_async_context(DatabaseProxy(conninfo))
        behind = {"database_url": SecretStr(proxy.conninfo), "pool_timeout_s": 0.3, "pool_size": 4}
        app = create_app(settings.model_copy(update=behind))
        await stack.enter_async_context(lifespan(app.api))
        await app.api.state.database.pool.wait()
        client = await stack.enter_async_context(Client(app, alice.key))
        assert (await client.get(PROJECTS)).status_code == 200
        before = values()
        await proxy.shut()
        assert (await client.get(PROJECTS)).status_code == 503
        alert.check(before, values())


@makes("BuildersSlow")
async def test_requests_that_wait_for_a_lock(alert: Alert, conninfo: str, alice: Person) -> None:
    assert (await alice.get(PROJECTS)).status_code == 200
    before = values()
    async with await psycopg.AsyncConnection.connect(conninfo) as holder:
        await holder.execute("LOCK TABLE projects IN ACCESS EXCLUSIVE MODE")
        request = asyncio.create_task(alice.get(PROJECTS))
        assert not (await asyncio.wait([request], timeout=1.1))[0]
        await holder.rollback()
    assert (await request).status_code == 200
    alert.check(before, values())


@makes("BuildersLoopLag")
async def test_a_loop_that_is_blocked(alert: Alert) -> None:
    before = values()
    with supervision.beating("http"):
        await asyncio.sleep(supervision.BEAT_S - 0.1)
        time.sleep(0.6)  # noqa: ASYNC251 - the fault
        await asyncio.sleep(0.01)
    alert.check(before, values())


@makes("BuildersConnectionsShort")
async def test_connections_up_to_the_limit_of_the_database(
    alert: Alert, own_database: Database, own: Settings
) -> None:
    assert own.database_url is not None
    conninfo = own.database_url.get_secret_value()
    async with own_database.connection() as conn, AsyncExitStack() as stack:
        (name,) = await (await conn.execute("SELECT current_database()")).fetchone() or ("",)
        await conn.execute(f'ALTER DATABASE "{name}" CONNECTION LIMIT 40')
        stack.push_async_callback(conn.execute, f'ALTER DATABASE "{name}" CONNECTION LIMIT -1')
        await database_metrics.measure_database(own_database)
        before = values()
        for _ in range(38):
            connection = await stack.enter_async_context(await psycopg.AsyncConnection.connect(conninfo))
            stack.push_async_callback(connection.close)
        await database_metrics.measure_database(own_database)
        alert.check(before, values())


@makes("BuildersTransactionOld")
async def test_a_transaction_that_stays_open(alert: Alert, own_database: Database, own: Settings) -> None:
    assert own.database_url is not None
    await database_metrics.measure_database(own_database)
    before = values()
    async with await psycopg.AsyncConnection.connect(own.database_url.get_secret_value()) as conn:
        await conn.execute("SELECT")
        clock.move(timedelta(minutes=11))
        await database_metrics.measure_database(own_database)
    alert.check(before, values())


@makes("BuildersEventsLate")
async def test_an_event_without_a_dispatcher(alert: Alert, harness: Harness) -> None:
    account = await harness.account()
    await sender.measure(harness.database)
    before = values()
    await harness.publish(account.id)
    clock.move(timedelta(seconds=90))
    await sender.measure(harness.database)
    alert.check(before, values())


@makes("BuildersJobsLate")
async def test_a_job_without_a_worker(
    alert: Alert, own_database: Database, jobs_conn: Conn, recorder: Recorder
) -> None:
    await database_metrics.measure_queue(own_database)
    before = values()
    await queue.defer(jobs_conn, recorder.task, number=1)
    clock.move(timedelta(minutes=6))
    await database_metrics.measure_queue(own_database)
    alert.check(before, values())


@makes("BuildersJobsFailed")
async def test_a_job_that_fails_each_time(
    alert: Alert, own_database: Database, own: Settings, jobs_conn: Conn, recorder: Recorder
) -> None:
    await database_metrics.measure_queue(own_database)
    before = values()
    recorder.fails = True
    await queue.defer(jobs_conn, recorder.task, number=1)
    for _ in range(queue.MAX_STARTS + 1):
        await queue.run_pending(own_database, own)
        await jobs_conn.execute(
            "UPDATE procrastinate_jobs SET scheduled_at = NULL"
        )  # the queue reads its own clock
    await database_metrics.measure_queue(own_database)
    alert.check(before, values())


@makes("BuildersMailStuck")
async def test_mail_whose_server_is_away(alert: Alert, harness: Harness, own: Settings) -> None:
    account = await harness.account()
    await mail_jobs.measure_waiting(harness.database)
    before = values()
    async with harness.database.transaction() as conn:
        keyring = secret_keys.keyring_of(own)
        await mail.send(conn, keyring=keyring, account_id=account.id, to="ada@mail.example", template=SIGN_IN)
    with refusing_port() as port:
        await queue.run_pending(harness.database, with_server(own, f"smtp://127.0.0.1:{port}"))
    clock.move(timedelta(minutes=16))
    await mail_jobs.measure_waiting(harness.database)
    alert.check(before, values())


@makes("BuildersWebhooksLate")
async def test_deliveries_that_no_worker_sends(alert: Alert, harness: Harness) -> None:
    account = await harness.account()
    async with receiving(saying(status(500))) as failing, calling(failing) as harness.outbound:
        await harness.destination(account.id, failing.url)
        await harness.happen(account.id)
        await harness.rounds()
    clock.move(timedelta(hours=1))
    await sender.measure(harness.database)
    before = values()
    async with receiving(saying(OK)) as receiver:
        await harness.destination(account.id, receiver.url)
    await harness.happen(account.id)
    clock.move(timedelta(minutes=16))
    await sender.measure(harness.database)
    alert.check(before, values())


@makes("BuildersRegistrarAway")
async def test_a_registrar_that_is_away(
    alert: Alert, people: MakePerson, fakes: FakeServer, worker: Settings
) -> None:
    person = await people("alice", Preset.DOMAINER_FULL)
    fake = fake_of("godaddy", "godaddy.com")
    await connect(person, fake, fakes)
    assert by_provider(await sync(person, worker))["godaddy"]["state"] == "completed"
    before = values()
    fake.account.faults.extend([Fault.SERVER_ERROR] * 3)
    clock.move(timedelta(hours=1))
    assert by_provider(await sync(person, worker))["godaddy"]["state"] == "failed"
    alert.check(before, values())


@makes("BuildersPartitionsMissing")
async def test_months_for_which_nobody_makes_partitions(alert: Alert, own_database: Database) -> None:
    async with own_database.transaction() as conn:
        await partitions.rotate_partitions(conn)
    await queue.measure_partitions(own_database)
    before = values()
    clock.move(timedelta(days=100))
    await queue.measure_partitions(own_database)
    alert.check(before, values())


@makes("BuildersDiskFull")
def test_a_disk_that_becomes_full(alert: Alert, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    rights = [] if os.geteuid() == 0 else ["--map-root-user"]
    words = ["unshare", "--mount", *rights, "sh", "-c", MOUNTED, "sh", str(disk), sys.executable, FULL]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if "mount" in done.stderr and not done.stdout:
        pytest.skip("a disk of the test cannot be mounted here")
    before, after = (values(text_string_to_metric_families(each)) for each in done.stdout.split("# after"))
    alert.check(before, after)


@makes("BuildersLookupsFail")
async def test_look_ups_without_the_database(alert: Alert, settings: Settings) -> None:
    before = values()
    with refusing_port() as port:
        away = Database(f"host=127.0.0.1 port={port}", settings.model_copy(update={"pool_timeout_s": 0.05}))
        await away.open()
        asked = LookupServer(Recipients(away, operator=None))
        await asyncio.gather(*(asked.answer(b"recipient ada@harbour.example") for _ in range(10)))
        await away.close()
    alert.check(before, values())


@makes("BuildersMailQueueOld")
def test_a_message_that_stays_in_the_queue(alert: Alert, tmp_path: Path) -> None:
    program = tmp_path / "postqueue"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    registry = CollectorRegistry()
    registry.register(QueueCollector(str(tmp_path)))
    before = values(registry.collect())
    arrived = int(clock.now().timestamp()) - 5 * 3600
    line = f'{{"queue_name": "deferred", "arrival_time": {arrived}}}'
    program.write_text(f"#!/bin/sh\necho '{line}'\n")
    alert.check(before, values(registry.collect()))


@makes("BuildersMailLogLost")
async def test_a_mail_log_that_was_removed(
    alert: Alert, own_database: Database, own: Settings, tmp_path: Path
) -> None:
    path = tmp_path / "mail.log"
    reader = MailLog(own_database, secret_keys.keyring_of(own), host="mx1", path=path)
    for number in range(2):
        before = values()
        path.write_text(f"{clock.now().isoformat()} mx1 postfix/qmgr[7]: 4Y2b{number}: removed\n")
        while await reader.read():
            pass
        path.unlink()
    alert.check(before, values(), repeated=False)


@makes("BuildersOpensLost")
@pytest.mark.usefixtures("no_mail_jobs")
async def test_opens_without_the_database(
    alert: Alert, conninfo: str, settings: Settings, database: Database, sent: SentMessage
) -> None:
    await tracking_jobs.measure_losses(database)
    before = values()
    async with AsyncExitStack() as stack:
        proxy = await stack.enter_async_context(DatabaseProxy(conninfo))
        app: Service = create_app(
            settings.model_copy(
                update={"database_url": SecretStr(proxy.conninfo), "pool_timeout_s": 0.3, "pool_size": 4}
            )
        )
        await stack.enter_async_context(lifespan(app.api))
        await app.api.state.database.pool.wait()
        recipient = await stack.enter_async_context(Client(app))
        await proxy.shut()
        await recipient.get(sent.pixel, headers=BROWSER)
        await proxy.open()

        async def is_counted() -> bool:
            await recipient.get(sent.pixel, headers=BROWSER)
            await tracking_jobs.measure_losses(database)
            return any(
                "builders_tracking_lost" in each and value > before.get(each, 0)
                for each, value in values().items()
            )

        await until(is_counted)
    alert.check(before, values())


@makes("BuildersBackupOld")
def test_a_day_without_a_backup(alert: Alert, archiving: Archived) -> None:
    archiving.turn()
    before = values()
    archiving.take_away()
    clock.move(timedelta(hours=27))
    archiving.turn()
    alert.check(before, values())


@makes("BuildersBackupLogLate")
def test_a_folder_of_backups_that_is_away(alert: Alert, archiving: Archived) -> None:
    archiving.turn()
    before = values()
    archiving.take_away()
    archiving.fill(segments=1)
    clock.move(timedelta(minutes=6))
    archiving.turn()
    alert.check(before, values())


@makes("BuildersBackupLogLate")
def test_an_archiver_that_has_ended(alert: Alert, archiving: Archived) -> None:
    archiving.turn()
    before = values()
    alert.check(before, {each: value for each, value in before.items() if "builders_backup" not in each})


@makes("BuildersBackupLogWaits")
def test_a_log_that_fills_the_disk(alert: Alert, archiving: Archived) -> None:
    size = metrics.DISK()
    size.add_metric([], 400e6)  # that of the machine would need gigabytes
    archiving.turn()
    before = {**values(), **values([size])}
    archiving.take_away()
    archiving.fill(segments=4)
    archiving.turn()
    alert.check(before, {**values(), **values([size])})


@makes("BuildersBackupGivenUp")
def test_a_log_that_waited_for_too_long(alert: Alert, archiving: Archived) -> None:
    before = values()
    assert give_up(archiving.machine)
    alert.check(before, values(), repeated=False)
