// The client against a running service.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { ApprovalPending, Builders, NameRefused, OPERATIONS, TotalTooHigh, errors, verify, type Waiting } from "builders-client";
import { ConnectionFailed, NoCredentials, RequestInvalid, SignatureMismatch, TimedOut } from "builders-client";
import { makeProxy } from "./proxy.js";

const { API = "", LIVE = "", TEST = "", SESSION = "", RECEIVER = "" } = process.env;
const FAST = { firstWait: 0.002, longestWait: 0.01 };
const TO = "ada@example.net";
const PLAN = "0193a1b2-0000-7000-8000-000000000004";
const live = new Builders({ apiKey: LIVE, baseUrl: API });
const both = new Builders({ apiKey: TEST, liveKey: LIVE, baseUrl: `${API}/v1/` });
const waits: Waiting[] = [];
let proxy: Awaited<ReturnType<typeof makeProxy>>;
let faulty: Builders;

before(async () => {
  proxy = await makeProxy(API);
  faulty = new Builders({ apiKey: LIVE, baseUrl: proxy.address, retries: { ...FAST, onWait: (each) => waits.push(each) } });
});
after(() => proxy.close());

async function collect<T, R>(all: AsyncIterable<T>, take: (each: T) => R): Promise<R[]> {
  const found: R[] = [];
  for await (const each of all) found.push(take(each));
  return found;
}

/** Let the next requests fail, and return those that were sent. */
async function during(faults: typeof proxy.faults, act: () => Promise<unknown>) {
  proxy.faults.splice(0, Infinity, ...faults);
  proxy.asked.splice(0);
  waits.splice(0);
  await act();
  return [...proxy.asked];
}
const create = (name: string, header = {}) =>
  faulty.POST("/v1/builders/projects", { body: { name }, params: { header } });

test("a list reads all pages", async () => {
  const names = ["Page 1", "Page 2", "Page 3", "Page 4", "Page 5"];
  for (const name of names) await live.POST("/v1/builders/projects", { body: { name } });
  const given = { params: { query: { limit: 2 } } };
  const found = await collect(live.items("/v1/builders/projects", given), (each) => each.name);
  assert.deepEqual(found.filter((each) => each.startsWith("Page")).sort(), names);
  const sizes = await collect(live.pages("/v1/builders/projects", given), (page) => page.items.length);
  assert.ok(sizes.length > 2 && sizes.slice(0, -1).every((size) => size === 2), `${sizes}`);
});

test("a read is repeated after the wait that the service asks for", async () => {
  const busy = [{ status: 503, headers: { "retry-after": "1" } }, { status: 429, headers: { "retry-after": "0" } }, {}];
  const asked = await during(busy, () => faulty.GET("/v1/me"));
  assert.equal(asked.length, 4);
  assert.ok(waits[0] && waits[0].seconds >= 1 && waits[0].seconds <= 1.1);
  assert.deepEqual(waits.slice(0, 2).map((each) => each.reason), ["HTTP 503", "HTTP 429"]);
});

test("a repeated POST has the same key and takes effect once", async () => {
  const inFlight = { status: 409, body: '{"code": "idempotency_in_flight"}' };
  const asked = await during([{ isPassedOn: true }, inFlight, { status: 502 }], () => create("Only once"));
  assert.equal(new Set(asked.map((each) => `${each.headers["idempotency-key"]} ${each.body}`)).size, 1);
  assert.equal(asked.length, 4);
  const found = await collect(live.items("/v1/builders/projects"), (each) => each.name);
  assert.equal(found.filter((each) => each === "Only once").length, 1);
});

test("each POST has a key of its own, or yours", async () => {
  const asked = await during([], async () => {
    for (const header of [{}, {}, { "Idempotency-Key": "mine" }]) await create("Keys", header);
  });
  const keys = asked.map((each) => each.headers["idempotency-key"]);
  assert.equal(new Set(keys).size, 3);
  assert.equal(keys[2], "mine");
});

test("a request whose repetition could have an effect is sent once", async () => {
  const login = () => faulty.POST("/v1/auth/login", { body: { email: "nobody@builders.example" } });
  const change = () =>
    faulty.PATCH("/v1/builders/projects/{project_id}", {
      params: { path: { project_id: PLAN }, header: { "If-Match": '"1"' } },
      body: { name: "Acme" },
    });
  for (const send of [login, change]) {
    assert.equal((await during([{}], () => assert.rejects(send, ConnectionFailed))).length, 1);
  }
});

test("a wait beyond the deadline is not begun", async () => {
  const limited = { status: 429, headers: { "retry-after": "3600" }, body: '{"code": "new_limit"}' };
  const asked = await during([limited], () =>
    assert.rejects(() => faulty.GET("/v1/me"), (error: Error) => {
      assert.ok(error instanceof errors.TooManyRequestsError);
      assert.deepEqual([error.code, error.retryAfter], ["new_limit", 3600]);
      return true;
    }),
  );
  assert.equal(asked.length, 1);
});

