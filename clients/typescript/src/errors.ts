// Written by script/clients.
/** The errors of the service: a class for each code, below one for each status. Each has `nextAction`. */

import { ApiError } from "./problems.js";

export * from "./problems.js";

/** The status 400. */
export class BadRequestError extends ApiError {
  declare readonly status: 400;
}

/** The status 401. */
export class UnauthorizedError extends ApiError {
  declare readonly status: 401;
}

/** The status 403. */
export class ForbiddenError extends ApiError {
  declare readonly status: 403;
}

/** The status 404. */
export class NotFoundError extends ApiError {
  declare readonly status: 404;
}

/** The status 405. */
export class MethodError extends ApiError {
  declare readonly status: 405;
}

/** The status 409. */
export class ConflictError extends ApiError {
  declare readonly status: 409;
}

/** The status 410. */
export class GoneError extends ApiError {
  declare readonly status: 410;
}

/** The status 412. */
export class PreconditionError extends ApiError {
  declare readonly status: 412;
}

/** The status 413. */
export class TooLargeError extends ApiError {
  declare readonly status: 413;
}

/** The status 415. */
export class MediaTypeError extends ApiError {
  declare readonly status: 415;
}

/** The status 422; `errors` names each invalid value. */
export class InvalidError extends ApiError {
  declare readonly status: 422;
}

/** The status 429. */
export class TooManyRequestsError extends ApiError {
  declare readonly status: 429;
}

/** A status of 500 or above. */
export class ServerError extends ApiError {
  // The compiler distinguishes classes by their members.
  declare private readonly isServerError: true;
}

/** The person refused the request. */
export class AccessDenied extends BadRequestError {
  declare readonly code: "access_denied";
}

/** The account does not have the domain. */
export class AccountDomainNotFound extends NotFoundError {
  declare readonly code: "account_domain_not_found";
}

/** There is no such account. */
export class AccountNotFound extends NotFoundError {
  declare readonly code: "account_not_found";
}

/** The operator has suspended the account. */
export class AccountSuspended extends ForbiddenError {
  declare readonly code: "account_suspended";
}

/** Something of the account is open. */
export class AccountUnsettled extends ConflictError {
  declare readonly code: "account_unsettled";
}

/** The API key does not work from this address. */
export class AddressNotAllowed extends ForbiddenError {
  declare readonly code: "address_not_allowed";
}

/** There is no such alias. */
export class AliasNotFound extends NotFoundError {
  declare readonly code: "alias_not_found";
}

/** The alias was released. */
export class AliasReleased extends ConflictError {
  declare readonly code: "alias_released";
}

/** The alias is suspended. */
export class AliasSuspended extends ConflictError {
  declare readonly code: "alias_suspended";
}

/** The account is a member already. */
export class AlreadyMember extends ConflictError {
  declare readonly code: "already_member";
}

/** There are as many answers as are allowed. */
export class AnswerLimit extends TooManyRequestsError {
  declare readonly code: "answer_limit";
}

/** The rule of the name allows no answers. */
export class AnswerNotAllowed extends ForbiddenError {
  declare readonly code: "answer_not_allowed";
}

/** The API key is disabled since a restore. */
export class ApiKeyDisabled extends UnauthorizedError {
  declare readonly code: "api_key_disabled";
}

/** The API key has expired. */
export class ApiKeyExpired extends UnauthorizedError {
  declare readonly code: "api_key_expired";
}

/** The account has the maximum number of active API keys. */
export class ApiKeyLimit extends ConflictError {
  declare readonly code: "api_key_limit";
}

/** An API key cannot create a key with weaker limits than its own. */
export class ApiKeyLimited extends ForbiddenError {
  declare readonly code: "api_key_limited";
}

/** The account has no such API key. */
export class ApiKeyNotFound extends NotFoundError {
  declare readonly code: "api_key_not_found";
}

/** The API key is revoked or expired. */
export class ApiKeyRevoked extends ConflictError {
  declare readonly code: "api_key_revoked";
}

/** A person must approve this. */
export class ApprovalRequired extends ForbiddenError {
  declare readonly code: "approval_required";
}

/** The image does not exist. */
export class AssetNotFound extends NotFoundError {
  declare readonly code: "asset_not_found";
}

/** The auth code of this domain was requested too often. */
export class AuthCodeLimit extends TooManyRequestsError {
  declare readonly code: "auth_code_limit";
}

/** The person has not decided. */
export class AuthorizationPending extends BadRequestError {
  declare readonly code: "authorization_pending";
}

