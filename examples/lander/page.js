// Ties the page's elements to the lander. Text goes in as text: nothing that comes from outside is read as HTML.

import { Lander, Refused, priceText, refusalText, utmOf } from "./lander.js";

const at = (id) => document.getElementById(id);
const { api, source, domain, consent } = document.documentElement.dataset;
const lander = new Lander({
  api,
  source,
  domain,
  consent,
  fetch: (...request) => fetch(...request),
  sendBeacon: (...beacon) => navigator.sendBeacon(...beacon),
  visit: { referrer: document.referrer || undefined, utm: utmOf(location.search) },
});
let chosen; // the name that the lead form is about, until the form is sent
let left = false; // the page, with that form open; a browser can bring it back as it was

function show(offers) {
  at("offers").replaceChildren(
    ...offers.map((offer) => {
      const [item, button, name, price] = ["li", "button", "span", "span"].map((tag) => document.createElement(tag));
      name.textContent = offer.address;
      price.textContent = priceText(offer.price, navigator.language);
      button.append(name, price);
      button.addEventListener("click", () => attempt("said", () => take(offer.address)));
      item.append(button);
      return item;
    }),
  );
}

/** Checks once more, since others are looking too, and opens the form. */
async function take(address) {
  const found = await lander.check(address);
  at("lead").hidden = !found.available;
  show(found.alternatives);
  at(found.available ? "email" : "wish").focus(); // the button that was pressed is gone
  if (!found.available) {
    chosen = undefined;
    return found.alternatives.length ? `${refusalText(found)} How about one of these?` : refusalText(found);
  }
  chosen = { local_part: found.normalized_local_part, domain: found.domain };
  left = false;
  at("chosen").textContent = found.address;
  at("price").textContent = priceText(found.price, navigator.language);
  return "It is free. Where may we write to you?";
}

async function search(wish) {
  if (wish.includes("@")) return take(wish);
  at("lead").hidden = true;
  const offers = await lander.suggest(wish);
  show(offers);
  return offers.length ? "These are free:" : "We found nothing; try another spelling.";
}

async function send(form) {
  const sent = await lander.lead(chosen, form);
  chosen = undefined;
  at("lead").hidden = true;
  return `Thank you. We sent an email to ${sent.email_masked}: follow the link in it.`;
}

async function join(form) {
  const sent = await lander.join(form);
  at("waitlist").hidden = true;
  return `Thank you. We sent an email to ${sent.email_masked}: follow the link in it.`;
}

/** What came of it, in words, in the given place. */
async function attempt(place, doing) {
  try {
    at(place).textContent = await doing();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    at(place).textContent = error.message;
  }
}

function onSubmit(id, place, doing) {
  at(id).addEventListener("submit", (event) => {
    event.preventDefault();
    const form = Object.fromEntries(new FormData(event.target));
    void attempt(place, () => doing(form));
  });
}

onSubmit("search", "said", (form) => search(form.wish.trim()));
onSubmit("lead", "said", send);
onSubmit("waitlist", "joined", join);
addEventListener("pagehide", () => {
  if (chosen && !left) lander.tell({ kind: "claim", ...chosen, result: "abandoned" });
  left = true;
});
lander.tell({ kind: "view", ...(domain && { domain }) });
