/** Types of calls, from the types of the OpenAPI document. */

import type { MaybeOptionalInit } from "openapi-fetch";
import type { components, paths, webhooks } from "./schema.js";

export type { components, paths, webhooks };
/** The schemas of the document, such as `Schemas["PlanReply"]`. Amounts are decimal digits in text. */
export type Schemas = components["schemas"];

type Method = "get" | "put" | "post" | "patch" | "delete";
type PathOf<M extends Method> = { [P in keyof paths]: paths[P] extends Record<M, object> ? P : never }[keyof paths];
/** A method and a path of the document, such as `GET /v1/me`. */
export type Called = { [M in Method]: `${Uppercase<M>} ${PathOf<M>}` }[Method];

/** The media types of each status that is a success; none for a reply without content. */
export type Replies = Readonly<Record<number, readonly string[]>>;

/** An operation of the document, as the client sends it. */
export interface Operation {
  /** `operationId` of the document. */
  readonly id: string;
  /** The scope that the API key needs. */
  readonly scope?: string;
  /** It accepts an Idempotency-Key. */
  readonly keyed?: boolean;
  /** The service can refuse a test key. */
  readonly live?: boolean;
  /** It needs no credentials. */
  readonly public?: boolean;
  /** It can act on the portfolio of another account. */
  readonly portfolio?: boolean;
  /** The body is a form. */
  readonly form?: boolean;
  /** The members without which a body is incomplete. */
  readonly required?: readonly string[];
  /** The member of a page that has its items. */
  readonly items?: string;
  /** What is a success, unless that is 200 with JSON. */
  readonly replies?: Replies;
}

/** A reply: its data, and the response with its headers, such as `ETag`. */
export interface Reply<T> {
  readonly data: T;
  readonly response: Response;
}

type Success = 200 | 201 | 202 | 203 | 204 | 206;
type Content<R> = R extends { content: infer C } ? (C extends { "application/json": infer J } ? J : C[keyof C]) : undefined;
type Parsed = { text: string; blob: Blob; arrayBuffer: ArrayBuffer; stream: ReadableStream<Uint8Array> | null };
type Data<O, I> = I extends { parseAs: infer A extends keyof Parsed }
  ? Parsed[A]
  : O extends { responses: infer R }
    ? { [S in keyof R & Success]: Content<R[S]> }[keyof R & Success]
    : never;
type Given<I> = object extends I ? [init?: I] : [init: I];

/** A call of an operation by its path; a refusal is thrown. */
export type Call<M extends Method> = <P extends PathOf<M>, I extends MaybeOptionalInit<paths[P], M>>(
  path: P,
  ...init: Given<I>
) => Promise<Reply<Data<paths[P][M], I>>>;

type PageOf<P extends PathOf<"get">> = Data<paths[P]["get"], object>;
type Listed = { items: unknown[]; next_cursor: string | null } | { findings: unknown[]; next_cursor: string | null };
/** A path whose reply is a page of a list. */
export type ListPath = { [P in PathOf<"get">]: PageOf<P> extends Listed ? P : never }[PathOf<"get">];
/** A page of a list, with its totals. */
export type Page<P extends ListPath> = PageOf<P>;
export type Item<P extends ListPath> =
  Page<P> extends { items: (infer T)[] } ? T : Page<P> extends { findings: (infer T)[] } ? T : never;
export type ListInit<P extends ListPath> = Given<MaybeOptionalInit<paths[P], "get">>;

/** An event of the feed or of a webhook request. `isEvent` tells the type of its data. */
export type FeedEvent = Schemas["FeedEvent"];
/** The name of an event, such as `alias.created`. */
export type EventType = keyof webhooks;
/** An event with the type of its data. */
export type Event<T extends EventType> = webhooks[T]["post"]["requestBody"]["content"]["application/json"];

/** Return whether an event is of this type; then its `data` has a type. */
export function isEvent<T extends EventType>(event: FeedEvent | Event<EventType>, type: T): event is Event<T> {
  return event.type === type;
}
