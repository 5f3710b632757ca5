/** Claims of names: plan, check of the price, approval by a person, promotion. */

import { ApprovalRequired, PlanStale, PromotionRunning } from "./errors.js";
import { isHigher, type Money, parseMoney, totals } from "./money.js";
import { BuildersError } from "./problems.js";
import { sleep } from "./retries.js";
import type { Sender } from "./sender.js";
import type { Schemas } from "./types.js";

type Plan = Schemas["PlanReply"];
type Promotion = Schemas["PromotionReply"];

const HARMLESS = new Set(["create", "adopt", "update", "no_op"]);
const APPROVED = new Set(["not_required", "approved"]);
const PLANS = 3; // plans of one claim, if others change what it relies on
const FIRST_POLL = 0.25;
const LONGEST_POLL = 5;

/** The name cannot be claimed; `codes` has the reasons, and `plan.errors` their texts. */
export class NameRefused extends BuildersError {
  override readonly name = "NameRefused";
  readonly plan: Plan;
  readonly codes: readonly string[];

  constructor(plan: Plan) {
    const action = "Correct what the errors name, or claim another name: /v1/catalog/suggest lists free ones.";
    super(plan.errors.map((each) => each.message).join("; ") || `The plan is ${plan.status}.`, action);
    this.plan = plan;
    this.codes = plan.errors.map((each) => each.code);
  }
}

/** The claim costs more than `maxTotal`; nothing was bought. */
export class TotalTooHigh extends BuildersError {
  override readonly name = "TotalTooHigh";
  readonly plan: Plan;
  readonly total: readonly Money[];

  constructor(plan: Plan, total: readonly Money[], most: Money | undefined) {
    const costs = total.map(shown).join(", ");
    const limit = most ? shown(most) : "not given";
    const action = `Give maxTotal of at least ${costs}, or claim another name.`;
    super(`The claim costs ${costs}, and maxTotal is ${limit}.`, action);
    this.plan = plan;
    this.total = total;
  }
}

/** A person must approve the plan first, on the page `reviewUrl`; they have been asked. */
export class ApprovalPending extends BuildersError {
  readonly plan: Plan;
  readonly reviewUrl: string;

  constructor(plan: Plan) {
    const { state, review_url } = plan.approval;
    super(`The approval of the plan is ${state}.`, `Ask a person to approve it at ${review_url}, then claim again.`);
    this.plan = plan;
    this.reviewUrl = review_url;
  }
}

/** A person rejected the plan. */
export class ApprovalRefused extends ApprovalPending {
  override readonly name = "ApprovalRefused";
}

/** The promotion did not succeed; `promotion.steps` has the reasons. */
export class ClaimFailed extends BuildersError {
  override readonly name = "ClaimFailed";
  readonly promotion: Promotion;

  constructor(promotion: Promotion) {
    const said = promotion.steps.flatMap((each) => each.error?.message ?? []).join("; ");
    const action = promotion.next_action_details.map((each) => each.message).join(" ");
    super(said || `The promotion is ${promotion.status}.`, action || undefined);
    this.promotion = promotion;
  }
}

/** A name that the account has. */
export interface Claim {
  readonly address: string;
  readonly plan: Plan;
  /** Undefined if the account had the name already, as requested. */
  readonly promotion: Promotion | undefined;
}

export interface ClaimOptions {
  /** The mailbox to which the name forwards, or several. */
  readonly to: string | readonly string[];
  /** Such as `"24.00 USD"`; without it only a free name is claimed. */
  readonly maxTotal?: Money | string;
  /** Seconds to wait for the people who decide; 0 by default. */
  readonly waitForApproval?: number;
  /** The manifest that has the name; the same as that of the Python client by default. */
  readonly manifest?: string;
}

/** The names of the account. */
export class Names {
  readonly #client: Sender;

  constructor(client: Sender) {
    this.#client = client;
  }

