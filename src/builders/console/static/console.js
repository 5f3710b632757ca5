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
