# Written by script/clients.
"""The errors of the service: a class for each code, below one for each status. Each has `next_action`."""

from collections.abc import Mapping

from builders_client.problems import (
    ApiError as ApiError,
    BuildersError as BuildersError,
    ConnectionFailed as ConnectionFailed,
    CursorFileInvalid as CursorFileInvalid,
    EnvironmentInvalid as EnvironmentInvalid,
    NoCredentials as NoCredentials,
    NotModified as NotModified,
    ReplyInvalid as ReplyInvalid,
    RequestInvalid as RequestInvalid,
    SecretInvalid as SecretInvalid,
    SignatureMismatch as SignatureMismatch,
    TimedOut as TimedOut,
)


class BadRequestError(ApiError):
    """The status 400."""


class UnauthorizedError(ApiError):
    """The status 401."""


class ForbiddenError(ApiError):
    """The status 403."""


class NotFoundError(ApiError):
    """The status 404."""


class MethodError(ApiError):
    """The status 405."""


class ConflictError(ApiError):
    """The status 409."""


class GoneError(ApiError):
    """The status 410."""


class PreconditionError(ApiError):
    """The status 412."""


class TooLargeError(ApiError):
    """The status 413."""


class MediaTypeError(ApiError):
    """The status 415."""


class InvalidError(ApiError):
    """The status 422; `errors` names each invalid value."""


class TooManyRequestsError(ApiError):
    """The status 429."""


class ServerError(ApiError):
    """A status of 500 or above."""


class AccessDenied(BadRequestError):
    """The person refused the request."""

    code = "access_denied"


class AccountDomainNotFound(NotFoundError):
    """The account does not have the domain."""

    code = "account_domain_not_found"


class AccountNotFound(NotFoundError):
    """There is no such account."""

    code = "account_not_found"


class AccountSuspended(ForbiddenError):
    """The operator has suspended the account."""

    code = "account_suspended"


class AccountUnsettled(ConflictError):
    """Something of the account is open."""

    code = "account_unsettled"


class AddressNotAllowed(ForbiddenError):
    """The API key does not work from this address."""

    code = "address_not_allowed"


class AliasNotFound(NotFoundError):
    """There is no such alias."""

    code = "alias_not_found"


class AliasReleased(ConflictError):
    """The alias was released."""

    code = "alias_released"


class AliasSuspended(ConflictError):
    """The alias is suspended."""

    code = "alias_suspended"


class AlreadyMember(ConflictError):
    """The account is a member already."""

    code = "already_member"


class AnswerLimit(TooManyRequestsError):
    """There are as many answers as are allowed."""

    code = "answer_limit"


class AnswerNotAllowed(ForbiddenError):
    """The rule of the name allows no answers."""

    code = "answer_not_allowed"


class ApiKeyDisabled(UnauthorizedError):
    """The API key is disabled since a restore."""

    code = "api_key_disabled"


class ApiKeyExpired(UnauthorizedError):
    """The API key has expired."""

    code = "api_key_expired"


class ApiKeyLimit(ConflictError):
    """The account has the maximum number of active API keys."""

    code = "api_key_limit"


class ApiKeyLimited(ForbiddenError):
    """An API key cannot create a key with weaker limits than its own."""

    code = "api_key_limited"


class ApiKeyNotFound(NotFoundError):
    """The account has no such API key."""

    code = "api_key_not_found"


class ApiKeyRevoked(ConflictError):
    """The API key is revoked or expired."""

    code = "api_key_revoked"


class ApprovalRequired(ForbiddenError):
    """A person must approve this."""

    code = "approval_required"


class AssetNotFound(NotFoundError):
    """The image does not exist."""

    code = "asset_not_found"


class AuthCodeLimit(TooManyRequestsError):
    """The auth code of this domain was requested too often."""

    code = "auth_code_limit"


class AuthorizationPending(BadRequestError):
    """The person has not decided."""

    code = "authorization_pending"


class AuthorizationRequestChanged(ConflictError):
    """The program describes itself differently now."""

    code = "authorization_request_changed"