/** The program describes itself differently now. */
export class AuthorizationRequestChanged extends ConflictError {
  declare readonly code: "authorization_request_changed";
}

/** The request of the program is not valid. */
export class AuthorizationRequestInvalid extends BadRequestError {
  declare readonly code: "authorization_request_invalid";
}

/** This browser has no such request of a program. */
export class AuthorizationRequestNotFound extends NotFoundError {
  declare readonly code: "authorization_request_not_found";
}

/** Too many programs wait for a person. */
export class AuthorizationRequestsFull extends ServerError {
  declare readonly code: "authorization_requests_full";
}

/** The service was restored from a backup and only reads. */
export class AwaitingAcceptance extends ServerError {
  declare readonly code: "awaiting_acceptance";
}

/** The request could not be read. */
export class BadRequest extends BadRequestError {
  declare readonly code: "bad_request";
}

/** The request body did not arrive in time. */
export class BodyStalled extends ApiError {
  declare readonly code: "body_stalled";
}

/** The request body is too large. */
export class BodyTooLarge extends TooLargeError {
  declare readonly code: "body_too_large";
}

/** The service is too busy. */
export class Busy extends ServerError {
  declare readonly code: "busy";
}

/** The portfolio has the maximum number of charges. */
export class ChargeLimit extends ConflictError {
  declare readonly code: "charge_limit";
}

/** There is no such charge. */
export class ChargeNotFound extends NotFoundError {
  declare readonly code: "charge_not_found";
}

/** The charge is booked, ignored or split. */
export class ChargeNotOpen extends ConflictError {
  declare readonly code: "charge_not_open";
}

/** The request of the client was refused. */
export class ClientRefused extends BadRequestError {
  declare readonly code: "client_refused";
}

/** The description of the program is not available. */
export class ClientUnavailable extends ServerError {
  declare readonly code: "client_unavailable";
}

/** The number of deletions was not confirmed. */
export class ConfirmDeletesMismatch extends ConflictError {
  declare readonly code: "confirm_deletes_mismatch";
}

/** It is too soon to send another confirmation to the destination. */
export class ConfirmationTooSoon extends TooManyRequestsError {
  declare readonly code: "confirmation_too_soon";
}

/** The portfolio has several connections to the registrar. */
export class ConnectionAmbiguous extends ConflictError {
  declare readonly code: "connection_ambiguous";
}

/** A concurrent request changed the connection. */
export class ConnectionChanged extends ConflictError {
  declare readonly code: "connection_changed";
}

/** The portfolio has the maximum number of registrar connections. */
export class ConnectionLimit extends ConflictError {
  declare readonly code: "connection_limit";
}

/** The account has no such connection. */
export class ConnectionNotFound extends NotFoundError {
  declare readonly code: "connection_not_found";
}

/** The account has the maximum number of correspondents. */
export class CorrespondentLimit extends ConflictError {
  declare readonly code: "correspondent_limit";
}

/** The name has no such correspondent. */
export class CorrespondentNotFound extends NotFoundError {
  declare readonly code: "correspondent_not_found";
}

/** The credentials are not valid. */
export class CredentialsInvalid extends UnauthorizedError {
  declare readonly code: "credentials_invalid";
}

/** Credentials are missing. */
export class CredentialsMissing extends UnauthorizedError {
  declare readonly code: "credentials_missing";
}

/** The cursor has expired. */
export class CursorExpired extends GoneError {
  declare readonly code: "cursor_expired";
}

/** The database is too busy. */
export class DatabaseBusy extends ServerError {
  declare readonly code: "database_busy";
}

/** The database is unavailable. */
export class DatabaseUnavailable extends ServerError {
  declare readonly code: "database_unavailable";
}

/** Members of the team would become deciders. */
export class DecidersNotChosen extends ConflictError {
  declare readonly code: "deciders_not_chosen";
}

/** The approval policy needs this decider. */
export class DecidersTooFew extends ConflictError {
  declare readonly code: "deciders_too_few";
}

/** No decision of this person about the plan stands. */
export class DecisionNotFound extends NotFoundError {
  declare readonly code: "decision_not_found";
}

/** The delivery is being sent. */
export class DeliveryInFlight extends ConflictError {
  declare readonly code: "delivery_in_flight";
}

/** A test send is one attempt and cannot be retried. */
export class DeliveryIsTest extends ConflictError {
  declare readonly code: "delivery_is_test";
}

/** The account has no such delivery. */
export class DeliveryNotFound extends NotFoundError {
  declare readonly code: "delivery_not_found";
}

