"""Errors of identity."""

from builders.kit.errors import Problem


class KeyNotFound(Problem):
    """The account has no such API key."""

    status, code = 404, "api_key_not_found"
    default_detail = "There is no such API key."
    remedy = "List the keys: GET /v1/api-keys."
    collection = "/v1/api-keys"


class KeyRevoked(Problem):
    """The API key is revoked or expired."""

    status, code = 409, "api_key_revoked"
    remedy = "Mint a new key."


class KeyLimit(Problem):
    """The account has the maximum number of active API keys."""

    status, code = 409, "api_key_limit"
    remedy = "Revoke a key that is not used (GET /v1/api-keys), or rotate one with overlap_hours 0."


class KeyLimited(Problem):
    """An API key cannot create a key with weaker limits than its own."""

    status, code = 403, "api_key_limited"
    remedy = "Use a key without these limits, or request limits within those of this key."


class AccountNotFound(Problem):
    """There is no such account."""

    status, code = 404, "account_not_found"
    remedy = "Check the id or the address of the account."


class EmailTaken(Problem):
    """The email address belongs to an account."""

    status, code = 409, "email_taken"
    remedy = "Choose another address."


class EmailUnverified(Problem):
    """The account's email address is not verified."""

    status, code = 403, "email_unverified"
    remedy = "Follow the link in the mail; POST /v1/account/email-verification/resend sends another."


class SessionNotFound(Problem):
    """The account has no such session."""

    status, code = 404, "session_not_found"
    default_detail = "The account has no such session; it may have ended."
    remedy = "List the open sessions: GET /v1/auth/sessions."


class NoSession(Problem):
    """These credentials do not belong to a session."""

    status, code = 409, "no_session"
    default_detail = "The credentials are an API key or a token of another issuer, not a session of this service."
    remedy = "Revoke a key with DELETE /v1/api-keys/{key_id}; end a token of another issuer there."


class IdentityTaken(Problem):
    """The issuer's subject is linked to an account."""

    status, code = 409, "identity_taken"


class IdentityNotFound(Problem):
    """The issuer's subject is not linked to the account."""

    status, code = 404, "identity_not_found"
    remedy = "List the linked identities of the account."


class GrantInvalid(Problem):
    """The grant is unknown, used, revoked or expired."""

    status, code = 400, "grant_invalid"
    remedy = "Ask the operator for a new one: builders login-as grant."


class GrantNotFound(Problem):
    """There is no such login-as grant."""

    status, code = 404, "grant_not_found"
    default_detail = "There is no such grant."
    remedy = "List the grants of the account."


class IssuerSignInRefused(Problem):
    """The sign-in at the issuer did not succeed."""

    status, code = 400, "issuer_sign_in_refused"
    remedy = "Start again at /v1/auth/login, or sign in by mail there."
