// The rules of healing; an admin may change them, the server checks them.
import { html, useEffect, useState } from "./html.js";
import { Card, Empty, may } from "./parts.js";
import { ask, attempt } from "./api.js";

export function Rules() {
  const [rules, set] = useState(null), [fault, fail] = useState(""), [edited, edit] = useState(null);
  const load = () => ask("rules").then(set, (no) => fail(no.message));
  useEffect(() => void load(), []);
  if (fault) return html`<${Card} title="Rules"><${Empty}>${fault}<//><//>`;
  if (!rules) return html`<${Card} title="Rules"><${Empty}>Loading…<//><//>`;
  const save = async (event) => {
    event.preventDefault();
    const found = await attempt(() => ask("rules", "PUT", { rules: { [edited.name]: edited.text } }), `Saved ${edited.name}`);
    if (found) (set(found), edit(null));
  };
  const names = Object.entries(rules.definitions);
  return html`<div class="rules-view"><${Card} title="Rules" aside=${html`<span class="quiet">version ${rules.version}</span>${may("admin") && html`<button type="button" onClick=${() => edit({ name: "", text: "", fresh: true })}>New rule</button>`}`}>
      ${rules.note && html`<p class="quiet">${rules.note}</p>`}
      ${rules.rules.length ? rules.rules.map((rule) => html`<article class="rule" key=${rule.name}><header><h3>${rule.name}</h3><span class="quiet">version ${rule.version}</span>${may("admin") && html`<button type="button" class="plain" onClick=${() => edit({ ...rule })}>Change</button>`}</header><pre>${rule.text}</pre></article>`) : html`<${Empty}>There are none.<//>`}<//>
    <div class="side">${edited && html`<${Card} title=${edited.fresh ? "New rule" : `Change ${edited.name}`}><form onSubmit=${save}>
        ${edited.fresh && html`<label>Name<input required value=${edited.name} onInput=${(event) => edit({ ...edited, name: event.target.value })} /></label>`}
        <label>Rule<textarea required rows="10" spellcheck=${false} value=${edited.text} onInput=${(event) => edit({ ...edited, text: event.target.value })}></textarea></label>
        <div class="buttons"><button type="button" onClick=${() => edit(null)}>Cancel</button><button type="submit" class="primary">Save</button></div></form><//>`}
      <${Card} title="Definitions">${names.length ? html`<dl class="facts">${names.map(([name, value]) => html`<dt>${name}</dt><dd>${String(value)}</dd>`)}</dl>` : html`<${Empty}>None.<//>`}<//></div></div>`;
}
