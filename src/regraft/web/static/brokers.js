// Brokers as a table: sorted, searched, fifty rows at a time.
import { html, useMemo, useState } from "./html.js";
import { Badge, Card, Empty, useStore } from "./parts.js";
import { bytes, number, percent, rate } from "./format.js";

const COLUMNS = [
  ["id", "broker", (b) => b.label ?? b.id], ["alive", "state", (b) => html`<${Badge} word=${b.alive ? (b.in_overlay ? "alive" : "outside") : b.in_overlay ? "dead" : "left"} />`],
  ["region", "region", (b) => b.region ?? "–"], ["degree", "links", (b) => number(b.degree)], ["clients", "clients", (b) => number(b.clients)],
  ["messages_per_second", "messages", (b) => rate(b.messages_per_second)], ["bytes_in_per_second", "in", (b) => `${bytes(b.bytes_in_per_second)}/s`], ["bytes_out_per_second", "out", (b) => `${bytes(b.bytes_out_per_second)}/s`],
  ["queue_bytes", "queue", (b) => bytes(b.queue_bytes)], ["cpu", "CPU", (b) => percent(b.cpu)], ["memory", "memory", (b) => bytes(b.memory)],
];
const TEXT = new Set(["id", "alive", "region"]);
const natural = new Intl.Collator("en", { numeric: true });

export function Brokers() {
  const { topology } = useStore("topology");
  const [sort, by] = useState(["id", 1]), [search, find] = useState(""), [most, show] = useState(50);
  const brokers = topology?.brokers ?? [];
  const rows = useMemo(() => {
    const [key, way] = sort, wanted = search.trim().toLowerCase();
    const kept = wanted ? brokers.filter((b) => `${b.id} ${b.label ?? ""} ${b.region ?? ""} ${b.host}:${b.port}`.toLowerCase().includes(wanted)) : [...brokers];
    const order = TEXT.has(key) ? (a, b) => natural.compare(String(a[key] ?? ""), String(b[key] ?? "")) : (a, b) => (a[key] ?? -1) - (b[key] ?? -1);
    return kept.sort((a, b) => way * order(a, b));
  }, [topology, sort, search]);
  const dead = brokers.filter((broker) => !broker.alive && broker.in_overlay).length;
  return html`<${Card} title="Brokers" aside=${html`<input type="search" placeholder="Search" aria-label="Search brokers" value=${search} onInput=${(event) => find(event.target.value)} />`}>
    <p class="quiet">${rows.length} of ${brokers.length}${dead ? html`, <span class="no">${dead} dead</span>` : ""}</p>
    ${rows.length ? html`<div class="scroll"><table class="brokers"><thead><tr>${COLUMNS.map(([key, name]) => html`<th class=${TEXT.has(key) ? "" : "right"} aria-sort=${sort[0] === key ? (sort[1] > 0 ? "ascending" : "descending") : "none"}><button type="button" class="plain" onClick=${() => by([key, sort[0] === key ? -sort[1] : TEXT.has(key) ? 1 : -1])}>${name}${sort[0] === key ? (sort[1] > 0 ? " ↑" : " ↓") : ""}</button></th>`)}</tr></thead>
      <tbody>${rows.slice(0, most).map((broker) => html`<tr key=${broker.id}>${COLUMNS.map(([key, , shown]) => html`<td class=${TEXT.has(key) ? "" : "right"}>${shown(broker)}</td>`)}</tr>`)}</tbody></table></div>
      ${rows.length > most && html`<button type="button" onClick=${() => show(most + 100)}>Show more</button>`}` : html`<${Empty}>None.<//>`}<//>`;
}
