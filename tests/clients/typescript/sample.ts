// A script as a user writes it: it must compile under `strict`, and nothing runs it.
import { Builders, type Claim, ApprovalPending, TotalTooHigh, errors, isEvent, parseMoney, verify } from "builders-client";
import { CursorFile } from "builders-client/node";

const client = new Builders({ apiKey: "svc_test_key", liveKey: "svc_live_key", baseUrl: "https://builders.example" });

export async function claim(): Promise<string> {
  let claimed: Claim;
  try {
    claimed = await client.names.claim("ada@harbour.example", { to: "ada@example.net", maxTotal: "24.00 USD" });
  } catch (error) {
    if (error instanceof TotalTooHigh) return `${error.total[0]?.amount} ${error.nextAction}`;
    if (error instanceof ApprovalPending) return error.reviewUrl;
    throw error;
  }
  // A value of a later revision is possible.
  if (claimed.promotion?.status === "of_a_later_revision") return claimed.promotion.id;
  return claimed.plan.digest;
}

export async function work(): Promise<string[]> {
  const { data: project, response } = await client.POST("/v1/builders/projects", {
    body: { name: "Acme", default_destination: "ada@example.net" },
  });
  const etag = response.headers.get("ETag") ?? "";
  const path = { project_id: project.id };
  await client.PATCH("/v1/builders/projects/{project_id}", {
    params: { path, header: { "If-Match": etag } },
    body: { default_destination: null },
  });
  const found: string[] = [];
  for await (const each of client.items("/v1/builders/projects", { params: { query: { limit: 10 } } })) found.push(each.slug);
  for await (const page of client.pages("/v1/portfolio/domains")) found.push(...page.items.map((each) => each.domain));
  try {
    await client.GET("/v1/aliases/{alias_id}", { params: { path: { alias_id: "nonsense" } } });
  } catch (error) {
    if (!(error instanceof errors.ApiError)) throw error;
    if (error instanceof errors.AliasNotFound) found.push(error.code satisfies "alias_not_found", error.nextAction ?? "");
    else if (error instanceof errors.ServerError) throw error;
    else if (error instanceof errors.InvalidError) found.push(...error.errors.map((each) => each.message));
    else found.push(error.detail);
  }
  for await (const event of client.events.follow(new CursorFile("cursor"), { types: ["alias.*"] })) {
    if (isEvent(event, "alias.created")) found.push(event.data.address);
    else found.push(event.type);
  }
  const { data: pdf } = await client.GET("/v1/invoices/{invoice_id}/pdf", { params: { path: { invoice_id: "id" } } });
  const { data: csv } = await client.GET("/v1/portfolio/export.csv");
  return [...found, pdf.type, csv.toUpperCase(), parseMoney("1.00 USD").currency];
}

export async function receive(request: Request): Promise<Response> {
  const event = await verify(await request.text(), request.headers, ["whsec_b2xk", "whsec_bmV3"]);
  return new Response(event.id);
}

export function mistakes(): void {
  // @ts-expect-error: a promotion needs the digest
  void client.POST("/v1/sandbox/promote", { body: { plan_id: "id" } });
  // @ts-expect-error: there is no such operation
  void client.DELETE("/v1/builders/projects");
  // @ts-expect-error: one project is not a list
  void client.items("/v1/builders/projects/{project_id}", { params: { path: { project_id: "id" } } });
}
