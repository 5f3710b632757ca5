// What the public pages do besides HTML: search while a person types, and prove work where many people sign up. Every page
// works without the search.

const PAUSE_MS = 300; // after the last letter

for (const input of document.querySelectorAll("input[data-search]")) {
  const place = document.getElementById(input.dataset.search);
  const known = new Map(); // what was found for a query, as long as the page is open
  let timer, running;
  const show = async () => {
    const q = input.value.trim();
    running?.abort();
    running = new AbortController();
    try {
      if (!known.has(q)) {
        const address = `${input.form.getAttribute("action")}?${new URLSearchParams({ q })}`;
        const answer = await fetch(address, {
          headers: { Accept: "text/html" }, credentials: "omit", signal: running.signal,
        });
        if (!answer.ok) return;
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        known.set(q, page.getElementById(place.id));
      }
      const found = known.get(q);
      if (found && q === input.value.trim()) place.replaceChildren(...found.cloneNode(true).childNodes);
    } catch {
      // Another letter was typed, or the service is away: Enter opens the page of the search.
    }
  };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(show, PAUSE_MS);
  });
}

// Return a number, after the period, whose hash with the address begins with so many zero bits.
const prove = async (period, email, bits) => {
  const encoder = new TextEncoder();
  for (let from = 0; ; from += 512) {
    const tried = Array.from({ length: 512 }, (_, at) => `${period}:${from + at}`);
    const hashes = await Promise.all(
      tried.map((each) => crypto.subtle.digest("SHA-256", encoder.encode(`${each}:${email}`))),
    );
    const found = hashes.findIndex((each) => new DataView(each).getUint32(0) >>> (32 - bits) === 0);
    if (found >= 0) return tried[found];
  }
};

for (const form of document.querySelectorAll("form[data-work]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { work, email } = form.elements;
    const said = form.querySelector("[role=status]");
    form.querySelector("button").disabled = true;
    said.textContent = "Computing …";
    try {
      work.value = await prove(form.dataset.work, email.value, Number(form.dataset.bits));
      form.submit();
    } catch {
      said.textContent = "This browser cannot compute it here. Ask again in an hour.";
    }
  });
}