class AuthorizationRequestInvalid(BadRequestError):
    """The request of the program is not valid."""

    code = "authorization_request_invalid"


class AuthorizationRequestNotFound(NotFoundError):
    """This browser has no such request of a program."""

    code = "authorization_request_not_found"


class AuthorizationRequestsFull(ServerError):
    """Too many programs wait for a person."""

    code = "authorization_requests_full"


class AwaitingAcceptance(ServerError):
    """The service was restored from a backup and only reads."""

    code = "awaiting_acceptance"


class BadRequest(BadRequestError):
    """The request could not be read."""

    code = "bad_request"


class BodyStalled(ApiError):
    """The request body did not arrive in time."""

    code = "body_stalled"


class BodyTooLarge(TooLargeError):
    """The request body is too large."""

    code = "body_too_large"


class Busy(ServerError):
    """The service is too busy."""

    code = "busy"


class ChargeLimit(ConflictError):
    """The portfolio has the maximum number of charges."""

    code = "charge_limit"


class ChargeNotFound(NotFoundError):
    """There is no such charge."""

    code = "charge_not_found"


class ChargeNotOpen(ConflictError):
    """The charge is booked, ignored or split."""

    code = "charge_not_open"


class ClientRefused(BadRequestError):
    """The request of the client was refused."""

    code = "client_refused"


class ClientUnavailable(ServerError):
    """The description of the program is not available."""

    code = "client_unavailable"


class ConfirmDeletesMismatch(ConflictError):
    """The number of deletions was not confirmed."""

    code = "confirm_deletes_mismatch"


class ConfirmationTooSoon(TooManyRequestsError):
    """It is too soon to send another confirmation to the destination."""

    code = "confirmation_too_soon"


class ConnectionAmbiguous(ConflictError):
    """The portfolio has several connections to the registrar."""

    code = "connection_ambiguous"


class ConnectionChanged(ConflictError):
    """A concurrent request changed the connection."""

    code = "connection_changed"


class ConnectionLimit(ConflictError):
    """The portfolio has the maximum number of registrar connections."""

    code = "connection_limit"


class ConnectionNotFound(NotFoundError):
    """The account has no such connection."""

    code = "connection_not_found"


class CorrespondentLimit(ConflictError):
    """The account has the maximum number of correspondents."""

    code = "correspondent_limit"


class CorrespondentNotFound(NotFoundError):
    """The name has no such correspondent."""

    code = "correspondent_not_found"


class CredentialsInvalid(UnauthorizedError):
    """The credentials are not valid."""

    code = "credentials_invalid"


class CredentialsMissing(UnauthorizedError):
    """Credentials are missing."""

    code = "credentials_missing"


class CursorExpired(GoneError):
    """The cursor has expired."""

    code = "cursor_expired"


class DatabaseBusy(ServerError):
    """The database is too busy."""

    code = "database_busy"


class DatabaseUnavailable(ServerError):
    """The database is unavailable."""

    code = "database_unavailable"


class DecidersNotChosen(ConflictError):
    """Members of the team would become deciders."""

    code = "deciders_not_chosen"


class DecidersTooFew(ConflictError):
    """The approval policy needs this decider."""

    code = "deciders_too_few"


class DecisionNotFound(NotFoundError):
    """No decision of this person about the plan stands."""

    code = "decision_not_found"


class DeliveryInFlight(ConflictError):
    """The delivery is being sent."""

    code = "delivery_in_flight"


class DeliveryIsTest(ConflictError):
    """A test send is one attempt and cannot be retried."""

    code = "delivery_is_test"


class DeliveryNotFound(NotFoundError):
    """The account has no such delivery."""

    code = "delivery_not_found"


class DeliveryTooOld(ConflictError):
    """The delivery is about to be pruned."""

    code = "delivery_too_old"


class DestinationNotFound(NotFoundError):
    """No alias has such a destination."""

    code = "destination_not_found"


class DeviceCodeInvalid(BadRequestError):
    """The device code is unknown or used."""

    code = "device_code_invalid"