/** The delivery is about to be pruned. */
export class DeliveryTooOld extends ConflictError {
  declare readonly code: "delivery_too_old";
}

/** No alias has such a destination. */
export class DestinationNotFound extends NotFoundError {
  declare readonly code: "destination_not_found";
}

/** The device code is unknown or used. */
export class DeviceCodeInvalid extends BadRequestError {
  declare readonly code: "device_code_invalid";
}

/** Too many wrong codes were typed in this session. */
export class DeviceCodesUsedUp extends ForbiddenError {
  declare readonly code: "device_codes_used_up";
}

/** The request of the machine was decided or has expired. */
export class DeviceRequestEnded extends ConflictError {
  declare readonly code: "device_request_ended";
}

/** The account has no such request of a machine. */
export class DeviceRequestNotFound extends NotFoundError {
  declare readonly code: "device_request_not_found";
}

/** Too many machines wait for a person. */
export class DeviceRequestsFull extends ServerError {
  declare readonly code: "device_requests_full";
}

/** The account has the domain already. */
export class DomainExists extends ConflictError {
  declare readonly code: "domain_exists";
}

/** The domain has entries, charges or a sale. */
export class DomainHasHistory extends ConflictError {
  declare readonly code: "domain_has_history";
}

/** The catalog has this domain. */
export class DomainInCatalog extends ConflictError {
  declare readonly code: "domain_in_catalog";
}

/** Names on the domain are still claimed. */
export class DomainInUse extends ConflictError {
  declare readonly code: "domain_in_use";
}

/** The account has the maximum number of domains. */
export class DomainLimit extends ConflictError {
  declare readonly code: "domain_limit";
}

/** The registrar does not hold the domain for the account. */
export class DomainNotAtProvider extends ConflictError {
  declare readonly code: "domain_not_at_provider";
}

/** The catalog has no such domain. */
export class DomainNotFound extends NotFoundError {
  declare readonly code: "domain_not_found";
}

/** The domain is not in the catalog. */
export class DomainNotInCatalog extends ConflictError {
  declare readonly code: "domain_not_in_catalog";
}

/** The domain was released. */
export class DomainReleased extends ConflictError {
  declare readonly code: "domain_released";
}

/** Another account has verified the domain. */
export class DomainTaken extends ConflictError {
  declare readonly code: "domain_taken";
}

/** A domain has changed since the dry run, so nothing is changed. */
export class DomainsChanged extends ConflictError {
  declare readonly code: "domains_changed";
}

/** The portfolio has this domain already. */
export class DuplicateDomain extends ConflictError {
  declare readonly code: "duplicate_domain";
}

/** The email address belongs to an account. */
export class EmailTaken extends ConflictError {
  declare readonly code: "email_taken";
}

/** The account's email address is not verified. */
export class EmailUnverified extends ForbiddenError {
  declare readonly code: "email_unverified";
}

/** The domain or the portfolio has as many entries as it can have. */
export class EntryLimit extends ConflictError {
  declare readonly code: "entry_limit";
}

/** The signed body is not a Stripe event. */
export class EventMalformed extends BadRequestError {
  declare readonly code: "event_malformed";
}

/** The device code has expired. */
export class ExpiredToken extends BadRequestError {
  declare readonly code: "expired_token";
}

/** These credentials have no such export. */
export class ExportNotFound extends NotFoundError {
  declare readonly code: "export_not_found";
}

/** The export has no content. */
export class ExportNotReady extends ConflictError {
  declare readonly code: "export_not_ready";
}

/** An export of the account is being written. */
export class ExportRunning extends ConflictError {
  declare readonly code: "export_running";
}

/** Too many requests are waiting for events. */
export class FeedBusy extends ServerError {
  declare readonly code: "feed_busy";
}

/** The role does not allow this. */
export class ForbiddenRole extends ForbiddenError {
  declare readonly code: "forbidden_role";
}

/** The person must sign in again. */
export class FreshSignInRequired extends UnauthorizedError {
  declare readonly code: "fresh_sign_in_required";
}

/** The grant is unknown, used, revoked or expired. */
export class GrantInvalid extends BadRequestError {
  declare readonly code: "grant_invalid";
}

/** There is no such login-as grant. */
export class GrantNotFound extends NotFoundError {
  declare readonly code: "grant_not_found";
}

/** The request line and headers are too large. */
export class HeadTooLarge extends ApiError {
  declare readonly code: "head_too_large";
}