  /**
   * Claim a name that forwards to one or more mailboxes.
   *
   * A repeated claim has no effect; with another `to` it replaces the mailboxes. Plans the name, compares the price
   * with `maxTotal`, and promotes exactly this plan. Needs a live key, as `apiKey` or as `liveKey`.
   *
   * If a person must approve the plan, they are asked. The claim then waits for `waitForApproval` seconds and throws
   * ApprovalPending with `reviewUrl`. Claim the name again after the approval.
   *
   * Throw NameRefused, TotalTooHigh, ApprovalPending, ApprovalRefused, ClaimFailed, or an error of the service.
   */
  async claim(address: string, options: ClaimOptions): Promise<Claim> {
    const { to, maxTotal, waitForApproval = 0, manifest = "names" } = options;
    const most = typeof maxTotal === "string" ? parseMoney(maxTotal) : maxTotal;
    const body = await manifestOf(address, typeof to === "string" ? [to] : [...to], manifest);
    for (let attempt = 1; ; attempt++) {
      const { data: plan } = await this.#client.POST("/v1/sandbox/plan", { body });
      check(plan, most);
      if (plan.status === "empty") return { address, plan, promotion: undefined };
      await this.#approval(plan, waitForApproval);
      try {
        return { address, plan, promotion: await this.#promote(plan, most) };
      } catch (error) {
        if (!(error instanceof PlanStale) || attempt === PLANS) throw error;
      }
    }
  }

  /** Promote the plan, after the running promotion of the account if there is one. */
  async #promote({ id, digest }: Plan, most: Money | undefined): Promise<Promotion> {
    const end = performance.now() + this.#client.retries.deadline * 1000;
    const body = { plan_id: id, digest, ...(most && { max_total: most }) };
    for (;;) {
      let wait = FIRST_POLL;
      try {
        const { data: promotion } = await this.#client.POST("/v1/sandbox/promote", { body });
        if (promotion.status === "succeeded") return promotion;
        // A job continues one that is running; a repeated request returns its state.
        if (promotion.status !== "running" || performance.now() >= end) throw new ClaimFailed(promotion);
      } catch (error) {
        // The policy has changed, or the approval was withdrawn.
        if (error instanceof ApprovalRequired) throw new ApprovalPending(await this.#plan(id));
        if (!(error instanceof PromotionRunning)) throw error;
        wait = error.retryAfter ?? LONGEST_POLL;
        if (performance.now() + wait * 1000 > end) throw error;
      }
      await sleep(wait);
    }
  }

  /** Return when the plan may be promoted. Throw ApprovalPending, ApprovalRefused. */
  async #approval(plan: Plan, seconds: number): Promise<void> {
    if (APPROVED.has(plan.approval.state)) return;
    await this.#client.POST("/v1/sandbox/plans/{plan_id}/approval/request", { params: { path: { plan_id: plan.id } } });
    const end = performance.now() + seconds * 1000;
    for (let pause = FIRST_POLL; ; pause = Math.min(pause * 2, LONGEST_POLL)) {
      const left = (end - performance.now()) / 1000;
      if (left <= 0) throw new ApprovalPending(plan);
      await sleep(Math.min(pause, left));
      plan = await this.#plan(plan.id);
      if (APPROVED.has(plan.approval.state)) return;
      if (plan.approval.state === "rejected") throw new ApprovalRefused(plan);
    }
  }

  async #plan(plan_id: string): Promise<Plan> {
    return (await this.#client.GET("/v1/sandbox/plans/{plan_id}", { params: { path: { plan_id } } })).data;
  }
}

/** Return the manifest of one name. Its key depends on the whole address, so it never means another name. */
async function manifestOf(address: string, destinations: string[], name: string): Promise<Schemas["SandboxManifest"]> {
  const wanted = address.trim().toLowerCase();
  const readable = wanted.replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 40);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(wanted)));
  const suffix = [...hash.slice(0, 6)].map((each) => each.toString(16).padStart(2, "0")).join("");
  const key = `${readable}-${suffix}`.replace(/^-+/, "");
  const aliases = [{ key, address: address.trim(), destinations }];
  return { api_version: "v1", kind: "Manifest", metadata: { name }, resources: { aliases } };
}

/** Throw NameRefused if the plan cannot be promoted or removes something, TotalTooHigh if it costs too much. */
function check(plan: Plan, most: Money | undefined): void {
  if (!plan.promotable || plan.actions.some((each) => !HARMLESS.has(each.action))) throw new NameRefused(plan);
  const total = totals(plan.actions.flatMap((each) => each.price ?? []));
  const isTooHigh = total.some((due) => due.currency !== most?.currency || isHigher(due.amount, most.amount));
  if (isTooHigh) throw new TotalTooHigh(plan, total, most);
}

function shown({ amount, currency }: Money): string {
  return `${amount} ${currency}`;
}