class DeviceCodesUsedUp(ForbiddenError):
    """Too many wrong codes were typed in this session."""

    code = "device_codes_used_up"


class DeviceRequestEnded(ConflictError):
    """The request of the machine was decided or has expired."""

    code = "device_request_ended"


class DeviceRequestNotFound(NotFoundError):
    """The account has no such request of a machine."""

    code = "device_request_not_found"


class DeviceRequestsFull(ServerError):
    """Too many machines wait for a person."""

    code = "device_requests_full"


class DomainExists(ConflictError):
    """The account has the domain already."""

    code = "domain_exists"


class DomainHasHistory(ConflictError):
    """The domain has entries, charges or a sale."""

    code = "domain_has_history"


class DomainInCatalog(ConflictError):
    """The catalog has this domain."""

    code = "domain_in_catalog"


class DomainInUse(ConflictError):
    """Names on the domain are still claimed."""

    code = "domain_in_use"


class DomainLimit(ConflictError):
    """The account has the maximum number of domains."""

    code = "domain_limit"


class DomainNotAtProvider(ConflictError):
    """The registrar does not hold the domain for the account."""

    code = "domain_not_at_provider"


class DomainNotFound(NotFoundError):
    """The catalog has no such domain."""

    code = "domain_not_found"


class DomainNotInCatalog(ConflictError):
    """The domain is not in the catalog."""

    code = "domain_not_in_catalog"


class DomainReleased(ConflictError):
    """The domain was released."""

    code = "domain_released"


class DomainTaken(ConflictError):
    """Another account has verified the domain."""

    code = "domain_taken"


class DomainsChanged(ConflictError):
    """A domain has changed since the dry run, so nothing is changed."""

    code = "domains_changed"


class DuplicateDomain(ConflictError):
    """The portfolio has this domain already."""

    code = "duplicate_domain"


class EmailTaken(ConflictError):
    """The email address belongs to an account."""

    code = "email_taken"


class EmailUnverified(ForbiddenError):
    """The account's email address is not verified."""

    code = "email_unverified"


class EntryLimit(ConflictError):
    """The domain or the portfolio has as many entries as it can have."""

    code = "entry_limit"


class EventMalformed(BadRequestError):
    """The signed body is not a Stripe event."""

    code = "event_malformed"


class ExpiredToken(BadRequestError):
    """The device code has expired."""

    code = "expired_token"


class ExportNotFound(NotFoundError):
    """These credentials have no such export."""

    code = "export_not_found"


class ExportNotReady(ConflictError):
    """The export has no content."""

    code = "export_not_ready"


class ExportRunning(ConflictError):
    """An export of the account is being written."""

    code = "export_running"


class FeedBusy(ServerError):
    """Too many requests are waiting for events."""

    code = "feed_busy"


class ForbiddenRole(ForbiddenError):
    """The role does not allow this."""

    code = "forbidden_role"


class FreshSignInRequired(UnauthorizedError):
    """The person must sign in again."""

    code = "fresh_sign_in_required"


class GrantInvalid(BadRequestError):
    """The grant is unknown, used, revoked or expired."""

    code = "grant_invalid"


class GrantNotFound(NotFoundError):
    """There is no such login-as grant."""

    code = "grant_not_found"


class HeadTooLarge(ApiError):
    """The request line and headers are too large."""

    code = "head_too_large"


class HeavyRequestRunning(TooManyRequestsError):
    """Other large requests of the account are running."""

    code = "heavy_request_running"


class HttpVersionUnsupported(ServerError):
    """The HTTP version is not supported."""

    code = "http_version_unsupported"


class IdempotencyInFlight(ConflictError):
    """Another request with this Idempotency-Key is in progress."""

    code = "idempotency_in_flight"


class IdentityNotFound(NotFoundError):
    """The issuer's subject is not linked to the account."""

    code = "identity_not_found"


class IdentityTaken(ConflictError):
    """The issuer's subject is linked to an account."""

    code = "identity_taken"


class ImpersonationForbidden(ForbiddenError):
    """A support session cannot do this."""

    code = "impersonation_forbidden"