/** Other large requests of the account are running. */
export class HeavyRequestRunning extends TooManyRequestsError {
  declare readonly code: "heavy_request_running";
}

/** The HTTP version is not supported. */
export class HttpVersionUnsupported extends ServerError {
  declare readonly code: "http_version_unsupported";
}

/** Another request with this Idempotency-Key is in progress. */
export class IdempotencyInFlight extends ConflictError {
  declare readonly code: "idempotency_in_flight";
}

/** The issuer's subject is not linked to the account. */
export class IdentityNotFound extends NotFoundError {
  declare readonly code: "identity_not_found";
}

/** The issuer's subject is linked to an account. */
export class IdentityTaken extends ConflictError {
  declare readonly code: "identity_taken";
}

/** A support session cannot do this. */
export class ImpersonationForbidden extends ForbiddenError {
  declare readonly code: "impersonation_forbidden";
}

/** The import can no longer be undone. */
export class ImportFinal extends ConflictError {
  declare readonly code: "import_final";
}

/** There is no such import. */
export class ImportNotFound extends NotFoundError {
  declare readonly code: "import_not_found";
}

/** The imports of a day have the maximum number of rows. */
export class ImportRowLimit extends TooManyRequestsError {
  declare readonly code: "import_row_limit";
}

/** The import has not ended. */
export class ImportRunning extends ConflictError {
  declare readonly code: "import_running";
}

/** The credentials lack a scope. */
export class InsufficientScope extends ForbiddenError {
  declare readonly code: "insufficient_scope";
}

/** An internal error occurred. */
export class InternalError extends ServerError {
  declare readonly code: "internal_error";
}

/** The status of the invoice does not allow this transition. */
export class InvalidTransition extends ConflictError {
  declare readonly code: "invalid_transition";
}

/** The inventory of the portfolio has the maximum number of domains. */
export class InventoryLimit extends ConflictError {
  declare readonly code: "inventory_limit";
}

/** The invitation has expired or was revoked. */
export class InviteExpired extends GoneError {
  declare readonly code: "invite_expired";
}

/** There is no such pending invitation. */
export class InviteNotFound extends NotFoundError {
  declare readonly code: "invite_not_found";
}

/** The invitation is for another email address. */
export class InviteOtherAddress extends ForbiddenError {
  declare readonly code: "invite_other_address";
}

/** The invitation was accepted before. */
export class InviteUsed extends ConflictError {
  declare readonly code: "invite_used";
}

/** The account has no such invoice. */
export class InvoiceNotFound extends NotFoundError {
  declare readonly code: "invoice_not_found";
}

/** The sign-in at the issuer did not succeed. */
export class IssuerSignInRefused extends BadRequestError {
  declare readonly code: "issuer_sign_in_refused";
}

/** The issuer of the token is not available. */
export class IssuerUnavailable extends ServerError {
  declare readonly code: "issuer_unavailable";
}

/** The portfolio's own account must remain its owner. */
export class LastOwner extends ConflictError {
  declare readonly code: "last_owner";
}

/** The link or its signature was altered. */
export class LinkAltered extends BadRequestError {
  declare readonly code: "link_altered";
}

/** A live key is required. */
export class LiveKeyRequired extends ForbiddenError {
  declare readonly code: "live_key_required";
}

/** The mandate of the credentials does not allow this. */
export class MandateExceeded extends ForbiddenError {
  declare readonly code: "mandate_exceeded";
}

/** The manifest is too large. */
export class ManifestTooLarge extends TooLargeError {
  declare readonly code: "manifest_too_large";
}

/** The media type or coding of the body is not supported. */
export class MediaTypeUnsupported extends MediaTypeError {
  declare readonly code: "media_type_unsupported";
}

/** The team has no such member. */
export class MemberNotFound extends NotFoundError {
  declare readonly code: "member_not_found";
}

/** The account is a member of the maximum number of teams. */
export class MembershipLimit extends ConflictError {
  declare readonly code: "membership_limit";
}

/** There is no such message for this credential, or its time has passed. */
export class MessageNotFound extends NotFoundError {
  declare readonly code: "message_not_found";
}

/** No program answers this message. */
export class MessageUnanswerable extends ConflictError {
  declare readonly code: "message_unanswerable";
}

/** The path does not support this method. */
export class MethodNotAllowed extends MethodError {
  declare readonly code: "method_not_allowed";
}

/** Some of the names cannot be claimed. */
export class NamesRefused extends ConflictError {
  declare readonly code: "names_refused";
}

