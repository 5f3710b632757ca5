"""The rate limit of both forms together, per client address."""

from collections import Counter
from collections.abc import AsyncIterator

import psycopg
import pytest

from builders.app import Service, create_app, lifespan
from builders.kit.process.settings import Settings
from builders.kit.values import ids
from tests.cast import Client
from tests.leads.make import LEADS, WAITLIST


@pytest.fixture
async def limited(settings: Settings, sweeper: psycopg.Connection) -> AsyncIterator[Service]:
    """Return a service with rate limits."""
    sweeper.execute("DELETE FROM kit_quotas")
    app = create_app(settings.model_copy(update={"limits": 1.0}))
    async with lifespan(app.api):
        yield app


async def test_a_client_submits_at_most_twenty_forms_in_ten_minutes(limited: Service) -> None:
    async with Client(limited) as anyone:
        answers = [
            await anyone.post(path, json={"email": f"{ids.new().hex}@example.net"})
            for path in (LEADS, WAITLIST) * 11
        ]

    assert Counter(each.status_code for each in answers) == {201: 20, 429: 2}
    assert answers[0].headers["RateLimit-Policy"].startswith('"leads";q=20;w=600')
    assert answers[-1].json()["violated_policies"] == ["leads"]
