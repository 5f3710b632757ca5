// A visit to examples/lander, in Node: the page's elements are stand-ins, the service is real.
//
//   node drive.mjs FOLDER API
//
// Prints what the page showed after each thing the visitor did, and all that was asked of the service.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, api] = process.argv.slice(2);
const html = readFileSync(join(folder, "index.html"), "utf8");
const requests = [];
let pending = 0;
let focused;

class Element {
  constructor(tag) {
    Object.assign(this, { tag, textContent: "", value: "", hidden: false, checked: false, children: [], heard: {} });
  }
  focus() { focused = this; }
  append(...children) { this.children.push(...children); }
  replaceChildren(...children) { this.children = children; }
  addEventListener(name, hear) { this.heard[name] = hear; }
  happen(name) { this.heard[name]({ target: this, preventDefault() {} }); }
  get text() { return this.textContent + this.children.map((child) => child.text).join(" "); }
}

const ids = Object.fromEntries(
  [...html.matchAll(/<(\w+)\b[^>]*?\bid="(\w+)"([^>]*)>/g)].map(([tag, name, id]) => {
    const made = new Element(name);
    made.hidden = / hidden[ >]/.test(tag);
    return [id, made];
  }),
);
const fields = Object.fromEntries(
  [...html.matchAll(/<form id="(\w+)"[\s\S]*?<\/form>/g)].map(([form, id]) => [
    id,
    [...form.matchAll(/<(?:input|textarea|select)\b[^>]*>/g)].map(([tag]) => ({
      id: /\bid="(\w+)"/.exec(tag)[1],
      name: /\bname="(\w+)"/.exec(tag)[1],
      isBox: tag.includes('type="checkbox"'),
    })),
  ]),
);
const data = Object.fromEntries(
  [...html.matchAll(/<html\b[^>]*>/g)][0][0].matchAll(/data-(\w+)="([^"]*)"/g).map(([, name, value]) => [name, value]),
);

const listeners = {};
const ask = globalThis.fetch;
async function recorded(url, init = {}) {
  pending += 1;
  const { headers } = new Request(url, init);
  const entry = { method: init.method ?? "GET", url, body: init.body ?? null, type: headers.get("content-type") };
  requests.push(entry);
  try {
    const answer = await ask(url, init);
    entry.status = answer.status;
    entry.answer = await answer.clone().json();
    return answer;
  } finally {
    pending -= 1;
  }
}

const globals = {
  document: {
    documentElement: { dataset: { ...data, api } },
    referrer: "https://news.example/today?q=secret",
    getElementById: (id) => ids[id] ?? null,
    createElement: (tag) => new Element(tag),
  },
  location: { search: "?utm_source=newsletter&utm_campaign=spring&other=1" },
  navigator: {
    language: "en-GB",
    sendBeacon: (url, body) => void recorded(url, { method: "POST", body }),
  },
  fetch: recorded,
  addEventListener: (name, hear) => { listeners[name] = hear; },
  FormData: class {
    constructor(form) { this.form = Object.keys(ids).find((id) => ids[id] === form); }
    *[Symbol.iterator]() {
      for (const { id, name, isBox } of fields[this.form]) {
        if (!isBox) yield [name, ids[id].value];
        else if (ids[id].checked) yield [name, "on"];
      }
    }
  },
};
for (const [name, value] of Object.entries(globals)) {
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}

async function settled() {
  for (let quiet = 0; quiet < 20; quiet += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    if (pending) quiet = 0;
  }
}

const shown = {};
async function step(name, act) {
  act();
  await settled();
  shown[name] = {
    said: ids.said.text,
    joined: ids.joined.text,
    offers: ids.offers.children.map((each) => each.text),
    form: ids.lead.hidden ? null : `${ids.chosen.text}, ${ids.price.text}`,
    focused: Object.keys(ids).find((id) => ids[id] === focused) ?? null,
  };
}
function submit(form, values) {
  for (const { id, name, isBox } of fields[form]) {
    if (isBox) ids[id].checked = Boolean(values[name]);
    else ids[id].value = values[name] ?? "";
  }
  ids[form].happen("submit");
}
const search = (wish) => submit("search", { wish });
const take = (at) => ids.offers.children[at].children[0].happen("click");

await import(pathToFileURL(join(folder, "page.js")));
await step("opened", () => {});
await step("searched", () => search("Grace Hopper"));
await step("offered", () => take(0));
await step("misspelt", () => submit("lead", { email: "grace" }));
await step("sent", () => submit("lead", { email: "grace@example.net", name: "Grace", marketing: true }));
await step("reserved", () => search("postmaster@harbour.example"));
await step("unknown", () => search("grace@nowhere.example"));
await step("empty", () => search("@harbour.example"));
await step("left", () => {});
await step("joined", () => submit("waitlist", { email: "grace@example.net", company: "Navy", expected_volume: "lt100" }));
await step("again", () => search("admiral@harbour.example"));
await step("gone", () => { listeners.pagehide(); listeners.pagehide(); });
await step("back", () => submit("lead", { email: "admiral@example.net" }));
globalThis.fetch = async () => { throw new TypeError("fetch failed"); };
await step("away", () => search("Grace Hopper"));
console.log(JSON.stringify({ shown, requests }));
