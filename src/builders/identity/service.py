"""The public interface of identity."""

from builders.identity.accounts import (
    change_email as change_email,
    create_account as create_account,
    ensure_account as ensure_account,
    find_real_accounts as find_real_accounts,
    get_account as get_account,
    get_account_by_email as get_account_by_email,
    list_accounts as list_accounts,
    list_accounts_by_id as list_accounts_by_id,
    list_audit as list_audit,
    record_audit as record_audit,
    require_sandbox_account as require_sandbox_account,
    verify_email as verify_email,
)
from builders.identity.authenticator import (
    Authenticator as Authenticator,
    TokenAuthenticator as TokenAuthenticator,
)
from builders.identity.errors import (
    AccountNotFound as AccountNotFound,
    EmailTaken as EmailTaken,
    EmailUnverified as EmailUnverified,
)
from builders.identity.keys import (
    create_key as create_key,
    get_key as get_key,
    list_keys as list_keys,
    revoke_key as revoke_key,
    rotate_key as rotate_key,
)
from builders.identity.login import (
    CODE_LIFETIME as CODE_LIFETIME,
    get_link_address as get_link_address,
    prune_requests as prune_requests,
    request_code as request_code,
    sign_in as sign_in,
)
from builders.identity.oidc import (
    link_identity as link_identity,
    list_identities as list_identities,
    unlink_identity as unlink_identity,
)
from builders.identity.scopes import list_scopes as list_scopes
from builders.identity.sessions import (
    caller_of as caller_of,
    create_grant as create_grant,
    end_session as end_session,
    get_principal as get_principal,
    list_grants as list_grants,
    list_sessions as list_sessions,
    log_out as log_out,
    open_session as open_session,
    prune_sessions as prune_sessions,
    redeem_grant as redeem_grant,
    revoke_grant as revoke_grant,
)
from builders.identity.tokens import list_public_keys as list_public_keys
