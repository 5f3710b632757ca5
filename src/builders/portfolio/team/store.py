"""SQL of a portfolio's team."""

from datetime import datetime
from uuid import UUID

from builders.kit.db.columns import columns_of
from builders.kit.db.queries import account_lock, query
from builders.portfolio.team.records import Invite, Member, Membership

MEMBER_COLUMNS, INVITE_COLUMNS = columns_of(Member), columns_of(Invite)


# Serializes invitations, revocations and joins until the transaction ends: invitations change only under it.
lock_team = account_lock("portfolio_team")
# The team is locked before: one order for all.
lock_memberships = account_lock("portfolio_memberships")
count_memberships = query("""
    SELECT count(*) FROM portfolio_team_memberships WHERE account_id = %(account_id)s
""").value(int)
# The portfolios of other accounts in which an account is a member.
list_portfolios = query("""
    SELECT portfolio_id FROM portfolio_team_memberships WHERE account_id = %(account_id)s
""").scalars(UUID)
list_memberships = query("""
    SELECT account_id AS portfolio_id, role, joined_at, approves_since IS NOT NULL AS approve_plans
    FROM portfolio_team_members
    WHERE account_id = ANY(%(account_ids)s::uuid[]) AND member_id = %(member_id)s
    ORDER BY joined_at, account_id
""").all(Membership)
# The number of members and of pending invitations to other addresses.
count_places = query("""
    SELECT (SELECT count(*) FROM portfolio_team_members WHERE account_id = %(account_id)s)
         + (SELECT count(*) FROM portfolio_team_invites
            WHERE account_id = %(account_id)s AND ended_at IS NULL AND expires_at > %(now)s AND email <> %(email)s)
""").value(int)
find_member = query(f"""
    SELECT {MEMBER_COLUMNS} FROM portfolio_team_members
    WHERE account_id = %(account_id)s AND member_id = %(member_id)s
""").one(Member)


# The account of the portfolio, the member and the role.
list_roles = query("""
    SELECT account_id, member_id, role FROM portfolio_team_members WHERE account_id = ANY(%(account_ids)s::uuid[])
""").all(tuple[UUID, UUID, str])


# In one order for all, so that two members who change each other do not wait for each other.
lock_members = query(f"""
    SELECT {MEMBER_COLUMNS} FROM portfolio_team_members
    WHERE account_id = %(account_id)s AND member_id = ANY(%(member_ids)s::uuid[])
    ORDER BY member_id FOR UPDATE
""").keyed(Member, by=lambda row: row.member_id)
list_members = query(f"""
    SELECT {MEMBER_COLUMNS} FROM portfolio_team_members
    WHERE account_id = %(account_id)s ORDER BY joined_at, member_id
""").all(Member)