class ImportFinal(ConflictError):
    """The import can no longer be undone."""

    code = "import_final"


class ImportNotFound(NotFoundError):
    """There is no such import."""

    code = "import_not_found"


class ImportRowLimit(TooManyRequestsError):
    """The imports of a day have the maximum number of rows."""

    code = "import_row_limit"


class ImportRunning(ConflictError):
    """The import has not ended."""

    code = "import_running"


class InsufficientScope(ForbiddenError):
    """The credentials lack a scope."""

    code = "insufficient_scope"


class InternalError(ServerError):
    """An internal error occurred."""

    code = "internal_error"


class InvalidTransition(ConflictError):
    """The status of the invoice does not allow this transition."""

    code = "invalid_transition"


class InventoryLimit(ConflictError):
    """The inventory of the portfolio has the maximum number of domains."""

    code = "inventory_limit"


class InviteExpired(GoneError):
    """The invitation has expired or was revoked."""

    code = "invite_expired"


class InviteNotFound(NotFoundError):
    """There is no such pending invitation."""

    code = "invite_not_found"


class InviteOtherAddress(ForbiddenError):
    """The invitation is for another email address."""

    code = "invite_other_address"


class InviteUsed(ConflictError):
    """The invitation was accepted before."""

    code = "invite_used"


class InvoiceNotFound(NotFoundError):
    """The account has no such invoice."""

    code = "invoice_not_found"


class IssuerSignInRefused(BadRequestError):
    """The sign-in at the issuer did not succeed."""

    code = "issuer_sign_in_refused"


class IssuerUnavailable(ServerError):
    """The issuer of the token is not available."""

    code = "issuer_unavailable"


class LastOwner(ConflictError):
    """The portfolio's own account must remain its owner."""

    code = "last_owner"


class LinkAltered(BadRequestError):
    """The link or its signature was altered."""

    code = "link_altered"


class LiveKeyRequired(ForbiddenError):
    """A live key is required."""

    code = "live_key_required"


class MandateExceeded(ForbiddenError):
    """The mandate of the credentials does not allow this."""

    code = "mandate_exceeded"


class ManifestTooLarge(TooLargeError):
    """The manifest is too large."""

    code = "manifest_too_large"


class MediaTypeUnsupported(MediaTypeError):
    """The media type or coding of the body is not supported."""

    code = "media_type_unsupported"


class MemberNotFound(NotFoundError):
    """The team has no such member."""

    code = "member_not_found"


class MembershipLimit(ConflictError):
    """The account is a member of the maximum number of teams."""

    code = "membership_limit"


class MessageNotFound(NotFoundError):
    """There is no such message for this credential, or its time has passed."""

    code = "message_not_found"


class MessageUnanswerable(ConflictError):
    """No program answers this message."""

    code = "message_unanswerable"


class MethodNotAllowed(MethodError):
    """The path does not support this method."""

    code = "method_not_allowed"


class NamesRefused(ConflictError):
    """Some of the names cannot be claimed."""

    code = "names_refused"


class NoSession(ConflictError):
    """These credentials do not belong to a session."""

    code = "no_session"


class NotConnected(ConflictError):
    """The registrar is not connected."""

    code = "not_connected"


class NotFound(NotFoundError):
    """Not found."""

    code = "not_found"


class NothingDue(ConflictError):
    """The invoice has no amount due."""

    code = "nothing_due"


class OriginForbidden(ForbiddenError):
    """The request does not come from the service's own pages."""

    code = "origin_forbidden"


class OwnPlan(ForbiddenError):
    """The policy does not let the account approve its own plans."""

    code = "own_plan"


class OwnProposal(ForbiddenError):
    """The policy does not let a person confirm their own proposal."""

    code = "own_proposal"


class ParkingLimit(ConflictError):
    """The portfolio has as many days of parking revenue as it can have."""

    code = "parking_limit"


class PersonRequired(ForbiddenError):
    """A person must do this, signed in with a browser."""

    code = "person_required"


class PlanBlocked(ConflictError):
    """The plan has errors."""

    code = "plan_blocked"


