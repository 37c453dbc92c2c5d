// What colours, widths and shapes mean: under each picture, and only what is in it.
import { html } from "./html.js";

const LATENCIES = [["l0", "below 5 ms"], ["l1", "5 to 15 ms"], ["l2", "15 to 40 ms"], ["l3", "40 ms and more"]];
const LINKS = [["unknown", "latency not known"], ["down", "link down"]];
const BROKERS = [["busy", "busy: over ⅔ of the busiest broker's load"], ["dead", "dead"], ["outside", "not in the overlay"]];

const has = (things, kind) => things.some((each) => each.classes.includes(kind));
const link = ([kind, text]) => html`<span><i class="link ${kind}"></i>${text}</span>`;
const broker = ([kind, text]) => html`<span><i class="broker ${kind}"></i>${text}</span>`;

export function OverlayLegend({ elements }) {
  const known = elements.edges.some((edge) => !has([edge], "unknown") && !has([edge], "down"));
  return html`<div class="legend" aria-label="Legend">
    ${known && LATENCIES.map(link)}${LINKS.filter(([kind]) => has(elements.edges, kind)).map(link)}
    <span class="widths"><i></i><i></i><i></i>width: load</span>
    ${broker(["", "broker"])}${BROKERS.filter(([kind]) => has(elements.nodes, kind)).map(broker)}</div>`;
}

// Of a plan: of each step, or of all that it changes.
export const PlanLegend = ({ removed, added, touched = false }) => html`<div class="legend" aria-label="Legend">
  ${link(["unknown", "link that stays"])}${removed && link(["removed", removed])}${added && link(["added", added])}${touched && broker(["touched", "broker that takes part"])}</div>`;