test("an answer that does not arrive is given up, and an abort ends the wait", async () => {
  const silent = createServer((_, response) => response.writeHead(200).write("{"));
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const address = silent.address() as { port: number };
  const waiting = new Builders({ apiKey: LIVE, baseUrl: `http://127.0.0.1:${address.port}` });
  await assert.rejects(waiting.withOptions({ retries: { deadline: 0.2, ...FAST } }).GET("/v1/me"), TimedOut);
  await assert.rejects(waiting.GET("/v1/me", { signal: AbortSignal.timeout(100) }), { name: "TimeoutError" });
  silent.close().closeAllConnections();
});

test("a promotion without its digest is not sent", async () => {
  const body = { plan_id: PLAN } as unknown as { plan_id: string; digest: string };
  const asked = await during([], () => assert.rejects(() => faulty.POST("/v1/sandbox/promote", { body }), RequestInvalid));
  assert.deepEqual(asked, []);
});

test("a value of the path cannot name another path", async () => {
  const send = (project_id: string) => faulty.GET("/v1/builders/projects/{project_id}", { params: { path: { project_id } } });
  const asked = await during([], async () => {
    await assert.rejects(() => send(".."), RequestInvalid);
    await assert.rejects(() => send("../../me"), errors.NotFoundError);
  });
  assert.deepEqual(asked.map((each) => each.called), ["GET /v1/builders/projects/..%2F..%2Fme"]);
});

test("a refusal has the class of its code, with what to do", async () => {
  const path = { alias_id: PLAN };
  await assert.rejects(live.GET("/v1/aliases/{alias_id}", { params: { path } }), (error: Error) => {
    assert.ok(error instanceof errors.AliasNotFound && error instanceof errors.NotFoundError);
    assert.deepEqual([error.name, error.status, error.code], ["AliasNotFound", 404, "alias_not_found"]);
    assert.ok(error.nextAction && error.requestId);
    return true;
  });
  const body = { name: "", alias_limit: -1 };
  await assert.rejects(live.POST("/v1/builders/projects", { body }), (error: Error) => {
    assert.ok(error instanceof errors.InvalidError);
    assert.deepEqual(error.errors.map((each) => each.location.join(".")).sort(), ["body.alias_limit", "body.name"]);
    return true;
  });
});

test("no message, and no picture of the client, contains the key", async () => {
  const broken = new Builders({ apiKey: "svc_live_secret\n", baseUrl: API });
  await assert.rejects(broken.GET("/v1/me"), (error: Error) => !`${error.stack}${error.cause}`.includes("svc_live_secret"));
  const { inspect } = await import("node:util");
  assert.ok(!inspect(live, { depth: 9 }).includes(LIVE));
  await assert.rejects(new Builders({ baseUrl: API, apiKey: () => undefined }).GET("/v1/me"), NoCredentials);
});

test("a redirect is not followed with the key", async () => {
  const elsewhere = { status: 307, headers: { location: `${proxy.address}/elsewhere` } };
  const asked = await during([elsewhere], () => assert.rejects(() => faulty.GET("/v1/me"), errors.ReplyInvalid));
  assert.equal(asked.length, 1);
});

test("a name is claimed, also again and by another client", async () => {
  const first = await both.names.claim("ts@harbour.example", { to: TO, maxTotal: "50.00 USD" });
  assert.equal(first.promotion?.status, "succeeded");
  for (const address of ["ts@harbour.example", "python@harbour.example"]) {
    const again = await live.names.claim(address, { to: [TO] });
    assert.deepEqual([again.plan.status, again.promotion], ["empty", undefined]);
  }
});

test("a name that costs too much is not bought", async () => {
  for (const maxTotal of [undefined, "0.01 USD", "100.00 EUR"]) {
    const options = { to: TO, ...(maxTotal && { maxTotal }) };
    await assert.rejects(live.names.claim("dear@harbour.example", options), (error: Error) => {
      assert.ok(error instanceof TotalTooHigh && error.total[0]);
      assert.match(error.nextAction ?? "", new RegExp(`${error.total[0].amount} USD`));
      return true;
    });
  }
  const addresses = await collect(live.items("/v1/aliases"), (each) => each.address);
  assert.ok(!addresses.includes("dear@harbour.example"));
});

test("a name that cannot be claimed is refused with the reason", async () => {
  await assert.rejects(live.names.claim("ada@nowhere.example", { to: TO, maxTotal: "50.00 USD" }), (error: Error) => {
    assert.ok(error instanceof NameRefused && error.codes.length > 0);
    return true;
  });
});