class PlanDigestMismatch(ConflictError):
    """The digest does not match the plan."""

    code = "plan_digest_mismatch"


class PlanExpired(GoneError):
    """The plan has expired."""

    code = "plan_expired"


class PlanNotFound(NotFoundError):
    """The account has no such plan."""

    code = "plan_not_found"


class PlanPromoted(ConflictError):
    """The plan has been promoted."""

    code = "plan_promoted"


class PlanStale(ConflictError):
    """The live state has changed since the plan was made."""

    code = "plan_stale"


class PolicyProposalNotFound(NotFoundError):
    """The account has no such proposal of a policy."""

    code = "policy_proposal_not_found"


class PortfolioDomainLimit(ConflictError):
    """The portfolio has the maximum number of domains."""

    code = "portfolio_domain_limit"


class PortfolioDomainNotFound(NotFoundError):
    """There is no such domain."""

    code = "portfolio_domain_not_found"


class PortfolioNotFound(NotFoundError):
    """There is no such portfolio."""

    code = "portfolio_not_found"


class PrefetchRefused(ServerError):
    """A prefetching browser may not follow this link."""

    code = "prefetch_refused"


class PricesChanged(ConflictError):
    """The price of a name changed between plan and claim."""

    code = "prices_changed"


class ProjectArchived(ConflictError):
    """The project is archived."""

    code = "project_archived"


class ProjectLimit(ConflictError):
    """The account has the maximum number of active projects."""

    code = "project_limit"


class ProjectNotFound(NotFoundError):
    """There is no such project."""

    code = "project_not_found"


class PromotionLimit(TooManyRequestsError):
    """The account has made the maximum number of promotions of a day."""

    code = "promotion_limit"


class PromotionNotFound(NotFoundError):
    """The account has no such promotion."""

    code = "promotion_not_found"


class PromotionRunning(ConflictError):
    """Another promotion of the account is running."""

    code = "promotion_running"


class ProviderAccessRestricted(ApiError):
    """The registrar does not allow this account or address to use its API."""

    code = "provider_access_restricted"


class ProviderAuthFailed(ApiError):
    """The registrar does not accept the credentials."""

    code = "provider_auth_failed"


class ProviderListIncomplete(ServerError):
    """The registrar's list is not known to be complete."""

    code = "provider_list_incomplete"


class ProviderNotFound(NotFoundError):
    """There is no such registrar."""

    code = "provider_not_found"


class ProviderRateLimited(TooManyRequestsError):
    """The registrar's rate limit is reached."""

    code = "provider_rate_limited"


class ProviderRefused(ApiError):
    """The registrar refused the request."""

    code = "provider_refused"


class ProviderUnavailable(ServerError):
    """The registrar does not respond correctly."""

    code = "provider_unavailable"


class ProviderUnsupported(ConflictError):
    """The registrar's API does not offer this."""

    code = "provider_unsupported"


class RangeNotSatisfiable(ApiError):
    """The requested range of bytes is outside the content."""

    code = "range_not_satisfiable"


class RateLimited(TooManyRequestsError):
    """Too many requests."""

    code = "rate_limited"


class ReceptionNotFound(NotFoundError):
    """The name receives no mail as events, or for another credential."""

    code = "reception_not_found"


class RegistrarRunNotFound(NotFoundError):
    """There is no such run."""

    code = "registrar_run_not_found"


class RepliesDisabled(ConflictError):
    """The name does not reply."""

    code = "replies_disabled"


class RequestTimeout(ServerError):
    """The request took too long."""

    code = "request_timeout"


class ResendTooSoon(TooManyRequestsError):
    """It is too soon for another verification message."""

    code = "resend_too_soon"


class RotationInProgress(ConflictError):
    """The previous rotation of the key or secret has not ended."""

    code = "rotation_in_progress"


class SavedFormatLimit(ConflictError):
    """The portfolio has as many formats as it can have."""

    code = "saved_format_limit"


class SavedFormatNotFound(NotFoundError):
    """The portfolio has no such format."""

    code = "saved_format_not_found"