/** These credentials do not belong to a session. */
export class NoSession extends ConflictError {
  declare readonly code: "no_session";
}

/** The registrar is not connected. */
export class NotConnected extends ConflictError {
  declare readonly code: "not_connected";
}

/** Not found. */
export class NotFound extends NotFoundError {
  declare readonly code: "not_found";
}

/** The invoice has no amount due. */
export class NothingDue extends ConflictError {
  declare readonly code: "nothing_due";
}

/** The request does not come from the service's own pages. */
export class OriginForbidden extends ForbiddenError {
  declare readonly code: "origin_forbidden";
}

/** The policy does not let the account approve its own plans. */
export class OwnPlan extends ForbiddenError {
  declare readonly code: "own_plan";
}

/** The policy does not let a person confirm their own proposal. */
export class OwnProposal extends ForbiddenError {
  declare readonly code: "own_proposal";
}

/** The portfolio has as many days of parking revenue as it can have. */
export class ParkingLimit extends ConflictError {
  declare readonly code: "parking_limit";
}

/** A person must do this, signed in with a browser. */
export class PersonRequired extends ForbiddenError {
  declare readonly code: "person_required";
}

/** The plan has errors. */
export class PlanBlocked extends ConflictError {
  declare readonly code: "plan_blocked";
}

/** The digest does not match the plan. */
export class PlanDigestMismatch extends ConflictError {
  declare readonly code: "plan_digest_mismatch";
}

/** The plan has expired. */
export class PlanExpired extends GoneError {
  declare readonly code: "plan_expired";
}

/** The account has no such plan. */
export class PlanNotFound extends NotFoundError {
  declare readonly code: "plan_not_found";
}

/** The plan has been promoted. */
export class PlanPromoted extends ConflictError {
  declare readonly code: "plan_promoted";
}

/** The live state has changed since the plan was made. */
export class PlanStale extends ConflictError {
  declare readonly code: "plan_stale";
}

/** The account has no such proposal of a policy. */
export class PolicyProposalNotFound extends NotFoundError {
  declare readonly code: "policy_proposal_not_found";
}

/** The portfolio has the maximum number of domains. */
export class PortfolioDomainLimit extends ConflictError {
  declare readonly code: "portfolio_domain_limit";
}

/** There is no such domain. */
export class PortfolioDomainNotFound extends NotFoundError {
  declare readonly code: "portfolio_domain_not_found";
}

/** There is no such portfolio. */
export class PortfolioNotFound extends NotFoundError {
  declare readonly code: "portfolio_not_found";
}

/** A prefetching browser may not follow this link. */
export class PrefetchRefused extends ServerError {
  declare readonly code: "prefetch_refused";
}

/** The price of a name changed between plan and claim. */
export class PricesChanged extends ConflictError {
  declare readonly code: "prices_changed";
}

/** The project is archived. */
export class ProjectArchived extends ConflictError {
  declare readonly code: "project_archived";
}

/** The account has the maximum number of active projects. */
export class ProjectLimit extends ConflictError {
  declare readonly code: "project_limit";
}

/** There is no such project. */
export class ProjectNotFound extends NotFoundError {
  declare readonly code: "project_not_found";
}

/** The account has made the maximum number of promotions of a day. */
export class PromotionLimit extends TooManyRequestsError {
  declare readonly code: "promotion_limit";
}

/** The account has no such promotion. */
export class PromotionNotFound extends NotFoundError {
  declare readonly code: "promotion_not_found";
}

/** Another promotion of the account is running. */
export class PromotionRunning extends ConflictError {
  declare readonly code: "promotion_running";
}

/** The registrar does not allow this account or address to use its API. */
export class ProviderAccessRestricted extends ApiError {
  declare readonly code: "provider_access_restricted";
}

/** The registrar does not accept the credentials. */
export class ProviderAuthFailed extends ApiError {
  declare readonly code: "provider_auth_failed";
}

/** The registrar's list is not known to be complete. */
export class ProviderListIncomplete extends ServerError {
  declare readonly code: "provider_list_incomplete";
}

/** There is no such registrar. */
export class ProviderNotFound extends NotFoundError {
  declare readonly code: "provider_not_found";
}

/** The registrar's rate limit is reached. */
export class ProviderRateLimited extends TooManyRequestsError {
  declare readonly code: "provider_rate_limited";
}

/** The registrar refused the request. */
export class ProviderRefused extends ApiError {
  declare readonly code: "provider_refused";
}

/** The registrar does not respond correctly. */
export class ProviderUnavailable extends ServerError {
  declare readonly code: "provider_unavailable";
}

