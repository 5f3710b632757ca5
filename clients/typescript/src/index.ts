/** TypeScript client of Builders. */

export { Builders } from "./client.js";
export * as errors from "./errors.js";
export type { CursorStore, FollowOptions, Position } from "./events.js";
export { type Money, parseMoney } from "./money.js";
export * from "./names.js";
export { OPERATIONS } from "./operations.js";
export * from "./problems.js";
export type { Fetch, Retries, Waiting } from "./retries.js";
export type { Key, Options } from "./sender.js";
export * from "./types.js";
export { verify, type VerifyOptions } from "./webhooks.js";
