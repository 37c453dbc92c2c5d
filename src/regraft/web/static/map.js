// Sites on a map (Leaflet), with coast lines that come with the page instead of tiles from a server.
import { html, useEffect, useRef } from "./html.js";
import { linkId } from "./format.js";
import { inSight } from "./graph.js";

const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
let coast = null;
const land = () => (coast ??= fetch("vendor/land-50m.json").then((answer) => answer.json()).then((atlas) => topojson.feature(atlas, atlas.objects.land)));
const colour = (link) => {
  if (link.up === false) return token("--bad");
  if (link.latency_ms === null || link.latency_ms === undefined) return token("--line-strong");
  return token(`--latency-${[5, 15, 40].filter((limit) => link.latency_ms >= limit).length}`);
};

const placed = (topology) => inSight(topology).filter((broker) => broker.latitude !== null && broker.longitude !== null);

// What stands on the map: id → its place and look.
function wanted(topology, chosen) {
  const brokers = placed(topology), at = new Map(brokers.map((broker) => [broker.id, [broker.latitude, broker.longitude]]));
  const found = new Map(), tiny = brokers.length > 200, accent = token("--accent"), rim = token("--canvas");
  const [alive, dead] = [token("--node"), token("--bad")], colours = new Map();
  for (const link of topology.links) {
    const id = linkId(link.one, link.other), level = link.up === false ? "down" : [5, 15, 40].filter((limit) => link.latency_ms >= limit).length;
    if (!colours.has(level)) colours.set(level, colour(link));
    found.set(id, { line: [at.get(link.one), at.get(link.other)], look: { color: chosen === id ? accent : colours.get(level), weight: 1.5 + Math.round(14 * (link.share ?? 0.05)) / 2, dashArray: link.up === false ? "6 6" : null, opacity: 0.9 } });
  }
  for (const broker of brokers) {
    const picked = chosen === broker.id;
    found.set(broker.id, { site: at.get(broker.id), label: broker.label ?? broker.id, look: { radius: (tiny ? 4 : 7) + (picked ? 2 : 0), color: picked ? accent : rim, weight: picked ? 3 : 1.5, fillColor: broker.alive ? alive : dead, fillOpacity: 1 } });
  }
  return found;
}

// Only what differs is touched.
function show(map, layers, wanted, count, choose) {
  for (const [id, { layer }] of layers) if (!wanted.has(id)) (layer.remove(), layers.delete(id));
  for (const [id, { line, site, label, look }] of wanted) {
    const said = JSON.stringify(look), old = layers.get(id);
    if (old?.said === said) continue;
    if (old) old.layer.setStyle(look);
    else {
      const options = { ...look, bubblingMouseEvents: false };
      const layer = line ? L.polyline(line, options) : L.circleMarker(site, options).bindTooltip(label, { permanent: count <= 40, direction: "right", offset: [8, 0], className: "site" });
      layer.on("click", () => choose.current?.(id)).addTo(map);
      layers.set(id, { layer });
      if (line && map._loaded) layer.bringToBack();
    }
    if (look.radius && old) old.layer.setRadius(look.radius);
    layers.get(id).said = said;
  }
  for (const { layer } of layers.values()) if (layer.getRadius && layer.options.weight === 3) layer.bringToFront();
}

export function Sites({ topology, chosen, onChoose, theme }) {
  const box = useRef(null), map = useRef(null), layers = useRef(null), choose = useRef(onChoose);
  choose.current = onChoose;
  useEffect(() => {
    const made = L.map(box.current, { preferCanvas: true, attributionControl: false, zoomControl: true, worldCopyJump: true, minZoom: 1, maxZoom: 10, zoomSnap: 0.25 });
    made.setView([30, 0], 2);
    map.current = made;
    box.current.map = made;
    made.createPane("land").style.zIndex = 200;
    const resized = new ResizeObserver(() => made.invalidateSize());
    resized.observe(box.current);
    made.on("click", () => choose.current?.(null));
    return () => (resized.disconnect(), made.remove());
  }, []);
  useEffect(() => {
    let gone = false, layer = null;
    land().then((shape) => {
      if (gone) return;
      const renderer = L.canvas({ pane: "land", padding: 1 });
      layer = L.geoJSON(shape, { pane: "land", renderer, interactive: false, noClip: true, smoothFactor: 2, style: { color: token("--coast"), weight: 1, fillColor: token("--land"), fillOpacity: 1 } }).addTo(map.current);
    });
    return () => {
      gone = true;
      layer?.remove();
    };
  }, [theme]);
  useEffect(() => {
    const first = !layers.current;
    layers.current ??= new Map();
    show(map.current, layers.current, wanted(topology, chosen), topology.brokers.length, choose);
    if (first) map.current.fitBounds(L.latLngBounds(placed(topology).map((each) => [each.latitude, each.longitude])).pad(0.12), { animate: false });
  }, [topology, chosen, theme]);
  return html`<div class="sites" role="img" aria-label="Sites on a map" ref=${box}></div>`;
}
