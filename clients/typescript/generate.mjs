// Writes the types of the OpenAPI document: node generate.mjs DOCUMENT OUTPUT
import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const [document, output] = process.argv.slice(2);
const { factory } = ts;
const word = (name) => factory.createTypeReferenceNode(name);

/** Return another type than that of openapi-typescript for files, and for values to which a later revision can add. */
function transform(schema) {
  if (schema.format === "binary") return word("Blob");
  const known = schema["x-extensible-enum"];
  if (schema.type !== "string" || known === undefined) return undefined;
  const literals = known.map((each) => factory.createLiteralTypeNode(factory.createStringLiteral(each)));
  const other = factory.createIntersectionTypeNode([word("string"), factory.createTypeLiteralNode([])]);
  return factory.createUnionTypeNode([...literals, other]);
}

/** Remove the parameters that repeat the security schemes: the client sends credentials itself. */
function dropCredentials({ components, paths }) {
  const schemes = Object.values(components.securitySchemes);
  const names = new Set(schemes.map(({ type, name }) => (type === "http" ? "Authorization" : name)));
  const isKept = ({ $ref, name }) => !names.has(name ?? components.parameters[$ref.split("/").pop()].name);
  for (const operation of Object.values(paths).flatMap(Object.values)) {
    operation.parameters = (operation.parameters ?? []).filter(isKept);
    if (operation.parameters.length === 0) delete operation.parameters;
  }
  components.parameters = Object.fromEntries(Object.entries(components.parameters).filter(([, each]) => isKept(each)));
}

const told = JSON.parse(await readFile(document, "utf8"));
dropCredentials(told);
const options = { transform, defaultNonNullable: false, silent: true };
const types = astToString(await openapiTS(told, options));
await writeFile(output, `// Written by generate.mjs.\n${types}`);
