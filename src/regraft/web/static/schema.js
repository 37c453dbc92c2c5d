// A JSON schema of the OpenAPI document as a short text: what a value looks like.
const pad = (depth) => "  ".repeat(depth);
const named = (document, schema) => (schema.$ref ? document.components.schemas[schema.$ref.split("/").at(-1)] : schema);

function rule(schema) {
  const { minimum, maximum, minLength, maxLength, pattern } = schema;
  const said = [];
  if (minimum !== undefined) said.push(`at least ${minimum}`);
  if (maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER) said.push(`at most ${maximum}`);
  if (maxLength !== undefined) said.push(`${minLength ?? 0} to ${maxLength} characters`);
  if (pattern !== undefined && pattern !== "\\S") said.push(`like ${pattern}`);
  return said.join(", ");
}

// `seen`: schemas that this one is inside of; one that holds itself is only named.
export function shape(document, wanted, depth = 0, seen = []) {
  const schema = named(document, wanted), all = [...seen, schema];
  const inner = (other, more = 0) => shape(document, other, depth + more, all);
  if (seen.includes(schema)) return schema.title ?? "…";
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.anyOf) return schema.anyOf.map((each) => inner(each)).join(" | ");
  if (schema.type === "array") return schema.prefixItems ? `[${schema.prefixItems.map((each) => inner(each)).join(", ")}]` : `[${inner(schema.items ?? {})}, …]`;
  if (schema.properties) {
    const needed = new Set(schema.required ?? []);
    const lines = Object.entries(schema.properties).map(([name, each]) => `${pad(depth + 1)}"${name}"${needed.has(name) ? "" : "?"}: ${inner(each, 1)}`);
    return `{\n${lines.join(",\n")}\n${pad(depth)}}`;
  }
  if (typeof schema.additionalProperties === "object") return `{ name: ${inner(schema.additionalProperties)}, … }`;
  return schema.type ?? "any";
}

// Of a parameter: its type, and what it has to keep to.
export function typeOf(document, parameter) {
  const choices = parameter.schema.anyOf?.filter((each) => each.type !== "null") ?? [parameter.schema];
  const fallback = parameter.schema.default;
  return [choices.map((each) => shape(document, each)).join(" | "), ...choices.map(rule), fallback === undefined ? "" : `otherwise ${fallback}`].filter(Boolean).join(", ");
}