class SendingRefused(ForbiddenError):
    """The approval policy of the account lets no program send mail."""

    code = "sending_refused"


class SerialAhead(ConflictError):
    """The serial is greater than the latest serial of the database."""

    code = "serial_ahead"


class SessionNotFound(NotFoundError):
    """The account has no such session."""

    code = "session_not_found"


class SignInAddress(ConflictError):
    """The name is the address that signs in at the account."""

    code = "sign_in_address"


class SignatureInvalid(BadRequestError):
    """The signature is not valid."""

    code = "signature_invalid"


class SlowDown(BadRequestError):
    """The request came before the interval had passed."""

    code = "slow_down"


class SlugTaken(ConflictError):
    """An active project of the account has the slug."""

    code = "slug_taken"


class StripeNotConfigured(ServerError):
    """Payment links are not configured."""

    code = "stripe_not_configured"


class StripeRefused(ServerError):
    """Stripe refused the request."""

    code = "stripe_refused"


class StripeUnavailable(ServerError):
    """Stripe did not respond."""

    code = "stripe_unavailable"


class TeamLimit(ConflictError):
    """The team has the maximum number of members."""

    code = "team_limit"


class TokenInvalid(BadRequestError):
    """The token is unknown, used or expired."""

    code = "token_invalid"


class TooManyImports(TooManyRequestsError):
    """Too many imports have not ended."""

    code = "too_many_imports"


class TooManyWaiters(TooManyRequestsError):
    """The account has the maximum number of requests that wait for events."""

    code = "too_many_waiters"


class TotalExceeded(ConflictError):
    """The plan costs more than allowed."""

    code = "total_exceeded"


class TransferCodingUnsupported(ServerError):
    """The transfer coding is not supported."""

    code = "transfer_coding_unsupported"


class VersionMismatch(PreconditionError):
    """The version of the record differs from the version in the request."""

    code = "version_mismatch"


class WebhookDisabled(ConflictError):
    """The webhook destination is disabled."""

    code = "webhook_disabled"


class WebhookGone(ConflictError):
    """The webhook destination of this delivery was deleted."""

    code = "webhook_gone"


class WebhookLimit(ConflictError):
    """The account has the maximum number of webhook destinations."""

    code = "webhook_limit"


class WebhookNotFound(NotFoundError):
    """The account has no such webhook destination."""

    code = "webhook_not_found"


class WebhookSecretGone(ConflictError):
    """The webhook destination whose secret was to be copied does not exist."""

    code = "webhook_secret_gone"


class WebhookTestLimit(TooManyRequestsError):
    """Too many test sends."""

    code = "webhook_test_limit"


