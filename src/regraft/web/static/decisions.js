// Why: everything that was done or decided not to do, what healing did, and who asked for what.
import { html, useEffect, useState } from "./html.js";
import { Badge, Card, Empty, may, useStore } from "./parts.js";
import { ask, attempt, refresh } from "./api.js";
import { duration, short, when } from "./format.js";
import { figure, numberName, sentence, words } from "./names.js";

export function Decisions() {
  const { decisions, adaptations } = useStore("decisions", "adaptations");
  const [older, more] = useState([]), [kind, only] = useState(""), [end, ended] = useState(false);
  const complete = decisions.length < 60 && !older.length;
  useEffect(() => {
    const timer = setInterval(() => document.hidden || refresh.adaptations(), 3000); // healing tells nobody
    refresh.adaptations();
    return () => clearInterval(timer);
  }, []);
  const seen = new Set(decisions.map((each) => each.id));
  const all = [...decisions, ...older.filter((each) => !seen.has(each.id))];
  const kinds = [...new Set(all.map((each) => each.kind))].sort();
  const load = async () => {
    const found = await attempt(() => ask(`decisions?limit=100&before=${all.at(-1)?.id ?? 0}`));
    if (found) (more([...older, ...found.items]), ended(!found.items.length));
  };
  return html`<div class="decisions-view">
    <${Card} title="Decisions" aside=${html`<label class="quiet">kind <select value=${kind} onChange=${(event) => only(event.target.value)}><option value="">all</option>${kinds.map((each) => html`<option value=${each}>${words(each)}</option>`)}</select></label>`}>
      ${all.length ? html`<ol class="decisions">${all.filter((each) => !kind || each.kind === kind).map((each) => html`<${Decision} key=${each.id} decision=${each} />`)}</ol>
        ${!end && !complete && html`<button type="button" onClick=${load}>Older</button>`}` : html`<${Empty}>None yet.<//>`}<//>
    <div class="side"><${Adaptations} adaptations=${adaptations} />${may("admin") && html`<${Audit} />`}</div></div>`;
}

function Decision({ decision }) {
  const numbers = Object.entries(decision.numbers).filter(([, value]) => value !== null);
  return html`<li class=${decision.acted ? "acted" : "not"}><div class="line"><time>${when(decision.at)}</time><span class="badge ${decision.acted ? "busy" : "mute"}">${words(decision.kind)}</span><span class="quiet">${decision.by}</span>${decision.plan && html`<a href="#plans/${decision.plan}"><code>${short(decision.plan)}</code></a>`}</div>
    <div class="text">${sentence(decision.text)}</div>
    ${numbers.length ? html`<div class="quiet figures">${numbers.map(([name, value]) => html`<span>${numberName(name)} <b>${figure(name, value)}</b></span>`)}</div>` : ""}</li>`;
}

function Adaptations({ adaptations }) {
  return html`<${Card} title="Healing">${adaptations.length ? html`<ol class="decisions">${adaptations.map((each) => html`<li key=${each.id} class="acted"><div class="line"><time>${when(each.at)}</time><${Badge} word=${each.outcome} /><span class="quiet">led by ${each.leader}</span></div>
    <div class="text">${sentence(`${each.cause}: ${each.said.join(", ")}`)} ${sentence(each.reason)}</div>
    <div class="quiet figures"><span>noticed <b>${duration(each.timeout_ms / 1000)}</b></span><span>voted <b>${duration(each.vote_ms / 1000)}</b></span><span>elected <b>${duration(each.election_ms / 1000)}</b></span><span>adapted <b>${duration(each.adaptation_ms / 1000)}</b></span></div></li>`)}</ol>` : html`<${Empty}>Nothing had to be healed.<//>`}<//>`;
}

function Audit() {
  const [entries, set] = useState(null);
  useEffect(() => void ask("audit?limit=50").then((found) => set(found.items), () => set([])), []);
  const answered = (entries ?? []).filter((each) => each.what === "answered" || !each.who);
  return html`<${Card} title="Who asked for what">${answered.length ? html`<div class="scroll"><table><tbody>${answered.map((each) => html`<tr><td><time>${when(each.at)}</time></td><td>${each.who || "?"}</td><td><code>${each.method} ${each.path.replace("/api/v1/", "").replace(/[0-9a-f]{56}\b/, "…")}</code></td><td class=${each.status >= 400 || !each.status ? "no" : ""}>${each.status ?? "refused"}</td></tr>`)}</tbody></table></div>` : html`<${Empty}>Nothing was changed through this page or the API.<//>`}<//>`;
}