# Raises UniqueViolation for an existing member.
insert_member = query("""
    WITH member AS (
        INSERT INTO portfolio_team_members (account_id, member_id, role, joined_at, approves_since)
        VALUES (%(account_id)s, %(member_id)s, %(role)s, %(now)s,
                CASE WHEN %(approve_plans)s THEN %(now)s::timestamptz END)
        RETURNING account_id, member_id
    )
    INSERT INTO portfolio_team_memberships (account_id, portfolio_id) SELECT member_id, account_id FROM member
""").run()
update_member = query("""
    UPDATE portfolio_team_members SET role = %(role)s, note = %(note)s, approves_since = %(approves_since)s
    WHERE account_id = %(account_id)s AND member_id = %(member_id)s
""").run()
# The account itself first, with no time; each with the newest confirmation.
list_deciders = query("""
    SELECT decider.id, decider.since, confirmation.confirmed_at
    FROM (
        SELECT %(account_id)s::uuid AS id, NULL::timestamptz AS since
        UNION ALL
        SELECT member_id, approves_since FROM portfolio_team_members
        WHERE account_id = %(account_id)s AND approves_since IS NOT NULL
    ) AS decider
    LEFT JOIN portfolio_team_confirmations AS confirmation
      ON confirmation.account_id = %(account_id)s AND confirmation.decider_id = decider.id
    ORDER BY decider.since NULLS FIRST, decider.id
""").all(tuple[UUID, datetime | None, datetime | None])
confirm_decider = query("""
    INSERT INTO portfolio_team_confirmations (account_id, decider_id, confirmed_by, confirmed_at)
    VALUES (%(account_id)s, %(decider_id)s, %(confirmed_by)s, %(now)s)
    ON CONFLICT (account_id, decider_id) DO UPDATE
    SET confirmed_by = excluded.confirmed_by, confirmed_at = excluded.confirmed_at
""").run()
# The members that lose the permission; with that of pending invitations.
keep_deciders = query("""
    WITH invited AS (
        UPDATE portfolio_team_invites SET approve_plans = false
        WHERE account_id = %(account_id)s AND ended_at IS NULL AND approve_plans
    )
    UPDATE portfolio_team_members SET approves_since = NULL
    WHERE account_id = %(account_id)s AND approves_since IS NOT NULL AND member_id <> ALL(%(kept)s::uuid[])
    RETURNING member_id
""").scalars(UUID)
delete_member = query("""
    WITH membership AS (
        DELETE FROM portfolio_team_memberships
        WHERE account_id = %(member_id)s AND portfolio_id = %(account_id)s
    )
    DELETE FROM portfolio_team_members WHERE account_id = %(account_id)s AND member_id = %(member_id)s
""").run()


erase_invites = query("""
    UPDATE portfolio_team_invites SET email = 'erased person', ended_at = coalesce(ended_at, %(now)s)
    WHERE email = %(email)s AND created_at <= %(until)s
""").count()


# A pending invitation to the same address is renewed; the token of the old one is replaced.
upsert_invite = query(f"""
    WITH invite AS (
        INSERT INTO portfolio_team_invites
            (account_id, id, email, role, message, approve_plans, invited_by, created_at, expires_at)
        VALUES (%(account_id)s, %(id)s, %(email)s, %(role)s, %(message)s, %(approve_plans)s, %(invited_by)s,
                %(now)s, %(expires_at)s)
        ON CONFLICT (account_id, email) WHERE ended_at IS NULL DO UPDATE
        SET role = excluded.role, message = excluded.message, approve_plans = excluded.approve_plans,
            invited_by = excluded.invited_by, expires_at = excluded.expires_at
        RETURNING {INVITE_COLUMNS}
    ), replaced AS (
        DELETE FROM portfolio_team_tokens AS token USING invite
        WHERE token.account_id = invite.account_id AND token.invite_id = invite.id
    ), token AS (
        INSERT INTO portfolio_team_tokens (token_hash, account_id, invite_id, expires_at)
        SELECT %(token_hash)s, account_id, id, expires_at FROM invite
    )
    SELECT {INVITE_COLUMNS} FROM invite
""").only(Invite)


list_invites = query(f"""
    SELECT {INVITE_COLUMNS} FROM portfolio_team_invites
    WHERE account_id = %(account_id)s AND ended_at IS NULL ORDER BY created_at, id
""").all(Invite)
find_invite = query(f"""
    SELECT {INVITE_COLUMNS} FROM portfolio_team_invites WHERE account_id = %(account_id)s AND id = %(invite_id)s
""").one(Invite)
find_token = query("""
    SELECT account_id, invite_id FROM portfolio_team_tokens WHERE token_hash = ANY(%(hashes)s::bytea[])
""").one(tuple[UUID, UUID])
# Needs the team's lock.
end_invite = query("""
    UPDATE portfolio_team_invites SET ended_at = %(now)s, accepted_by = %(accepted_by)s
    WHERE account_id = %(account_id)s AND id = %(invite_id)s AND ended_at IS NULL
""").run()
