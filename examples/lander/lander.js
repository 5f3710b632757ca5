// What the page asks of the service, and what it shows of the answers. Knows no page, so it runs anywhere.

const REASONS = {
  domain_unknown: "We have no names on this domain.",
  domain_not_live: "Names on this domain are not for sale yet.",
  catch_all: "All names on this domain belong to one owner.",
  reserved: "This name is kept back.",
  blocked: "This name cannot be had.",
  taken: "Somebody has this name.",
  quarantined: "This name was given up lately, and rests for a while.",
  held: "Somebody is buying this name just now.",
  confusable: "This name looks like one that somebody has.",
};

const EVERY = { month: " a month", year: " a year", once: "" };

/** Letters that nobody guesses. Unlike randomUUID also there on pages without TLS. */
export function random() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** `{ amount: "24.00", currency: "USD", interval: "year" }` as people read it. */
export function priceText(price, locale) {
  const format = new Intl.NumberFormat(locale, { style: "currency", currency: price.currency });
  return `${format.format(price.amount)}${EVERY[price.interval]}`;
}

/** Why a checked name cannot be had. */
export function refusalText(check) {
  return check.reason === "invalid" ? check.message : REASONS[check.reason] ?? check.message;
}

/** What campaigns write into the links that lead here. */
export function utmOf(search) {
  const params = new URLSearchParams(search);
  const names = ["source", "medium", "campaign", "term", "content"];
  const found = names.map((name) => [name, params.get(`utm_${name}`)?.slice(0, 100)]).filter(([, value]) => value);
  return found.length ? Object.fromEntries(found) : undefined;
}

/** The service refused, or could not be reached; the message is for the visitor. */
export class Refused extends Error {}

export class Lander {
  /** `fetch` and `sendBeacon` are the browser's; `visit` has the page's `referrer` and `utm`. */
  constructor({ api, source, domain, consent, fetch, sendBeacon, visit = {} }) {
    Object.assign(this, { api, source, domain, consent, fetch, sendBeacon, visit });
    this.session = random(); // of this visit; nothing is kept in the browser
  }

  /** Names that are free, the best first. */
  async suggest(wish) {
    const q = this.domain ? `${wish}@${this.domain}` : wish;
    return (await this.#ask("GET", `/v1/catalog/suggest?${new URLSearchParams({ q, limit: 6 })}`)).items;
  }

  /** Whether one name is free; the funnel is told. */
  async check(address) {
    const at = address.lastIndexOf("@");
    const name = { local_part: address.slice(0, at), domain: address.slice(at + 1) };
    const found = await this.#ask("GET", `/v1/catalog/check?${new URLSearchParams(name)}`);
    this.tell({ kind: "check", ...name, result: found.available ? "available" : "unavailable" });
    return found;
  }

  /** Leaves an address for a name. */
  async lead(offer, form) {
    const sent = await this.#ask("POST", "/v1/leads", {
      ...this.#visitor(form),
      name: form.name,
      source: this.source,
      interest: "mailbox",
      domain: offer.domain,
      local_part: offer.local_part,
      referrer: this.visit.referrer,
    });
    this.tell({ kind: "claim", domain: offer.domain, local_part: offer.local_part, result: "completed" });
    return sent;
  }

  /** Joins the builders waitlist. */
  async join(form) {
    const { company, use_case, expected_volume } = form;
    return this.#ask("POST", "/public/v1/builders/waitlist", {
      ...this.#visitor(form),
      company,
      use_case,
      expected_volume,
    });
  }

  /** Tells the funnel what the visitor did. A beacon arrives even when the page is left at once. */
  tell(event) {
    const { referrer, utm } = this.visit;
    const body = { ...event, event_id: random(), session_id: this.session, referrer, utm };
    this.sendBeacon(`${this.api}/v1/catalog/events`, JSON.stringify(body));
  }

  #visitor(form) {
    const { email, website } = form;
    const consent = { marketing: Boolean(form.marketing), text_version: this.consent };
    return { email, website, consent, utm: this.visit.utm };
  }

  async #ask(method, path, body) {
    const sent = body && { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
    let answer;
    try {
      answer = await this.fetch(`${this.api}${path}`, { method, ...sent });
    } catch {
      throw new Refused("We cannot be reached just now. Try again in a moment.");
    }
    if (answer.ok) return answer.json();
    if (answer.status === 429) throw new Refused("That was a lot at once. Try again in a few minutes.");
    if (answer.status !== 422) throw new Refused("An error occurred. Try again in a moment.");
    const { detail } = await answer.json();
    throw new Refused(detail.map((each) => each.msg).join(" "));
  }
}
