// Prints each event; the test kills it.
import { Builders } from "builders-client";
import { CursorFile } from "builders-client/node";

const [file = "", since = ""] = process.argv.slice(2);
for await (const event of new Builders().events.follow(new CursorFile(file), { types: ["project.*"], since, wait: 1 })) {
  console.log("begin", event.id);
  await new Promise((resolve) => setTimeout(resolve, 50)); // its work
  console.log("end", event.id);
}
