// What the pages do besides HTML: copy a text, ask before a change that cannot be undone, keep a region up to date.
// Every page works without this script.

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  });
}

for (const form of document.querySelectorAll("form[data-confirm]")) {
  form.addEventListener("submit", (event) => {
    if (!window.confirm(form.dataset.confirm)) event.preventDefault();
  });
}

// A step back loads the page again, with other keys. A form that was sent gets the key that it was sent with, so that
// it acts once also when it is sent again. The entry of the history keeps it.
const idOf = (form) => {
  const own = form.querySelectorAll('input[type=hidden]:not([name^="_"])');
  return [form.getAttribute("action"), ...[...own].map((each) => `${each.name}=${each.value.slice(0, 99)}`)].join("&");
};
const keyOf = (form) => form.querySelector('input[name="_key"]');
const restoreKeys = (place) => {
  for (const form of place.querySelectorAll("form")) {
    const key = history.state?.sent?.[idOf(form)];
    if (key && keyOf(form)) keyOf(form).value = key;
  }
};
restoreKeys(document);
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || !keyOf(form)) return;
  const sent = { ...history.state?.sent, [idOf(form)]: keyOf(form).value };
  history.replaceState({ ...history.state, sent }, "");
});

const rows = "input[type=checkbox]:is([name=ids], [name=domains])";
for (const table of document.querySelectorAll(`table:has(${rows})`)) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "plain";
  button.textContent = "Select all on this page";
  button.addEventListener("click", () => {
    for (const box of table.querySelectorAll(rows)) box.checked = true;
  });
  (table.closest(".box") ?? table).before(button);
}

// A region with data-refresh is replaced by itself every so many seconds, until the new one has no data-refresh.
const region = document.querySelector("[data-refresh]");
if (region) {
  const refresh = async () => {
    const seconds = Number(region.dataset.refresh);
    if (!seconds) return;
    try {
      const response = await fetch(location.href, { headers: { Accept: "text/html" } });
      const page = await response.text();
      const fresh = new DOMParser().parseFromString(page, "text/html").getElementById(region.id);
      if (fresh) {
        region.replaceChildren(...fresh.childNodes);
        region.dataset.refresh = fresh.dataset.refresh ?? "";
        restoreKeys(region);
      }
    } catch {
      // The next attempt may reach the service.
    }
    setTimeout(refresh, seconds * 1000);
  };
  setTimeout(refresh, Number(region.dataset.refresh) * 1000);
}

// What was typed and not sent: the browser asks before the page is left.
let unsent = false;
document.addEventListener("change", (event) => {
  if (event.target.form?.method === "post") unsent = true;
});
document.addEventListener("submit", (event) => {
  if (!event.defaultPrevented) unsent = false;
});
window.addEventListener("beforeunload", (event) => {
  if (unsent) event.preventDefault();
});

// Search while typing: the page of the search is read 300 ms after the last letter, and shown below the box.
const search = document.querySelector("form.search");
if (search) {
  const found = document.createElement("div");
  found.className = "found";
  found.setAttribute("aria-live", "polite");
  search.append(found);
  let timer = 0;
  let asked = "";
  search.q.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      asked = search.q.value.trim();
      if (!asked) return found.replaceChildren();
      const sent = asked;
      try {
        const page = await fetch(`${search.action}?q=${encodeURIComponent(sent)}`, { headers: { Accept: "text/html" } });
        const main = new DOMParser().parseFromString(await page.text(), "text/html").querySelector("main");
        if (sent === asked && page.ok) found.replaceChildren(...main.querySelectorAll("section, .empty"));
      } catch {
        // Enter opens the page of the search.
      }
    }, 300);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Escape") found.replaceChildren();
    const links = [search.q, ...found.querySelectorAll("a")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const next = step && links[links.indexOf(document.activeElement) + step];
    if (next) {
      event.preventDefault();
      next.focus();
    }
  });
}

// Keys: / searches, j and k go to the next and the previous row, x selects it; on a row with a decision, r renews, d drops
// and u leaves it open. They change what the form shows, and send nothing. The person can turn them off.
const KEYS = "keys";
const DECISIONS = { r: "renew", d: "drop", u: "undecided" };
const isOff = () => localStorage.getItem(KEYS) === "off";
for (const button of document.querySelectorAll("[data-keys]")) {
  const tell = () => (button.textContent = isOff() ? "Turn on keyboard shortcuts" : "Turn off keyboard shortcuts");
  button.hidden = false;
  tell();
  button.addEventListener("click", () => {
    localStorage.setItem(KEYS, isOff() ? "on" : "off");
    tell();
  });
}
const press = (box) => {
  if (box) box.click();
  return Boolean(box);
};
const actOn = (key) => {
  const all = [...document.querySelectorAll("main table.list tbody tr:has(a, input)")];
  const row = document.activeElement.closest?.("tr");
  if (key === "/") return search ? (search.q.focus(), true) : false;
  if (key === "j" || key === "k") {
    const next = all[Math.min(all.length - 1, Math.max(0, all.indexOf(row) + (key === "j" ? 1 : -1)))];
    next?.querySelector("a, input:not([type=hidden])")?.focus();
    return Boolean(next);
  }
  if (key === "x") return press(row?.querySelector("input[type=checkbox]"));
  return key in DECISIONS && press(row?.querySelector(`input[type=radio][value=${DECISIONS[key]}]`));
};
document.addEventListener("keydown", (event) => {
  const isTyped = event.target.matches("input:not([type=radio], [type=checkbox]), textarea, select");
  if (isOff() || isTyped || event.ctrlKey || event.metaKey || event.altKey) return;
  if (actOn(event.key)) event.preventDefault();
});
