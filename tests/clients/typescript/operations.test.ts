// The calls of docs/reference/operations, which `check` writes into calls.ts, against a running service.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "builders-client";
import { calls } from "./calls.js";

// What the service answers when it has no such operation, or the request has another form.
const FORMS = new Set(["not_found", "method_not_allowed", "unsupported_media_type", "unknown_parameter"]);

test("each call of the documentation reaches its operation", async () => {
  const wrong: string[] = [];
  for (const call of calls) {
    try {
      await call();
    } catch (error) {
      const isOfValues = error instanceof ApiError && !FORMS.has(error.code);
      if (!isOfValues || error.errors.some((each) => each.location[0] === "body")) wrong.push(String(error));
    }
  }
  assert.deepEqual(wrong, []);
  assert.ok(calls.length > 150, `${calls.length}`);
});