BY_STATUS: Mapping[int, type[ApiError]] = {
    400: BadRequestError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    405: MethodError,
    409: ConflictError,
    410: GoneError,
    412: PreconditionError,
    413: TooLargeError,
    415: MediaTypeError,
    422: InvalidError,
    429: TooManyRequestsError,
}
BY_CODE: Mapping[str, type[ApiError]] = {
    "access_denied": AccessDenied,
    "account_domain_not_found": AccountDomainNotFound,
    "account_not_found": AccountNotFound,
    "account_suspended": AccountSuspended,
    "account_unsettled": AccountUnsettled,
    "address_not_allowed": AddressNotAllowed,
    "alias_not_found": AliasNotFound,
    "alias_released": AliasReleased,
    "alias_suspended": AliasSuspended,
    "already_member": AlreadyMember,
    "answer_limit": AnswerLimit,
    "answer_not_allowed": AnswerNotAllowed,
    "api_key_disabled": ApiKeyDisabled,
    "api_key_expired": ApiKeyExpired,
    "api_key_limit": ApiKeyLimit,
    "api_key_limited": ApiKeyLimited,
    "api_key_not_found": ApiKeyNotFound,
    "api_key_revoked": ApiKeyRevoked,
    "approval_required": ApprovalRequired,
    "asset_not_found": AssetNotFound,
    "auth_code_limit": AuthCodeLimit,
    "authorization_pending": AuthorizationPending,
    "authorization_request_changed": AuthorizationRequestChanged,
    "authorization_request_invalid": AuthorizationRequestInvalid,
    "authorization_request_not_found": AuthorizationRequestNotFound,
    "authorization_requests_full": AuthorizationRequestsFull,
    "awaiting_acceptance": AwaitingAcceptance,
    "bad_request": BadRequest,
    "body_stalled": BodyStalled,
    "body_too_large": BodyTooLarge,
    "busy": Busy,
    "charge_limit": ChargeLimit,
    "charge_not_found": ChargeNotFound,
    "charge_not_open": ChargeNotOpen,
    "client_refused": ClientRefused,
    "client_unavailable": ClientUnavailable,
    "confirm_deletes_mismatch": ConfirmDeletesMismatch,
    "confirmation_too_soon": ConfirmationTooSoon,
    "connection_ambiguous": ConnectionAmbiguous,
    "connection_changed": ConnectionChanged,
    "connection_limit": ConnectionLimit,
    "connection_not_found": ConnectionNotFound,
    "correspondent_limit": CorrespondentLimit,
    "correspondent_not_found": CorrespondentNotFound,
    "credentials_invalid": CredentialsInvalid,
    "credentials_missing": CredentialsMissing,
    "cursor_expired": CursorExpired,
    "database_busy": DatabaseBusy,
    "database_unavailable": DatabaseUnavailable,
    "deciders_not_chosen": DecidersNotChosen,
    "deciders_too_few": DecidersTooFew,
    "decision_not_found": DecisionNotFound,
    "delivery_in_flight": DeliveryInFlight,
    "delivery_is_test": DeliveryIsTest,
    "delivery_not_found": DeliveryNotFound,
    "delivery_too_old": DeliveryTooOld,
    "destination_not_found": DestinationNotFound,
    "device_code_invalid": DeviceCodeInvalid,
    "device_codes_used_up": DeviceCodesUsedUp,
    "device_request_ended": DeviceRequestEnded,
    "device_request_not_found": DeviceRequestNotFound,
    "device_requests_full": DeviceRequestsFull,
    "domain_exists": DomainExists,
    "domain_has_history": DomainHasHistory,
    "domain_in_catalog": DomainInCatalog,
    "domain_in_use": DomainInUse,
    "domain_limit": DomainLimit,
    "domain_not_at_provider": DomainNotAtProvider,
    "domain_not_found": DomainNotFound,
    "domain_not_in_catalog": DomainNotInCatalog,
    "domain_released": DomainReleased,
    "domain_taken": DomainTaken,
    "domains_changed": DomainsChanged,
    "duplicate_domain": DuplicateDomain,
    "email_taken": EmailTaken,
    "email_unverified": EmailUnverified,
    "entry_limit": EntryLimit,
    "event_malformed": EventMalformed,
    "expired_token": ExpiredToken,
    "export_not_found": ExportNotFound,
    "export_not_ready": ExportNotReady,
    "export_running": ExportRunning,
    "feed_busy": FeedBusy,
    "forbidden_role": ForbiddenRole,
    "fresh_sign_in_required": FreshSignInRequired,
    "grant_invalid": GrantInvalid,
    "grant_not_found": GrantNotFound,
    "head_too_large": HeadTooLarge,
    "heavy_request_running": HeavyRequestRunning,
    "http_version_unsupported": HttpVersionUnsupported,
    "idempotency_in_flight": IdempotencyInFlight,
    "identity_not_found": IdentityNotFound,
    "identity_taken": IdentityTaken,
    "impersonation_forbidden": ImpersonationForbidden,
    "import_final": ImportFinal,
    "import_not_found": ImportNotFound,
    "import_row_limit": ImportRowLimit,
    "import_running": ImportRunning,
    "insufficient_scope": InsufficientScope,
    "internal_error": InternalError,
    "invalid_transition": InvalidTransition,
    "inventory_limit": InventoryLimit,
    "invite_expired": InviteExpired,
    "invite_not_found": InviteNotFound,
    "invite_other_address": InviteOtherAddress,
    "invite_used": InviteUsed,
    "invoice_not_found": InvoiceNotFound,
    "issuer_sign_in_refused": IssuerSignInRefused,
    "issuer_unavailable": IssuerUnavailable,
    "last_owner": LastOwner,
    "link_altered": LinkAltered,
    "live_key_required": LiveKeyRequired,
    "mandate_exceeded": MandateExceeded,
    "manifest_too_large": ManifestTooLarge,
    "media_type_unsupported": MediaTypeUnsupported,
    "member_not_found": MemberNotFound,
    "membership_limit": MembershipLimit,
    "message_not_found": MessageNotFound,
    "message_unanswerable": MessageUnanswerable,
    "method_not_allowed": MethodNotAllowed,
    "names_refused": NamesRefused,
    "no_session": NoSession,
    "not_connected": NotConnected,
    "not_found": NotFound,
    "nothing_due": NothingDue,
    "origin_forbidden": OriginForbidden,
    "own_plan": OwnPlan,
    "own_proposal": OwnProposal,
    "parking_limit": ParkingLimit,
    "person_required": PersonRequired,
    "plan_blocked": PlanBlocked,
    "plan_digest_mismatch": PlanDigestMismatch,
    "plan_expired": PlanExpired,
    "plan_not_found": PlanNotFound,
    "plan_promoted": PlanPromoted,
    "plan_stale": PlanStale,
    "policy_proposal_not_found": PolicyProposalNotFound,
    "portfolio_domain_limit": PortfolioDomainLimit,
    "portfolio_domain_not_found": PortfolioDomainNotFound,
    "portfolio_not_found": PortfolioNotFound,
    "prefetch_refused": PrefetchRefused,
    "prices_changed": PricesChanged,
    "project_archived": ProjectArchived,
    "project_limit": ProjectLimit,
    "project_not_found": ProjectNotFound,
    "promotion_limit": PromotionLimit,
    "promotion_not_found": PromotionNotFound,
    "promotion_running": PromotionRunning,
    "provider_access_restricted": ProviderAccessRestricted,
    "provider_auth_failed": ProviderAuthFailed,
    "provider_list_incomplete": ProviderListIncomplete,
    "provider_not_found": ProviderNotFound,
    "provider_rate_limited": ProviderRateLimited,
    "provider_refused": ProviderRefused,
    "provider_unavailable": ProviderUnavailable,
    "provider_unsupported": ProviderUnsupported,
    "range_not_satisfiable": RangeNotSatisfiable,
    "rate_limited": RateLimited,
    "reception_not_found": ReceptionNotFound,
    "registrar_run_not_found": RegistrarRunNotFound,
    "replies_disabled": RepliesDisabled,
    "request_timeout": RequestTimeout,
    "resend_too_soon": ResendTooSoon,
    "rotation_in_progress": RotationInProgress,
    "saved_format_limit": SavedFormatLimit,
    "saved_format_not_found": SavedFormatNotFound,
    "sending_refused": SendingRefused,
    "serial_ahead": SerialAhead,
    "session_not_found": SessionNotFound,
    "sign_in_address": SignInAddress,
    "signature_invalid": SignatureInvalid,
    "slow_down": SlowDown,
    "slug_taken": SlugTaken,
    "stripe_not_configured": StripeNotConfigured,
    "stripe_refused": StripeRefused,
    "stripe_unavailable": StripeUnavailable,
    "team_limit": TeamLimit,
    "token_invalid": TokenInvalid,
    "too_many_imports": TooManyImports,
    "too_many_waiters": TooManyWaiters,
    "total_exceeded": TotalExceeded,
    "transfer_coding_unsupported": TransferCodingUnsupported,
    "version_mismatch": VersionMismatch,
    "webhook_disabled": WebhookDisabled,
    "webhook_gone": WebhookGone,
    "webhook_limit": WebhookLimit,
    "webhook_not_found": WebhookNotFound,
    "webhook_secret_gone": WebhookSecretGone,
    "webhook_test_limit": WebhookTestLimit,
}