test("a claim names the page of the approval, or waits for it", async () => {
  const as = (method: string, path: string, body: object) =>
    fetch(API + path, {
      method,
      headers: { cookie: SESSION, origin: API, "content-type": "application/json" },
      body: JSON.stringify(body),
    }).then(async (answer) => assert.ok(answer.ok, await answer.text()));
  await as("PUT", "/v1/sandbox/approval-policy", { require: "always" });
  const options = { to: TO, maxTotal: "50.00 USD" };
  try {
    let plan: ApprovalPending["plan"] | undefined;
    await assert.rejects(live.names.claim("approved@harbour.example", options), (error: Error) => {
      assert.ok(error instanceof ApprovalPending && error.reviewUrl.includes(error.plan.id));
      plan = error.plan;
      return true;
    });
    const waiting = live.names.claim("approved@harbour.example", { ...options, waitForApproval: 30 });
    await as("POST", `/v1/sandbox/plans/${plan?.id}/approval`, { decision: "approve", digest: plan?.digest });
    assert.equal((await waiting).promotion?.status, "succeeded");
  } finally {
    await as("PUT", "/v1/sandbox/approval-policy", { require: "never" });
  }
});

test("a webhook request is verified, and a forged or old one refused", async () => {
  const secret = "whsec_dGhlIHNlY3JldCBvZiB0aGUgVHlwZVNjcmlwdCB0ZXN0";
  const [body, headers] = await new Promise<[string, Record<string, string>]>((resolve, reject) => {
    const receiver = createServer(async (request, response) => {
      const received = await text(request);
      response.writeHead(204).end();
      receiver.close();
      resolve([received, request.headers as Record<string, string>]);
    }).listen(Number(new URL(RECEIVER).port), "127.0.0.1");
    const made = { label: "typescript", url: `${RECEIVER}/hook`, enabled: true, events: ["project.created"] };
    const send = async () => {
      const { data } = await live.POST("/v1/notifications/webhooks", { body: { ...made, signing_secret: secret } });
      const path = { webhook_id: data.id };
      await live.POST("/v1/notifications/webhooks/{webhook_id}/test", { params: { path } });
    };
    send().catch(reject);
  });
  const event = await verify(body, headers, [secret, "whsec_b2xk"]);
  assert.equal(event.id, headers["webhook-id"]);
  assert.deepEqual(await verify(Buffer.from(body), new Headers(headers), secret), event);
  const tenMinutes = Date.now() / 1000 + 600;
  for (const forged of [
    () => verify(`${body} `, headers, secret),
    () => verify(body, headers, "whsec_b2xk"),
    () => verify(body, { ...headers, "webhook-id": "other" }, secret),
    () => verify(body, { ...headers, "webhook-signature": "v1,%%% v2,AAAA" }, secret),
    () => verify(body, {}, secret),
    () => verify(body, headers, secret, { now: tenMinutes }),
  ]) {
    await assert.rejects(forged, SignatureMismatch);
  }
});

test("a follower that is killed loses no event", async () => {
  const since = new Date().toISOString();
  const expected: string[] = [];
  for (let n = 0; n < 8; n++) await live.POST("/v1/builders/projects", { body: { name: `Followed ${n}` } });
  const store = { load: async () => undefined, store: async () => undefined };
  for await (const event of live.events.follow(store, { types: ["project.*"], since })) {
    if (expected.push(event.id) === 8) break;
  }
  const file = join(await mkdtemp(join(tmpdir(), "follow-")), "cursor");
  const ended: string[] = [];
  const options = { env: { ...process.env, BUILDERS_API_KEY: LIVE, BUILDERS_API_URL: API }, timeout: 5000 };
  for (let run = 1; run < 9 && ended.at(-1) !== expected.at(-1); run++) {
    const child = spawn(process.execPath, [join(import.meta.dirname, "follower.js"), file, since], options);
    let begun = 0;
    for await (const line of createInterface({ input: child.stdout })) {
      const [what, id = ""] = line.split(" ");
      if (what === "end") ended.push(id);
      // It ends before it has handled this event.
      if ((what === "begin" && ++begun === run) || ended.at(-1) === expected.at(-1)) child.kill("SIGKILL");
    }
  }
  assert.deepEqual([...new Set(ended)], expected);
});

test("every operation of the document is reachable", async () => {
  const answer = await fetch(`${API}/openapi.json`);
  const document = (await answer.json()) as { paths: Record<string, Record<string, { operationId: string }>> };
  const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, told]) => [`${method.toUpperCase()} ${path}`, told.operationId]),
  );
  const reachable = Object.entries(OPERATIONS).map(([called, operation]) => [called, operation.id]);
  assert.deepEqual(reachable.sort(), documented.sort());
});
