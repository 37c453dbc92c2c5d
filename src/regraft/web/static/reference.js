// The REST API for people who read: every request of the OpenAPI document, who may make it, and what it answers.
import { html, render, useEffect, useState } from "./html.js";
import { ask, set } from "./api.js";
import { LogIn } from "./login.js";
import { Badge, Empty, useStore } from "./parts.js";
import { sentence } from "./names.js";
import { shape, typeOf } from "./schema.js";

const MOST = 20000;
const JSON_TYPE = "application/json";

function Reference() {
  const { who } = useStore("who"), [document_, found] = useState(null), [fault, fail] = useState("");
  useEffect(() => void ask("session").then((seen) => set({ who: seen }), () => set({ who: null })), []);
  useEffect(() => {
    if (who) ask("openapi.json").then(found, (no) => fail(no.message));
  }, [who?.name]);
  if (who === null) return html`<${LogIn} />`;
  if (fault) return html`<main><${Empty}>${sentence(fault)}<//></main>`;
  return document_ && html`<${Page} document=${document_} who=${who} />`;
}

function Page({ document, who }) {
  const groups = new Map();
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const tag = operation.tags?.[0] ?? "other";
      groups.set(tag, [...(groups.get(tag) ?? []), { path, method, operation }]);
    }
  }
  return html`<header class="top"><a class="brand" href="./"><img src="icon.svg" alt="" width="26" height="26" />Regraft</a><div class="standing"><span>REST API, version ${document.info.version}</span></div>
      <div class="control quiet">You are ${who.name}, ${who.role}.</div><nav aria-label="Groups">${[...groups.keys()].map((tag) => html`<a href="#${tag}">${tag}</a>`)}</nav></header>
    <main class="reference"><p class="summary">${document.info.description} The same for programs: <a href="openapi.json">openapi.json</a>.</p>
      ${[...groups].map(([tag, all]) => html`<section class="card" id=${tag}><h2>${tag}</h2>${all.map((each) => html`<${Operation} key=${each.method + each.path} document=${document} ...${each} />`)}</section>`)}</main>`;
}

const content = (part) => Object.entries(part?.content ?? {})[0] ?? [];

function Operation({ document, path, method, operation }) {
  const [status, answer] = Object.entries(operation.responses).find(([code]) => code < 300) ?? [];
  const [, body] = content(operation.requestBody), [type, shown] = content(answer);
  const noes = Object.entries(operation.responses).filter(([code]) => code >= 400);
  const curl = `curl -s${method === "get" ? "" : ` -X ${method.toUpperCase()}`} -H "Authorization: Bearer $TOKEN"${body ? ` -H 'Content-Type: ${JSON_TYPE}' -d '…'` : ""} ${location.origin}${path}`;
  return html`<details class="operation"><summary><span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code> <span class="quiet">${operation.description ?? operation.summary}</span>${operation["x-role"] && html`<${Badge} word=${operation["x-role"]} />`}</summary>
    ${operation.parameters?.length ? html`<div class="scroll"><table><caption>Parameters</caption><tbody>${operation.parameters.map((each) => html`<tr><th scope="row">${each.name}</th><td>${each.in}${each.required ? ", needed" : ""}</td><td>${typeOf(document, each)}</td><td>${each.description ?? ""}</td></tr>`)}</tbody></table></div>` : ""}
    ${body && html`<h3>Body</h3><pre>${shape(document, body.schema)}</pre>`}
    <h3>Answer ${status}</h3><p class="quiet">${answer?.description ?? ""} ${type ?? ""}</p>${shown?.schema && html`<pre>${shape(document, shown.schema)}</pre>`}
    <h3>Refusals</h3><p class="quiet">${noes.map(([code, each]) => html`<span><b>${code}</b> ${each.description} </span>`)}</p>
    <pre>${curl}</pre>${method === "get" && type !== "text/event-stream" && html`<${Try} path=${path} parameters=${operation.parameters ?? []} />`}</details>`;
}

// Only what changes nothing can be tried here; changes have their buttons, and their questions, on the dashboard.
function Try({ path, parameters }) {
  const [values, fill] = useState({}), [said, say] = useState("");
  const go = async (event) => {
    event.preventDefault();
    const given = parameters.filter(({ name }) => values[name]);
    const filled = given.filter((each) => each.in === "path").reduce((text, { name }) => text.replace(`{${name}}`, encodeURIComponent(values[name])), path);
    const query = new URLSearchParams(given.filter((each) => each.in === "query").map(({ name }) => [name, values[name]]));
    const answer = await fetch(`.${filled}${query.size ? `?${query}` : ""}`).catch(() => null);
    const text = answer ? await answer.text() : "The server does not answer.";
    const nice = answer?.headers.get("Content-Type")?.startsWith(JSON_TYPE) ? JSON.stringify(JSON.parse(text), null, 1) : text;
    say(`${answer?.status ?? ""}\n${nice.length > MOST ? `${nice.slice(0, MOST)}\n…` : nice}`);
  };
  return html`<form class="try" onSubmit=${go}>${parameters.filter((each) => each.in !== "header").map(({ name, required }) => html`<label>${name}<input required=${required} value=${values[name] ?? ""} onInput=${(event) => fill({ ...values, [name]: event.target.value })} /></label>`)}<button type="submit">Try it</button></form>${said && html`<pre class="answer" role="status">${said}</pre>`}`;
}

render(html`<${Reference} />`, document.getElementById("app"));