/** The registrar's API does not offer this. */
export class ProviderUnsupported extends ConflictError {
  declare readonly code: "provider_unsupported";
}

/** The requested range of bytes is outside the content. */
export class RangeNotSatisfiable extends ApiError {
  declare readonly code: "range_not_satisfiable";
}

/** Too many requests. */
export class RateLimited extends TooManyRequestsError {
  declare readonly code: "rate_limited";
}

/** The name receives no mail as events, or for another credential. */
export class ReceptionNotFound extends NotFoundError {
  declare readonly code: "reception_not_found";
}

/** There is no such run. */
export class RegistrarRunNotFound extends NotFoundError {
  declare readonly code: "registrar_run_not_found";
}

/** The name does not reply. */
export class RepliesDisabled extends ConflictError {
  declare readonly code: "replies_disabled";
}

/** The request took too long. */
export class RequestTimeout extends ServerError {
  declare readonly code: "request_timeout";
}

/** It is too soon for another verification message. */
export class ResendTooSoon extends TooManyRequestsError {
  declare readonly code: "resend_too_soon";
}

/** The previous rotation of the key or secret has not ended. */
export class RotationInProgress extends ConflictError {
  declare readonly code: "rotation_in_progress";
}

/** The portfolio has as many formats as it can have. */
export class SavedFormatLimit extends ConflictError {
  declare readonly code: "saved_format_limit";
}

/** The portfolio has no such format. */
export class SavedFormatNotFound extends NotFoundError {
  declare readonly code: "saved_format_not_found";
}

/** The approval policy of the account lets no program send mail. */
export class SendingRefused extends ForbiddenError {
  declare readonly code: "sending_refused";
}

/** The serial is greater than the latest serial of the database. */
export class SerialAhead extends ConflictError {
  declare readonly code: "serial_ahead";
}

/** The account has no such session. */
export class SessionNotFound extends NotFoundError {
  declare readonly code: "session_not_found";
}

/** The name is the address that signs in at the account. */
export class SignInAddress extends ConflictError {
  declare readonly code: "sign_in_address";
}

/** The signature is not valid. */
export class SignatureInvalid extends BadRequestError {
  declare readonly code: "signature_invalid";
}

/** The request came before the interval had passed. */
export class SlowDown extends BadRequestError {
  declare readonly code: "slow_down";
}

/** An active project of the account has the slug. */
export class SlugTaken extends ConflictError {
  declare readonly code: "slug_taken";
}

/** Payment links are not configured. */
export class StripeNotConfigured extends ServerError {
  declare readonly code: "stripe_not_configured";
}

/** Stripe refused the request. */
export class StripeRefused extends ServerError {
  declare readonly code: "stripe_refused";
}

/** Stripe did not respond. */
export class StripeUnavailable extends ServerError {
  declare readonly code: "stripe_unavailable";
}

/** The team has the maximum number of members. */
export class TeamLimit extends ConflictError {
  declare readonly code: "team_limit";
}

/** The token is unknown, used or expired. */
export class TokenInvalid extends BadRequestError {
  declare readonly code: "token_invalid";
}

/** Too many imports have not ended. */
export class TooManyImports extends TooManyRequestsError {
  declare readonly code: "too_many_imports";
}

/** The account has the maximum number of requests that wait for events. */
export class TooManyWaiters extends TooManyRequestsError {
  declare readonly code: "too_many_waiters";
}

/** The plan costs more than allowed. */
export class TotalExceeded extends ConflictError {
  declare readonly code: "total_exceeded";
}

/** The transfer coding is not supported. */
export class TransferCodingUnsupported extends ServerError {
  declare readonly code: "transfer_coding_unsupported";
}

/** The version of the record differs from the version in the request. */
export class VersionMismatch extends PreconditionError {
  declare readonly code: "version_mismatch";
}

/** The webhook destination is disabled. */
export class WebhookDisabled extends ConflictError {
  declare readonly code: "webhook_disabled";
}

/** The webhook destination of this delivery was deleted. */
export class WebhookGone extends ConflictError {
  declare readonly code: "webhook_gone";
}

/** The account has the maximum number of webhook destinations. */
export class WebhookLimit extends ConflictError {
  declare readonly code: "webhook_limit";
}

/** The account has no such webhook destination. */
export class WebhookNotFound extends NotFoundError {
  declare readonly code: "webhook_not_found";
}

/** The webhook destination whose secret was to be copied does not exist. */
export class WebhookSecretGone extends ConflictError {
  declare readonly code: "webhook_secret_gone";
}

