// Cost, latency, queue and loss over time; transformations are bands in every plot.
import { html, useMemo, useState } from "./html.js";
import { Badge, Card, Empty, Segments, useStore, useTheme } from "./parts.js";
import { Plot } from "./plots.js";
import { bytes, compact, duration, number, short, when } from "./format.js";
import { counted } from "./names.js";

const RANGES = [["900", "15 min"], ["3600", "1 h"], ["21600", "6 h"], ["86400", "1 day"], ["0", "all"]];
const PLOTS = [
  ["Routing cost", "", [["routing_cost", "routing cost", "--accent", "--accent-faint"]]],
  ["Delivery latency", "ms", [["p50_ms", "half within", "--series-1"], ["p99_ms", "99 % within", "--series-2"], ["p999_ms", "99.9 % within", "--series-3"]]],
  ["Rates", "/s", [["publications_per_second", "published", "--series-1"], ["deliveries_per_second", "delivered", "--series-2"]]],
  ["Longest queue of a broker", "bytes", [["queue", "kept", "--accent", "--accent-faint"]], bytes],
  ["Telemetry not used", "", [["rejected", "rejected", "--bad"], ["late", "late", "--series-3"]]],
];

export function History() {
  const { series } = useStore("series"), theme = useTheme();
  const [range, set] = useState("3600");
  const points = useMemo(() => {
    const since = Number(range) ? (series.points.at(-1)?.at ?? 0) - Number(range) : 0;
    return series.points.filter((point) => point.at >= since);
  }, [series, range]);
  const times = useMemo(() => points.map((point) => point.at), [points]);
  const lines = useMemo(() => PLOTS.map(([, , parts]) => parts.map(([key, name, colour, fill]) => ({ name, colour, fill, values: points.map((point) => point[key] ?? null) }))), [points]);
  const bars = useMemo(() => losses(series.runs, times), [series, times]);
  return html`<div class="history-view"><div class="toolbar"><${Segments} label="Range" value=${range} options=${RANGES} onChange=${set} /><span class="quiet grow">Bands are transformations: <i class="band"></i> planned, <i class="band heal"></i> healing, <i class="band bad"></i> failed. Drag to zoom, double-click to leave.</span></div>
    ${points.length < 2 ? html`<${Card}><${Empty}>Two windows are needed for a plot; so far there ${points.length === 1 ? "is" : "are"} ${counted(points.length, "window")}.<//><//>` : html`<div class="plots">
      ${PLOTS.map(([title, unit, , shown], n) => html`<${Card} title=${title} aside=${unit}><${Plot} times=${times} lines=${lines[n]} runs=${series.runs} unit=${unit} shown=${shown} theme=${theme} /><//>`)}
      <${Card} title="Lost, twice, out of order" aside="canaries, by transformation">${bars.times.length ? html`<${Plot} times=${bars.times} lines=${bars.lines} runs=${series.runs} theme=${theme} />` : html`<${Empty}>No transformation in this time.<//>`}<//>
    </div>`}
    <${Runs} runs=${series.runs} /></div>`;
}

// Counters only grow: what is flat was not lost.
function losses(runs, window) {
  const since = window[0];
  const ended = runs.filter((run) => run.ended && run.lost !== null && run.lost !== undefined).sort((a, b) => a.ended - b.ended);
  const times = [], sums = { lost: [], duplicated: [], reordered: [] }, total = { lost: 0, duplicated: 0, reordered: 0 };
  let before = { ...total };
  for (const run of ended) {
    for (const name of Object.keys(total)) total[name] += run[name] ?? 0;
    if (run.ended < (since ?? 0)) {
      before = { ...total };
      continue;
    }
    times.push(run.ended);
    for (const name of Object.keys(total)) sums[name].push(total[name]);
  }
  if (times.length) {
    times.unshift(Math.min(since ?? times[0], times[0]) - 1);
    times.push(Math.max(window.at(-1) ?? 0, times.at(-1)) + 1);
    for (const [name, values] of Object.entries(sums)) (values.unshift(before[name]), values.push(total[name]));
  }
  return { times, lines: [["lost", "lost", "--bad"], ["duplicated", "twice", "--series-2"], ["reordered", "out of order", "--series-3"]].map(([key, name, colour]) => ({ name, colour, values: sums[key] })) };
}

function Runs({ runs }) {
  return html`<${Card} title="Transformations">${runs.length ? html`<div class="scroll"><table><thead><tr><th>began</th><th>run</th><th>plan</th><th>cause</th><th>state</th><th>took</th><th>actions</th><th>canaries</th><th>lost</th><th>twice</th><th>out of order</th></tr></thead><tbody>
    ${[...runs].reverse().slice(0, 100).map((run) => html`<tr key=${run.run}><td><time>${when(run.began)}</time></td><td>${run.run}${run.back ? " (back)" : ""}</td><td><code>${short(run.plan)}</code></td><td>${run.cause}</td><td><${Badge} word=${run.state} /></td><td>${run.ended ? duration(run.ended - run.began) : "…"}</td><td>${run.actions}</td><td>${compact(run.published)}</td>
      ${["lost", "duplicated", "reordered"].map((name) => html`<td class=${run[name] ? "no" : ""}>${number(run[name])}</td>`)}</tr>`)}</tbody></table></div>` : html`<${Empty}>None yet.<//>`}<//>`;
}
