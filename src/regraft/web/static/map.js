// Sites on a map, with coast lines that come with the page instead of tiles from a server.
import { html, useMemo } from "./html.js";
import { linkId } from "./format.js";
import { elementsOf, latencyLevel } from "./graph.js";
import { Plane, thing } from "./plane.js";

const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const coasts = {};
// Beside many brokers, coarse coast lines: all that is seen is drawn anew when the map is zoomed.
const shape = (scale) => (coasts[scale] ??= fetch(`vendor/land-${scale}.json`).then((answer) => answer.json()).then((atlas) => topojson.feature(atlas, atlas.objects.land)));
const landStyle = () => ({ color: token("--coast"), weight: 1, fillColor: token("--land"), fillOpacity: 1 });
const land = (many) => async () => L.geoJSON(await shape(many ? "110m" : "50m"), { pane: "land", renderer: L.canvas({ pane: "land", padding: 1 }), interactive: false, smoothFactor: 2 });

function thingsOf(topology, chosen) {
  const sites = new Map(topology.brokers.filter((broker) => broker.latitude !== null && broker.longitude !== null).map((broker) => [broker.id, [broker.latitude, broker.longitude]]));
  const brokers = elementsOf(topology).nodes.filter(({ id }) => sites.has(id)), at = new Map(brokers.map(({ id }) => [id, sites.get(id)]));
  const found = new Map(), tiny = brokers.length > 200, [accent, rim, alive, dead, busy] = ["--accent", "--canvas", "--node", "--bad", "--node-busy"].map(token);
  const colours = { down: dead, unknown: token("--line-strong"), ...Object.fromEntries([0, 1, 2, 3].map((level) => [level, token(`--latency-${level}`)])) };
  for (const link of topology.links) {
    const id = linkId(link.one, link.other), front = chosen === id;
    if (!at.has(link.one) || !at.has(link.other)) continue;
    found.set(id, thing({ line: [at.get(link.one), at.get(link.other)], front, look: { color: front ? accent : colours[latencyLevel(link)], weight: 1.5 + Math.round(14 * (link.share ?? 0.05)) / 2, dashArray: link.up === false ? "6 6" : null, opacity: 0.9 } }));
  }
  const colour = (classes) => (classes.includes("dead") ? dead : classes.includes("busy") ? busy : alive);
  for (const { id, label, classes } of brokers) {
    const front = chosen === id, opacity = classes.includes("outside") ? 0.3 : 1;
    found.set(id, thing({ site: at.get(id), label, front, look: { radius: (tiny ? 4 : 7) + (front || classes.includes("busy") ? 2 : 0), color: front ? accent : rim, weight: front ? 3 : 1.5, fillColor: colour(classes), fillOpacity: opacity } }));
  }
  return found;
}

export function Sites({ topology, chosen, onChoose, theme }) {
  const things = useMemo(() => thingsOf(topology, chosen), [topology, chosen, theme]);
  return html`<${Plane} geo=${true} things=${things} onChoose=${onChoose} label="Sites on a map" land=${land(topology.brokers.length > 300)} landStyle=${landStyle} theme=${theme} />`;
}