/** Too many test sends. */
export class WebhookTestLimit extends TooManyRequestsError {
  declare readonly code: "webhook_test_limit";
}

export const BY_STATUS: Readonly<Record<number, typeof ApiError>> = {
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
};

export const BY_CODE: Readonly<Record<string, typeof ApiError>> = {
  access_denied: AccessDenied,
  account_domain_not_found: AccountDomainNotFound,
  account_not_found: AccountNotFound,
  account_suspended: AccountSuspended,
  account_unsettled: AccountUnsettled,
  address_not_allowed: AddressNotAllowed,
  alias_not_found: AliasNotFound,
  alias_released: AliasReleased,
  alias_suspended: AliasSuspended,
  already_member: AlreadyMember,
  answer_limit: AnswerLimit,
  answer_not_allowed: AnswerNotAllowed,
  api_key_disabled: ApiKeyDisabled,
  api_key_expired: ApiKeyExpired,
  api_key_limit: ApiKeyLimit,
  api_key_limited: ApiKeyLimited,
  api_key_not_found: ApiKeyNotFound,
  api_key_revoked: ApiKeyRevoked,
  approval_required: ApprovalRequired,
  asset_not_found: AssetNotFound,
  auth_code_limit: AuthCodeLimit,
  authorization_pending: AuthorizationPending,
  authorization_request_changed: AuthorizationRequestChanged,
  authorization_request_invalid: AuthorizationRequestInvalid,
  authorization_request_not_found: AuthorizationRequestNotFound,
  authorization_requests_full: AuthorizationRequestsFull,
  awaiting_acceptance: AwaitingAcceptance,
  bad_request: BadRequest,
  body_stalled: BodyStalled,
  body_too_large: BodyTooLarge,
  busy: Busy,
  charge_limit: ChargeLimit,
  charge_not_found: ChargeNotFound,
  charge_not_open: ChargeNotOpen,
  client_refused: ClientRefused,
  client_unavailable: ClientUnavailable,
  confirm_deletes_mismatch: ConfirmDeletesMismatch,
  confirmation_too_soon: ConfirmationTooSoon,
  connection_ambiguous: ConnectionAmbiguous,
  connection_changed: ConnectionChanged,
  connection_limit: ConnectionLimit,
  connection_not_found: ConnectionNotFound,
  correspondent_limit: CorrespondentLimit,
  correspondent_not_found: CorrespondentNotFound,
  credentials_invalid: CredentialsInvalid,
  credentials_missing: CredentialsMissing,
  cursor_expired: CursorExpired,
  database_busy: DatabaseBusy,
  database_unavailable: DatabaseUnavailable,
  deciders_not_chosen: DecidersNotChosen,
  deciders_too_few: DecidersTooFew,
  decision_not_found: DecisionNotFound,
  delivery_in_flight: DeliveryInFlight,
  delivery_is_test: DeliveryIsTest,
  delivery_not_found: DeliveryNotFound,
  delivery_too_old: DeliveryTooOld,
  destination_not_found: DestinationNotFound,
  device_code_invalid: DeviceCodeInvalid,
  device_codes_used_up: DeviceCodesUsedUp,
  device_request_ended: DeviceRequestEnded,
  device_request_not_found: DeviceRequestNotFound,
  device_requests_full: DeviceRequestsFull,
  domain_exists: DomainExists,
  domain_has_history: DomainHasHistory,
  domain_in_catalog: DomainInCatalog,
  domain_in_use: DomainInUse,
  domain_limit: DomainLimit,
  domain_not_at_provider: DomainNotAtProvider,
  domain_not_found: DomainNotFound,
  domain_not_in_catalog: DomainNotInCatalog,
  domain_released: DomainReleased,
  domain_taken: DomainTaken,
  domains_changed: DomainsChanged,
  duplicate_domain: DuplicateDomain,
  email_taken: EmailTaken,
  email_unverified: EmailUnverified,
  entry_limit: EntryLimit,
  event_malformed: EventMalformed,
  expired_token: ExpiredToken,
  export_not_found: ExportNotFound,
  export_not_ready: ExportNotReady,
  export_running: ExportRunning,
  feed_busy: FeedBusy,
  forbidden_role: ForbiddenRole,
  fresh_sign_in_required: FreshSignInRequired,
  grant_invalid: GrantInvalid,
  grant_not_found: GrantNotFound,
  head_too_large: HeadTooLarge,
  heavy_request_running: HeavyRequestRunning,
  http_version_unsupported: HttpVersionUnsupported,
  idempotency_in_flight: IdempotencyInFlight,
  identity_not_found: IdentityNotFound,
  identity_taken: IdentityTaken,
  impersonation_forbidden: ImpersonationForbidden,
  import_final: ImportFinal,
  import_not_found: ImportNotFound,
  import_row_limit: ImportRowLimit,
  import_running: ImportRunning,
  insufficient_scope: InsufficientScope,
  internal_error: InternalError,
  invalid_transition: InvalidTransition,
  inventory_limit: InventoryLimit,
  invite_expired: InviteExpired,
  invite_not_found: InviteNotFound,
  invite_other_address: InviteOtherAddress,
  invite_used: InviteUsed,
  invoice_not_found: InvoiceNotFound,
  issuer_sign_in_refused: IssuerSignInRefused,
  issuer_unavailable: IssuerUnavailable,
  last_owner: LastOwner,
  link_altered: LinkAltered,
  live_key_required: LiveKeyRequired,
  mandate_exceeded: MandateExceeded,
  manifest_too_large: ManifestTooLarge,
  media_type_unsupported: MediaTypeUnsupported,
  member_not_found: MemberNotFound,
  membership_limit: MembershipLimit,
  message_not_found: MessageNotFound,
  message_unanswerable: MessageUnanswerable,
  method_not_allowed: MethodNotAllowed,
  names_refused: NamesRefused,
  no_session: NoSession,
  not_connected: NotConnected,
  not_found: NotFound,
  nothing_due: NothingDue,
  origin_forbidden: OriginForbidden,
  own_plan: OwnPlan,
  own_proposal: OwnProposal,
  parking_limit: ParkingLimit,
  person_required: PersonRequired,
  plan_blocked: PlanBlocked,
  plan_digest_mismatch: PlanDigestMismatch,
  plan_expired: PlanExpired,
  plan_not_found: PlanNotFound,
  plan_promoted: PlanPromoted,
  plan_stale: PlanStale,
  policy_proposal_not_found: PolicyProposalNotFound,
  portfolio_domain_limit: PortfolioDomainLimit,
  portfolio_domain_not_found: PortfolioDomainNotFound,
  portfolio_not_found: PortfolioNotFound,
  prefetch_refused: PrefetchRefused,
  prices_changed: PricesChanged,
  project_archived: ProjectArchived,
  project_limit: ProjectLimit,
  project_not_found: ProjectNotFound,
  promotion_limit: PromotionLimit,
  promotion_not_found: PromotionNotFound,
  promotion_running: PromotionRunning,
  provider_access_restricted: ProviderAccessRestricted,
  provider_auth_failed: ProviderAuthFailed,
  provider_list_incomplete: ProviderListIncomplete,
  provider_not_found: ProviderNotFound,
  provider_rate_limited: ProviderRateLimited,
  provider_refused: ProviderRefused,
  provider_unavailable: ProviderUnavailable,
  provider_unsupported: ProviderUnsupported,
  range_not_satisfiable: RangeNotSatisfiable,
  rate_limited: RateLimited,
  reception_not_found: ReceptionNotFound,
  registrar_run_not_found: RegistrarRunNotFound,
  replies_disabled: RepliesDisabled,
  request_timeout: RequestTimeout,
  resend_too_soon: ResendTooSoon,
  rotation_in_progress: RotationInProgress,
  saved_format_limit: SavedFormatLimit,
  saved_format_not_found: SavedFormatNotFound,
  sending_refused: SendingRefused,
  serial_ahead: SerialAhead,
  session_not_found: SessionNotFound,
  sign_in_address: SignInAddress,
  signature_invalid: SignatureInvalid,
  slow_down: SlowDown,
  slug_taken: SlugTaken,
  stripe_not_configured: StripeNotConfigured,
  stripe_refused: StripeRefused,
  stripe_unavailable: StripeUnavailable,
  team_limit: TeamLimit,
  token_invalid: TokenInvalid,
  too_many_imports: TooManyImports,
  too_many_waiters: TooManyWaiters,
  total_exceeded: TotalExceeded,
  transfer_coding_unsupported: TransferCodingUnsupported,
  version_mismatch: VersionMismatch,
  webhook_disabled: WebhookDisabled,
  webhook_gone: WebhookGone,
  webhook_limit: WebhookLimit,
  webhook_not_found: WebhookNotFound,
  webhook_secret_gone: WebhookSecretGone,
  webhook_test_limit: WebhookTestLimit,
};