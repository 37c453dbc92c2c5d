// The first view: the overlay as it is, what it costs, what is proposed, what is selected.
import { html, useMemo, useRef, useState } from "./html.js";
import { Badge, Card, Empty, Segments, Tile, useStoreWhile, useTheme } from "./parts.js";
import { brokerName } from "./api.js";
import { Graph, arrangeAgain, elementsOf, livePlaces } from "./graph.js";
import { OverlayLegend } from "./legend.js";
import { Sites } from "./map.js";
import { Plot } from "./plots.js";
import { bytes, compact, linkId, ms, number, percent, rate, when } from "./format.js";
import { counted, goalName, sentence, size } from "./names.js";

// Stays where it is while another view is shown: to build the graph of 1,000 brokers takes long. Then it also rests.
export function Overlay({ hidden }) {
  const kept = useRef(null);
  if (!hidden || !kept.current) kept.current = html`<${Shown} />`;
  resting = hidden;
  return kept.current;
}

let resting = false;

function Shown() {
  const { topology, state, series, proposals, decisions } = useStoreWhile(() => !resting, "topology", "state", "series", "proposals", "decisions");
  const theme = useTheme();
  const [chosen, choose] = useState(null), [view, show] = useState("graph"), [fit, refit] = useState(0);
  const elements = useMemo(() => topology && elementsOf(topology), [topology]);
  if (!topology) return html`<${Empty}>No overlay is known yet. ${state?.sentence}<//>`;
  const waiting = proposals.find((each) => each.state === "waiting" || each.state === "would-propose");
  const onMap = view === "map" && topology.located;
  return html`<div class="overlay-view">
    <section class="stage card">
      <div class="toolbar">
        <${Segments} label="Picture" value=${onMap ? "map" : "graph"} options=${[["graph", "Graph"], ["map", "Map", !topology.located]]} onChange=${show} />
        <span class="quiet grow cut">${counted(elements.nodes.length, "broker")}, ${counted(topology.links.length, "link")}, ${topology.kind}, epoch ${topology.epoch}</span>
        ${!onMap && html`<button type="button" class="plain" onClick=${() => (arrangeAgain(), refit(fit + 1))} title="Find places anew and show everything">Arrange</button>`}
      </div>
      <div class="picture">
        ${onMap ? html`<${Sites} topology=${topology} chosen=${chosen} onChoose=${choose} theme=${theme} />`
          : html`<${Graph} elements=${elements} places=${livePlaces(topology)} chosen=${chosen} onChoose=${choose} theme=${theme} fitKey=${fit} label="The overlay: ${counted(elements.nodes.length, "broker")}" />`}
      </div>
      <${OverlayLegend} elements=${elements} />
    </section>
    <aside class="side">
      ${waiting ? html`<${Waiting} proposal=${waiting} />` : state?.candidate && html`<${Confirming} candidate=${state.candidate} />`}
      <${Numbers} series=${series} theme=${theme} />
      ${chosen && html`<${Chosen} id=${chosen} topology=${topology} onClose=${() => choose(null)} choose=${choose} />`}
      <${Card} title="Latest decisions" aside=${html`<a href="#decisions">all</a>`}>
        ${decisions.length ? html`<ol class="log">${decisions.slice(0, 5).map((each) => html`<li key=${each.id} class=${each.acted ? "acted" : ""}><time>${when(each.at)}</time><span>${sentence(each.text)}</span></li>`)}</ol>` : html`<${Empty}>None yet.<//>`}
      <//>
    </aside>
  </div>`;
}

// A plan that waits for a person; or, while the loop only observes, what it would propose.
function Waiting({ proposal }) {
  const shown = proposal.state === "would-propose";
  return html`<section class="card callout"><header><h2>${shown ? "The loop would change this" : "A better overlay"}</h2><${Badge} word=${proposal.state} /></header>
    <p><strong class="gain">${percent(proposal.gain)}</strong> less ${goalName(proposal.improves)} with ${size(proposal)}.</p>
    <p class="quiet">${sentence(proposal.reason)}</p>
    <a class="button primary" href="#plans/${proposal.sha256}">Look at the plan</a></section>`;
}

function Confirming({ candidate }) {
  return html`<section class="card confirming"><header><h2>Something better is being confirmed</h2></header>
    <p><strong class="gain">${percent(candidate.gain)}</strong> less ${goalName(candidate.improves)}; seen in ${candidate.windows} of ${counted(candidate.windows_needed, "window")} that are needed.</p></section>`;
}

function Numbers({ series, theme }) {
  const { points, runs } = series, last = points.at(-1) ?? {};
  const recent = points.slice(-40), times = useMemo(() => recent.map((point) => point.at), [points]);
  const line = (name) => [{ name, colour: "--accent", fill: "--accent-faint", values: recent.map((point) => point[name]) }];
  const cost = useMemo(() => line("routing_cost"), [points]), latency = useMemo(() => line("p99_ms"), [points]);
  const sum = (name) => runs.reduce((total, run) => total + (run[name] ?? 0), 0);
  const audited = runs.filter((run) => run.published != null).length;
  const bad = sum("lost") + sum("duplicated") + sum("reordered"), published = sum("published");
  const spark = (lines) => recent.length > 1 && html`<${Plot} times=${times} lines=${lines} height=${34} axis=${false} theme=${theme} sync="none" />`;
  return html`<div class="tiles">
    <${Tile} name="Routing cost" value=${compact(last.routing_cost)} note="per window">${spark(cost)}<//>
    <${Tile} name="Latency, 99 % within" value=${ms(last.p99_ms)} note="half within ${ms(last.p50_ms)}">${spark(latency)}<//>
    <${Tile} name="Deliveries" value=${rate(last.deliveries_per_second)} note="${rate(last.publications_per_second)} published" />
    <${Tile} name="Longest queue" value=${bytes(last.queue)} note="kept by one broker" />
    <${Tile} name="Lost · twice · out of order" kind=${bad ? "bad" : published ? "good" : ""} value="${number(sum("lost"))} · ${number(sum("duplicated"))} · ${number(sum("reordered"))}" note=${published ? `of ${counted(published, "canary", "canaries")} in ${counted(audited, "transformation")}` : "no transformation was audited yet"} />
  </div>`;
}

const Facts = ({ rows }) => html`<dl class="facts">${rows.filter(Boolean).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;

export function Chosen({ id, topology, onClose, choose }) {
  const close = html`<button type="button" class="plain" aria-label="Close" onClick=${onClose}>✕</button>`;
  const broker = topology.brokers.find((each) => each.id === id);
  if (broker) {
    const go = (other) => html`<button type="button" class="chip" onClick=${() => choose(other)}>${brokerName(other)}</button>`;
    return html`<${Card} title=${broker.label ?? broker.id} aside=${html`<${Badge} word=${broker.alive ? "alive" : "dead"} />${close}`} kind="chosen">
      <${Facts} rows=${[
        ["address", broker.port ? `${broker.host}:${broker.port}` : "–"], broker.region && ["region", broker.region],
        ["clients", number(broker.clients)], ["messages", rate(broker.messages_per_second)],
        ["in, out", `${bytes(broker.bytes_in_per_second)}/s, ${bytes(broker.bytes_out_per_second)}/s`],
        ["queue", bytes(broker.queue_bytes)], ["CPU", percent(broker.cpu)], ["memory", bytes(broker.memory)],
        ["neighbours", html`<span class="chips">${broker.neighbours.map(go)}</span>`],
      ]} /><//>`;
  }
  const link = topology.links.find((each) => linkId(each.one, each.other) === id);
  if (!link) return html`<${Card} title="Gone" aside=${close}><${Empty}>It is no longer part of the overlay.<//><//>`;
  return html`<${Card} title="${brokerName(link.one)} – ${brokerName(link.other)}" aside=${html`<${Badge} word=${link.up === false ? "down" : "up"} />${close}`} kind="chosen">
    <${Facts} rows=${[["messages", rate(link.messages_per_second)], ["of the busiest link", percent(link.share)], ["latency", ms(link.latency_ms)], ["cost", number(link.cost)]]} /><//>`;
}
