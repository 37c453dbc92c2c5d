// Sites on a map (Leaflet), with coast lines that come with the page instead of tiles from a server.
import { html, useEffect, useRef } from "./html.js";
import { linkId } from "./format.js";

const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
let coast = null;
const land = () => (coast ??= fetch("vendor/land-50m.json").then((answer) => answer.json()).then((atlas) => topojson.feature(atlas, atlas.objects.land)));
const colour = (link) => {
  if (link.up === false) return token("--bad");
  if (link.latency_ms === null || link.latency_ms === undefined) return token("--line-strong");
  return token(`--latency-${[5, 15, 40].filter((limit) => link.latency_ms >= limit).length}`);
};

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
      layer = L.geoJSON(shape, { pane: "land", renderer, interactive: false, noClip: true, style: { color: token("--coast"), weight: 1, fillColor: token("--land"), fillOpacity: 1 } }).addTo(map.current);
    });
    return () => {
      gone = true;
      layer?.remove();
    };
  }, [theme]);
  useEffect(() => {
    const at = new Map(topology.brokers.map((broker) => [broker.id, [broker.latitude, broker.longitude]]));
    const group = L.layerGroup(), tiny = topology.brokers.length > 200;
    for (const link of topology.links) {
      const id = linkId(link.one, link.other), picked = chosen === id;
      L.polyline([at.get(link.one), at.get(link.other)], { color: picked ? token("--accent") : colour(link), weight: 1.5 + 7 * (link.share ?? 0.05), dashArray: link.up === false ? "6 6" : null, opacity: 0.9, bubblingMouseEvents: false }).on("click", () => choose.current?.(id)).addTo(group);
    }
    for (const broker of topology.brokers) {
      const picked = chosen === broker.id;
      L.circleMarker(at.get(broker.id), { radius: (tiny ? 4 : 7) + (picked ? 2 : 0), color: picked ? token("--accent") : token("--canvas"), weight: picked ? 3 : 1.5, fillColor: broker.alive ? token("--node") : token("--bad"), fillOpacity: 1, bubblingMouseEvents: false })
        .bindTooltip(broker.label ?? broker.id, { permanent: topology.brokers.length <= 40, direction: "right", offset: [8, 0], className: "site" })
        .on("click", () => choose.current?.(broker.id)).addTo(group);
    }
    const first = !layers.current;
    layers.current?.remove();
    layers.current = group.addTo(map.current);
    if (first) map.current.fitBounds(L.latLngBounds([...at.values()]).pad(0.12), { animate: false });
  }, [topology, chosen, theme]);
  return html`<div class="sites" role="img" aria-label="Sites on a map" ref=${box}></div>`;
}
