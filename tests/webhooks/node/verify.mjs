// Verifies what sign.py wrote with the libraries `standardwebhooks` and `svix` from npm:
//
//   node verify.mjs FOLDER CASES
//
// FOLDER holds their node_modules, CASES is the file.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [folder, file] = process.argv.slice(2);
const load = createRequire(join(resolve(folder), "package.json"));
const cases = JSON.parse(readFileSync(file, "utf8"));
const OTHER = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

const verifies = (Webhook, secret, body, headers) => {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch (error) {
    if (error.name !== "Error" && error.constructor.name !== "WebhookVerificationError") throw error;
    return false;
  }
};

let failures = 0;
const expect = (said, is, wanted) => {
  if (is === wanted) return;
  failures += 1;
  console.error(`${said}: ${wanted ? "refused" : "taken for genuine"}`);
};

for (const library of ["standardwebhooks", "svix"]) {
  const { Webhook } = load(library);
  for (const { name, secret, headers, body } of cases) {
    const late = { ...headers, "webhook-timestamp": String(Number(headers["webhook-timestamp"]) - 600) };
    expect(`${library}, ${name}`, verifies(Webhook, secret, body, headers), true);
    expect(`${library}, ${name}, another body`, verifies(Webhook, secret, `${body} `, headers), false);
    expect(`${library}, ${name}, another secret`, verifies(Webhook, OTHER, body, headers), false);
    expect(`${library}, ${name}, another time`, verifies(Webhook, secret, body, late), false);
  }
}
if (failures || !cases.length) process.exit(1);
console.log(`${cases.length} deliveries verify with standardwebhooks and svix`);
