"""Where each form of the console is shown, what a person types into it, and what somebody else does meanwhile."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import httpx

from builders.kit.values import clock, ids
from tests.catalog.make import catch_up
from tests.console.import_forms import IMPORTS_AND_REGISTRARS
from tests.console.machine_forms import MACHINES_AND_PROGRAMS
from tests.console.sale_forms import SALES_AND_CORRESPONDENTS, expiring_domain, name, remove_domain
from tests.console.scenes import Scene, Shown
from tests.console.visitor import Visitor
from tests.invoices.stripe_server import serving
from tests.plans import make
from tests.plans.approval.make import (
    ALWAYS,
    POLICY,
    appoint,
    decide,
    join_team,
    put_policy,
    set_policy,
    withdraw,
)
from tests.portfolio.notifications.make import notify
from tests.portfolio.team.make import invite, member_path
from tests.webhooks import make as webhooks

PROPOSALS = f"{POLICY}/proposals"
AN_HOUR, DAY = timedelta(hours=1), timedelta(days=1)
VIEWS = "/v1/portfolio/views"
DETAILS = "/v1/invoices/billing-details"


async def plan(scene: Scene) -> None:
    scene.made = await make.plan(scene.alice, make.alias(f"ada@{scene.domain}"))


async def waiting_plan(scene: Scene) -> None:
    await set_policy(scene.alice, **ALWAYS)
    await plan(scene)


async def approved_plan(scene: Scene) -> None:
    await waiting_plan(scene)
    await decide(scene.alice, scene.made)


async def promote(scene: Scene) -> None:
    if scene.made["approval"]["state"] == "required":
        await decide(scene.alice, scene.made)
    await make.promote(scene.alice, scene.made)


async def withdraw_decision(scene: Scene) -> None:
    await withdraw(scene.alice, scene.made)


async def proposal(scene: Scene) -> None:
    await appoint(scene.alice, scene.charlie)
    await set_policy(scene.alice, **ALWAYS, own_plans="refuse", deciders=[str(scene.charlie.account.id)])
    answer = await put_policy(scene.alice, require="never")
    scene.made = {**answer.json()["proposal"], "owner": scene.alice.account.id}
    scene.visitor = scene.charlie


async def discard_proposal(scene: Scene) -> None:
    await scene.change("DELETE", f"{PROPOSALS}/{scene.made['id']}")


async def first_policy(scene: Scene) -> None:
    """Set the policy whose first one ends other sessions before the page is opened."""
    await set_policy(scene.alice, **ALWAYS)


async def tighten_policy(scene: Scene) -> None:
    await set_policy(scene.alice, **ALWAYS, direct_writes="refuse")


async def new_decider(scene: Scene) -> None:
    await set_policy(scene.alice, **ALWAYS)
    await join_team(scene.alice, scene.charlie)
    await scene.change("PATCH", member_path(scene.charlie), json={"approve_plans": True})


async def dismiss_decider(scene: Scene) -> None:
    await scene.change("PATCH", member_path(scene.charlie), json={"approve_plans": False})


async def member(scene: Scene) -> None:
    await join_team(scene.alice, scene.charlie)


async def remove_member(scene: Scene) -> None:
    await scene.change("DELETE", member_path(scene.charlie))


async def invitation(scene: Scene) -> None:
    async with scene.alice.browser() as browser:
        scene.made = await invite(browser, scene.charlie)


async def revoke_invitation(scene: Scene) -> None:
    await scene.change("DELETE", f"/v1/portfolio/team/invites/{scene.made['id']}")


async def load_domain(scene: Scene) -> None:
    await catch_up(scene.alice.service.api.state.catalog)


async def readable_name(scene: Scene) -> None:
    """Make a name, and a webhook and a live key that can receive its mail."""
    await name(scene)
    made = await webhooks.create(scene.alice, label="mailroom", events=["invoice.created"])
    wanted = {"label": "reader", "key_kind": "live", "preset": "developer_full"}
    minted = (await scene.alice.post("/v1/api-keys", json=wanted)).json()
    scene.made |= {"webhook_id": made["id"], "key_id": minted["id"]}


async def read_name(scene: Scene) -> None:
    await readable_name(scene)
    await set_reception(scene)


async def set_reception(scene: Scene) -> None:
    rule = {each: scene.made[each] for each in ("webhook_id", "key_id")}
    await scene.change("PUT", f"/v1/aliases/{scene.made['id']}/receive-as-event", json=rule)


async def end_reception(scene: Scene) -> None:
    await scene.change("DELETE", f"/v1/aliases/{scene.made['id']}/receive-as-event")


async def asked_name(scene: Scene) -> None:
    await name(scene)
    clock.move(AN_HOUR)  # until the recipient may be asked again


async def note_name(scene: Scene) -> None:
    await scene.change("PATCH", f"/v1/aliases/{scene.made['id']}", json={"note": "theirs"})


async def release_name(scene: Scene) -> None:
    await scene.change("DELETE", f"/v1/aliases/{scene.made['id']}")


async def domain(scene: Scene) -> None:
    answer = await scene.alice.post("/v1/domains", json={"domain": f"own-{ids.new().hex}.example"})
    scene.made = answer.json()


async def change_domain(scene: Scene) -> None:
    changed = {"default_destination": "theirs@example.net"}
    await scene.change("PATCH", f"/v1/domains/{scene.made['id']}", json=changed)


async def release_domain(scene: Scene) -> None:
    await scene.change("DELETE", f"/v1/domains/{scene.made['id']}")


async def webhook(scene: Scene) -> None:
    scene.made = await webhooks.create(scene.alice)


async def label_webhook(scene: Scene) -> None:
    await scene.change("PATCH", f"{webhooks.PATH}/{scene.made['id']}", json={"label": "theirs"})


async def delete_webhook(scene: Scene) -> None:
    await scene.change("DELETE", f"{webhooks.PATH}/{scene.made.get('webhook_id', scene.made['id'])}")


async def delivery(scene: Scene) -> None:
    await webhook(scene)
    await webhooks.happen(scene.alice.service.api.state.database, scene.alice.account.id)
    await webhooks.send_due(scene.alice.service, account_id=scene.alice.account.id)
    scene.made = (await scene.alice.get(webhooks.DELIVERIES)).json()["items"][0]


async def key(scene: Scene) -> None:
    wanted = {"label": "laptop", "key_kind": "test", "preset": "developer_full"}
    scene.made = (await scene.alice.post("/v1/api-keys", json=wanted)).json()


async def unused_key(scene: Scene) -> None:
    """Make a key that is 90 days old, and was never used."""
    await key(scene)
    async with scene.alice.service.api.state.database.transaction() as conn:
        query = "UPDATE identity_keys SET created_at = created_at - interval '90 days' WHERE id = %s"
        await conn.execute(query, [scene.made["id"]])


async def disabled_key(scene: Scene) -> None:
    """Make a key that a restore has disabled."""
    await key(scene)
    async with scene.alice.service.api.state.database.transaction() as conn:
        await conn.execute("UPDATE identity_keys SET disabled_at = now() WHERE id = %s", [scene.made["id"]])


async def revoke_key(scene: Scene) -> None:
    await scene.change("DELETE", f"/v1/api-keys/{scene.made['id']}")


async def session(scene: Scene) -> None:
    scene.made = {"id": (await scene.alice.sign_in()).session.id}


async def end_session(scene: Scene) -> None:
    async with scene.alice.browser() as browser:
        await browser.delete(f"/v1/auth/sessions/{scene.made['id']}")


async def project(scene: Scene) -> None:
    scene.made = (await scene.alice.post("/v1/builders/projects", json={"name": "Shop"})).json()


async def describe_project(scene: Scene) -> None:
    path = f"/v1/builders/projects/{scene.made['id']}"
    await scene.change("PATCH", path, json={"description": "theirs"})


async def invoice(scene: Scene) -> None:
    await scene.stack.enter_async_context(serving(scene.alice.service))
    promotion = await make.apply(scene.alice, make.alias(f"ada@{scene.domain}"))
    scene.made = promotion["invoices"][0]


async def pay_invoice(scene: Scene) -> None:
    database = scene.alice.service.api.state.database
    for each in await make.list_invoices(database, scene.alice):
        await make.pay_invoice(database, scene.alice, each)


async def notified(scene: Scene) -> None:
    await expiring_domain(scene)
    await notify(scene.alice.service.api.state.database, scene.alice.account.id)


async def linked_calendar(scene: Scene) -> None:
    await scene.change("POST", "/v1/portfolio/renewals/calendar")


async def booked_domain(scene: Scene) -> None:
    await expiring_domain(scene)
    entry = {"kind": "other_cost", "amount": {"amount": "1.00", "currency": "USD"}}
    path = f"/v1/portfolio/domains/{scene.made['id']}/finance"
    await scene.change("PATCH", path, json={"entries_add": [entry]})


async def note_domain(scene: Scene) -> None:
    path = f"/v1/portfolio/domains/{scene.made['id']}"
    await scene.change("PATCH", path, json={"notes": "theirs"})


async def saved_view(scene: Scene) -> None:
    await scene.change("PATCH", VIEWS, json={"views": [{"name": "Mine"}]})


async def change_billing(scene: Scene) -> None:
    await scene.change("PUT", DETAILS, json={"name": "Theirs Limited"})


async def change_profile(scene: Scene) -> None:
    await scene.change("PATCH", "/v1/me", json={"company": "Theirs Limited"})


async def new_address(scene: Scene) -> None:
    await scene.change("PATCH", "/v1/me", json={"email": f"{ids.new()}@example.net"})


async def asked_address(scene: Scene) -> None:
    await new_address(scene)
    clock.move(AN_HOUR)


async def old_address(scene: Scene) -> None:
    await scene.change("PATCH", "/v1/me", json={"email": scene.alice.account.email})


async def requested_erasure(scene: Scene) -> None:
    await scene.change("POST", "/v1/account/erasure")


def an_hour_ago() -> str:
    return (clock.now() - AN_HOUR).strftime("%Y-%m-%dT%H:%M")


PLAN, NAME, DOMAIN = "plans/{id}", "names/{id}", "domains/{id}"
WEBHOOK, PROJECT = "webhooks/{id}", "projects/{id}"
HELD = "portfolio/domains/{id}"
NOTICES_PAGE = "portfolio/notices"
CHANGED = "This was changed since you opened the form"


# By the name of the form. A new form needs a line here.
FORMS: Mapping[str, Shown] = {
    "claim": Shown(
        page="claim?local_part=ada&domain={domain}", prepare=load_domain, typed={"destination": "ada@example.net"}
    ),
    "names-change": Shown(page="names", prepare=name, typed={"note": "mine", "ids": "{id}"}),
    "plan-approve": Shown(page=PLAN, prepare=waiting_plan, meanwhile=promote, tells="The plan has been promoted."),
    "plan-reject": Shown(
        page=PLAN,
        prepare=waiting_plan,
        typed={"comment": "too dear"},
        meanwhile=promote,
        tells="The plan has been promoted.",
    ),
    "plan-withdraw": Shown(
        page=PLAN, prepare=approved_plan, meanwhile=promote, tells="The plan has been promoted."
    ),
    "plan-ask": Shown(page=PLAN, prepare=waiting_plan, meanwhile=promote, tells="promoted"),
    "plan-promote": Shown(
        page=PLAN, prepare=plan, meanwhile=promote, tells="1 of 1 steps", besides=("identity_key", "kit_outbox")
    ),
    "export-confirm": Shown(page="exports"),
    "erasure-confirm": Shown(page="erasure"),
    "erasure-cancel": Shown(page="erasure", prepare=requested_erasure),
    "policy-change": Shown(
        page="approval",
        prepare=first_policy,
        typed={"require": "always"},
        meanwhile=tighten_policy,
        tells=CHANGED,
    ),
    "policy-confirm": Shown(
        page="of/{owner}/approval", prepare=proposal, meanwhile=discard_proposal, tells="proposal"
    ),
    "policy-discard": Shown(
        page="of/{owner}/approval", prepare=proposal, meanwhile=discard_proposal, tells="proposal"
    ),
    "decider-confirm": Shown(page="team", prepare=new_decider, meanwhile=dismiss_decider, tells="decide"),
    "member-invite": Shown(page="team", typed={"email": "new@example.net"}),
    "member-change": Shown(page="team", prepare=member, meanwhile=remove_member, tells="no such member"),
    "member-remove": Shown(page="team", prepare=member, meanwhile=remove_member, tells="no such member"),
    "invite-revoke": Shown(page="team", prepare=invitation, meanwhile=revoke_invitation, tells="invit"),
    "name-change": Shown(page=NAME, prepare=name, typed={"note": "mine"}, meanwhile=note_name, tells="theirs"),
    "name-release": Shown(page=NAME, prepare=name, meanwhile=note_name, tells="theirs"),
    "reception-set": Shown(
        page=NAME,
        prepare=readable_name,
        typed={"webhook_id": "{webhook_id}", "key_id": "{key_id}"},
        meanwhile=set_reception,
        tells=CHANGED,
    ),
    "reception-end": Shown(
        page=NAME, prepare=read_name, meanwhile=end_reception, tells="receives no mail as events"
    ),
    "destination-ask": Shown(page=NAME, prepare=asked_name, meanwhile=release_name, tells="deleted"),
    "domain-add": Shown(page="domains", typed={"domain": "added.example"}),
    "domain-verify": Shown(page=DOMAIN, prepare=domain, meanwhile=release_domain, tells="released"),
    "domain-change": Shown(
        page=DOMAIN,
        prepare=domain,
        typed={"default_destination": "mine@example.net"},
        meanwhile=change_domain,
        tells="theirs@example.net",
    ),
    "domain-release": Shown(page=DOMAIN, prepare=domain, meanwhile=change_domain, tells="theirs@example.net"),
    "webhook-add": Shown(page="webhooks", typed={"label": "orders", "url": webhooks.WANTED["url"]}),
    "webhook-change": Shown(
        page=WEBHOOK, prepare=webhook, typed={"label": "mine"}, meanwhile=label_webhook, tells="theirs"
    ),
    "webhook-delete": Shown(page=WEBHOOK, prepare=webhook, meanwhile=label_webhook, tells="theirs"),
    "webhook-test": Shown(page=WEBHOOK, prepare=webhook, meanwhile=delete_webhook, tells="no such"),
    "webhook-rotate": Shown(page=WEBHOOK, prepare=webhook, meanwhile=delete_webhook, tells="no such"),
    "webhook-replay": Shown(
        page=WEBHOOK, prepare=webhook, typed={"since": an_hour_ago}, meanwhile=delete_webhook, tells="no such"
    ),
    "delivery-retry": Shown(
        page="deliveries/{id}", prepare=delivery, meanwhile=delete_webhook, tells="was deleted"
    ),
    "key-mint": Shown(page="keys", typed={"label": "laptop"}),
    "agent-mint": Shown(page="keys", typed={"label": "agent", "toolsets": "names"}),
    "key-rotate": Shown(page="keys", prepare=key, meanwhile=revoke_key, tells="revoked"),
    "key-revoke": Shown(page="keys", prepare=key, meanwhile=revoke_key, tells="revoked"),
    "key-enable": Shown(page="keys", prepare=disabled_key, meanwhile=revoke_key, tells="revoked"),
    "key-narrow": Shown(page="keys", prepare=unused_key),
    "keys-revoke": Shown(page="keys", prepare=key),
    "session-end": Shown(page="sessions", prepare=session, meanwhile=end_session, tells="no such session"),
    "project-add": Shown(page="projects", typed={"name": "Shop"}),
    "project-change": Shown(
        page=PROJECT, prepare=project, typed={"name": "Mine"}, meanwhile=describe_project, tells="theirs"
    ),
    "project-archive": Shown(page=PROJECT, prepare=project, meanwhile=describe_project, tells="theirs"),
    "invoice-pay": Shown(page="invoices/{id}", prepare=invoice, meanwhile=pay_invoice, tells="paid"),
    "parking-record": Shown(
        page="portfolio/parking",
        prepare=expiring_domain,
        typed={"domain": "{id}", "date": "2026-11-01", "amount": "1.23 USD", "visits": "7"},
        meanwhile=remove_domain,
        tells="no domain with this id",
    ),
    "notices-read": Shown(page=NOTICES_PAGE, prepare=notified),
    "notice-acknowledge": Shown(page=NOTICES_PAGE, prepare=notified),
    "preferences-change": Shown(page=NOTICES_PAGE, typed={"expiry.thresholds": "45\n10\n-1"}),
    "samples-send": Shown(page=NOTICES_PAGE),
    "calendar-create": Shown(page=NOTICES_PAGE),
    "calendar-revoke": Shown(page=NOTICES_PAGE, prepare=linked_calendar),
    "portfolio-domain-add": Shown(page="portfolio/import", typed={"domain": "added.com"}),
    "portfolio-domain-remove": Shown(
        page="portfolio/remove/{id}", prepare=expiring_domain, meanwhile=note_domain, tells="theirs"
    ),
    "portfolio-domain-change": Shown(
        page=HELD, prepare=expiring_domain, typed={"notes": "mine"}, meanwhile=note_domain, tells="theirs"
    ),
    "entry-add": Shown(
        page=HELD, prepare=expiring_domain, typed={"amount": "12.34 USD"}, meanwhile=remove_domain, tells="no such"
    ),
    "entry-void": Shown(page=HELD, prepare=booked_domain, meanwhile=remove_domain, tells="no such"),
    "renewal-record": Shown(
        page=HELD, prepare=expiring_domain, typed={"amount": "12.34 USD"}, meanwhile=remove_domain, tells="no such"
    ),
    "renewals-decide": Shown(
        page="portfolio/renewals",
        prepare=expiring_domain,
        typed={"decision.{id}": "renew"},
        meanwhile=remove_domain,
        tells="no such domain",
    ),
    "renewals-drop": Shown(
        page="portfolio/renewals?drop_max_income=20",
        prepare=expiring_domain,
        meanwhile=remove_domain,
        tells="have changed since",
    ),
    "domains-preview": Shown(
        page="portfolio/domains",
        prepare=expiring_domain,
        typed={"domains": "{id}", "set.folder": "Ports"},
        meanwhile=remove_domain,
        tells="no such domain",
    ),
    "domains-change": Shown(
        page="portfolio/domains",
        prepare=expiring_domain,
        after="domains-preview",
        typed_before={"domains": "{id}", "set.folder": "Ports"},
        meanwhile=remove_domain,
        tells="changed since",
    ),
    **IMPORTS_AND_REGISTRARS,
    **MACHINES_AND_PROGRAMS,
    **SALES_AND_CORRESPONDENTS,
    # What a person chooses for their own pages: the last choice counts.
    "columns-choose": Shown(page="portfolio/domains", typed={"columns": "roi"}),
    "view-save": Shown(page="portfolio/domains?q=a", typed={"name": "Mine"}),
    "view-remove": Shown(page="portfolio/domains", prepare=saved_view),
    "billing-change": Shown(
        page="billing", typed={"name": "Mine Limited"}, meanwhile=change_billing, tells="Theirs Limited"
    ),
    "profile-change": Shown(
        page="account", typed={"display_name": "Mine"}, meanwhile=change_profile, tells="Theirs Limited"
    ),
    "email-ask": Shown(page="account", prepare=asked_address, meanwhile=old_address, tells="verified"),
}


async def open_form(scene: Scene, shown: Shown) -> tuple[Visitor, httpx.Response, dict[str, Any]]:
    """Prepare the account and open the page of a form; return the browser, the page and what is typed."""
    if shown.prepare is not None:
        await shown.prepare(scene)
    browser = await scene.visit(scene.visitor or scene.alice)
    known = {"domain": scene.domain, **scene.made}
    page = await browser.open(f"/console/{shown.page.format_map(known)}".removesuffix("/"))
    typed, typed_before = [
        {
            name.format_map(known): value() if callable(value) else value.format_map(known)
            for name, value in each.items()
        }
        for each in (shown.typed, shown.typed_before)
    ]
    if shown.after:
        page = await browser.submit(page, shown.after, **typed_before)
    return browser, page, typed
