/** Errors of the client. `errors.ts` adds a class for each code of the service. */

/** Any error of this client. */
export class BuildersError extends Error {
  /** What to do, as a sentence. */
  readonly nextAction: string | undefined;

  constructor(message: string, nextAction?: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.nextAction = nextAction;
  }
}

/** A value of the request that is not valid. */
export interface FieldError {
  /** Path to the value, such as `["body", "events", 0]`. */
  readonly location: readonly (string | number)[];
  /** Text for people. */
  readonly message: string;
  /** Stable name of the broken rule. */
  readonly code: string;
  /** The known name or value that is closest. */
  readonly didYouMean: string | undefined;
}

type Members = Readonly<Record<string, unknown>>;

/** What the service said when it refused a request. */
export interface Refusal {
  readonly status: number;
  readonly members: Members;
  readonly requestId: string | undefined;
  readonly retryAfter: number | undefined;
}

/** The service refused the request. Branch on the class or on `code`; `detail` is for people. */
export class ApiError extends BuildersError {
  readonly status: number;
  /** Stable name of the problem; a later revision can add codes, which have the class of their status. */
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  /** The invalid values of a 422. */
  readonly errors: readonly FieldError[];
  readonly requestId: string | undefined;
  /** Seconds after which the request can be repeated. */
  readonly retryAfter: number | undefined;
  /** All members of the problem (RFC 9457), also those of its own such as `scope` or `changed`. */
  readonly members: Members;

  constructor({ status, members, requestId, retryAfter }: Refusal) {
    const code = text(members["code"]) ?? `http_${status}`;
    const errors = fieldErrors(members["detail"]);
    const joined = errors.map((each) => `${each.location.join(".")}: ${each.message}`).join("; ");
    const detail = text(members["detail"]) ?? joined;
    const title = text(members["title"]) ?? "";
    const nextAction = text(members["next_action"]);
    const id = text(members["request_id"]) ?? requestId;
    const said = `${status} ${code}: ${detail || title}`;
    super(`${said}${nextAction ? ` ${nextAction}` : ""}${id ? ` (request ${id})` : ""}`, nextAction);
    this.status = status;
    this.code = code;
    this.title = title;
    this.detail = detail;
    this.errors = errors;
    this.requestId = id;
    this.retryAfter = retryAfter;
    this.members = members;
  }
}

/** No answer arrived. The service may have executed the request. */
export class ConnectionFailed extends BuildersError {
  readonly reason: string;

  constructor(reason: string, options?: ErrorOptions) {
    super(reason, "Check the address of the service and the network, then repeat the request.", options);
    this.reason = reason;
  }
}

/** No answer arrived in time. The service may have executed the request. */
export class TimedOut extends ConnectionFailed {
  override readonly name = "TimedOut";
}

/** The request cannot be sent, such as with a line break in the API key or without a member of the body. */
export class RequestInvalid extends BuildersError {
  override readonly name = "RequestInvalid";

  constructor(message: string) {
    super(message, "Check baseUrl, the API key, and what you pass to the call.");
  }
}

/** The reply is not what the document describes: its status, its media type or its members. */
export class ReplyInvalid extends BuildersError {
  override readonly name = "ReplyInvalid";

  constructor(message: string, options?: ErrorOptions) {
    super(message, "Check baseUrl, and install the builders-client that fits the release of the service.", options);
  }
}

/** The resource is still the one of `If-None-Match`. */
export class NotModified extends BuildersError {
  override readonly name = "NotModified";
}

/** The operation needs an API key, and the client has none. */
export class NoCredentials extends BuildersError {
  override readonly name = "NoCredentials";

  constructor(operation: string) {
    super(`${operation} needs an API key`, "Give apiKey to Builders, or set BUILDERS_API_KEY.");
  }
}

/** The webhook request was not signed with the secret, or its time differs too much from the clock. */
export class SignatureMismatch extends BuildersError {
  override readonly name = "SignatureMismatch";

  constructor(message: string) {
    super(message, "Refuse the request with 400, and check the secret of the destination and the clock.");
  }
}

/** The secret is empty, or the text after `whsec_` is not base64: anybody could sign with it. */
export class SecretInvalid extends BuildersError {
  override readonly name = "SecretInvalid";

  constructor(message: string) {
    super(message, "Give the signing secret of the destination as the service showed it.");
  }
}

/** The cursor file has other content than `events.follow` writes. */
export class CursorFileInvalid extends BuildersError {
  override readonly name = "CursorFileInvalid";

  constructor(path: string, options: ErrorOptions) {
    const action = "Name another file; or delete the file, to start with the oldest stored event.";
    super(`${path} holds no position of the event feed`, action, options);
  }
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function fieldErrors(detail: unknown): FieldError[] {
  if (!Array.isArray(detail)) return [];
  const found = detail.filter((each): each is Members => typeof each === "object" && each !== null);
  return found.map((each) => ({
    location: Array.isArray(each["loc"]) ? each["loc"] : [],
    message: text(each["msg"]) ?? "",
    code: text(each["type"]) ?? "",
    didYouMean: text(each["did_you_mean"]),
  }));
}
