// The first view: the overlay as it is, what it costs, what is proposed, what is selected.
import { html, useMemo, useRef, useState } from "./html.js";
import { Badge, Card, Empty, Segments, Tile, useStoreWhile, useTheme } from "./parts.js";
import { Graph, arrangeAgain, elementsOf, livePlaces } from "./graph.js";
import { Sites } from "./map.js";
import { Plot } from "./plots.js";
import { bytes, compact, linkId, ms, number, percent, rate, when } from "./format.js";

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
  const waiting = proposals.find((each) => each.state === "waiting");
  const onMap = view === "map" && topology.located;
  return html`<div class="overlay-view">
    <section class="stage card">
      <div class="toolbar">
        <${Segments} label="Picture" value=${onMap ? "map" : "graph"} options=${[["graph", "Graph"], ["map", "Map", !topology.located]]} onChange=${show} />
        <span class="quiet grow cut">${elements.nodes.length} brokers, ${topology.links.length} links, ${topology.kind}, epoch ${topology.epoch}</span>
        ${!onMap && html`<button type="button" class="plain" onClick=${() => (arrangeAgain(), refit(fit + 1))} title="Find places anew and show everything">Arrange</button>`}
      </div>
      <div class="picture">
        ${onMap ? html`<${Sites} topology=${topology} chosen=${chosen} onChoose=${choose} theme=${theme} />`
          : html`<${Graph} elements=${elements} places=${livePlaces(topology)} chosen=${chosen} onChoose=${choose} theme=${theme} fitKey=${fit} label="The overlay: ${elements.nodes.length} brokers" />`}
        <${Legend} />
      </div>
    </section>
    <aside class="side">
      ${waiting && html`<${Waiting} proposal=${waiting} />`}
      <${Numbers} series=${series} theme=${theme} />
      ${chosen && html`<${Chosen} id=${chosen} topology=${topology} onClose=${() => choose(null)} choose=${choose} />`}
      <${Card} title="Latest decisions" aside=${html`<a href="#decisions">all</a>`}>
        ${decisions.length ? html`<ol class="log">${decisions.slice(0, 5).map((each) => html`<li key=${each.id} class=${each.acted ? "acted" : ""}><time>${when(each.at)}</time><span>${each.text}</span></li>`)}</ol>` : html`<${Empty}>None yet.<//>`}
      <//>
    </aside>
  </div>`;
}

const Legend = () => html`<div class="legend"><span><i class="l0"></i>below 5 ms</span><span><i class="l1"></i>15</span><span><i class="l2"></i>40</span><span><i class="l3"></i>more</span><span class="widths"><i></i><i></i><i></i>load</span></div>`;

function Waiting({ proposal }) {
  return html`<section class="card callout"><header><h2>A better overlay</h2><${Badge} word="waiting" /></header>
    <p><strong class="gain">${percent(proposal.gain)}</strong> lower routing cost with ${proposal.actions} actions in ${proposal.steps} steps.</p>
    <p class="quiet">${proposal.needs_approval}</p>
    <a class="button primary" href="#plans/${proposal.sha256}">Look at the plan</a></section>`;
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
    <${Tile} name="Latency p99" value=${ms(last.p99_ms)} note="p50 ${ms(last.p50_ms)}">${spark(latency)}<//>
    <${Tile} name="Deliveries" value=${rate(last.deliveries_per_second)} note="${rate(last.publications_per_second)} published" />
    <${Tile} name="Longest queue" value=${compact(last.queue)} note="messages" />
    <${Tile} name="Lost · twice · out of order" kind=${bad ? "bad" : published ? "good" : ""} value="${number(sum("lost"))} · ${number(sum("duplicated"))} · ${number(sum("reordered"))}" note=${published ? `of ${compact(published)} canaries in ${audited} transformations` : "no transformation was audited yet"} />
  </div>`;
}

const Facts = ({ rows }) => html`<dl class="facts">${rows.filter(Boolean).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;

export function Chosen({ id, topology, onClose, choose }) {
  const close = html`<button type="button" class="plain" aria-label="Close" onClick=${onClose}>✕</button>`;
  const broker = topology.brokers.find((each) => each.id === id);
  if (broker) {
    const go = (other) => html`<button type="button" class="chip" onClick=${() => choose(other)}>${other}</button>`;
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
  return html`<${Card} title="${link.one} – ${link.other}" aside=${html`<${Badge} word=${link.up === false ? "down" : "up"} />${close}`} kind="chosen">
    <${Facts} rows=${[["messages", rate(link.messages_per_second)], ["of the busiest link", percent(link.share)], ["latency", ms(link.latency_ms)], ["cost", number(link.cost)]]} /><//>`;
}
