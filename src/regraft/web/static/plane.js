// Things on a plane (Leaflet, on a canvas): the map of sites, and the graph of a large overlay. What is moved is
// not redrawn, and of what changes only the surroundings are: that keeps 1,000 brokers smooth.
import { html, useEffect, useRef } from "./html.js";
import { besides } from "./labels.js";

const NAMED = 90, FONT = 11, RADIUS = 9;

// `things`: id → { line: [from, to] | site: at, label, look, front }. Places are [latitude, longitude], or [-y, x] without `geo`.
export function Plane({ things, geo, onChoose, label, fitKey = 0, land = null, landStyle = null, theme = "" }) {
  const box = useRef(null), map = useRef(null), layers = useRef(new Map()), coast = useRef(null), choose = useRef(onChoose);
  choose.current = onChoose;
  useEffect(() => {
    const element = box.current, limits = geo ? { minZoom: 1, maxZoom: 10, worldCopyJump: true } : { crs: L.CRS.Simple, minZoom: -6, maxZoom: 3 };
    const made = L.map(element, { preferCanvas: true, renderer: L.canvas({ padding: 0.3 }), attributionControl: false, zoomSnap: 0.25, ...limits });
    made.setView([0, 0], geo ? 2 : 0);
    map.current = made;
    element.map = made;
    if (geo) made.createPane("land").style.zIndex = 200;
    const resized = new ResizeObserver(() => element.clientWidth && made.invalidateSize({ animate: false }));
    resized.observe(element);
    made.on("click", () => choose.current?.(null));
    made.on("zoomend", () => placeNames(made, layers.current));
    return () => (resized.disconnect(), made.remove(), layers.current.clear());
  }, [geo]);
  useEffect(() => {
    if (!land) return undefined;
    let gone = false;
    land().then((shown) => gone || (coast.current = shown.setStyle(landStyle()).addTo(map.current)));
    return () => ((gone = true), (coast.current = null));
  }, [geo]);
  useEffect(() => void coast.current?.setStyle(landStyle()), [theme]);
  useEffect(() => {
    show(map.current, layers.current, things, choose);
    placeNames(map.current, layers.current);
  }, [things]);
  useEffect(() => {
    const sites = [...things.values()].filter((each) => each.site).map((each) => each.site);
    if (sites.length) map.current.fitBounds(L.latLngBounds(sites).pad(0.06), { animate: false });
  }, [geo, fitKey]);
  return html`<div class=${geo ? "sites" : "sites plain-plane"} role="img" aria-label=${label} ref=${box}></div>`;
}

// Only what differs from what is shown is touched.
function show(map, layers, things, choose) {
  for (const [id, { layer }] of layers) if (!things.has(id)) (layer.remove(), layers.delete(id));
  const named = things.size <= NAMED;
  for (const [id, thing] of things) {
    const old = layers.get(id);
    if (old?.said === thing.said && old.where === thing.where) continue;
    if (old) {
      if (old.where !== thing.where) thing.site ? old.layer.setLatLng(thing.site) : old.layer.setLatLngs(thing.line);
      old.layer.setStyle(thing.look);
      if (thing.site) old.layer.setRadius(thing.look.radius);
      Object.assign(old, { said: thing.said, where: thing.where });
    } else layers.set(id, { said: thing.said, where: thing.where, layer: added(map, id, thing, named, choose) });
    if (thing.front) layers.get(id).layer.bringToFront();
  }
}

function added(map, id, { line, site, label, look, front }, named, choose) {
  const options = { ...look, bubblingMouseEvents: false };
  const layer = line ? L.polyline(line, options) : L.circleMarker(site, options).bindTooltip(label, { permanent: named, direction: named ? "center" : "right", offset: [8, 0], className: "site" });
  layer.on("click", () => choose.current?.(id)).addTo(map);
  return line && !front ? layer.bringToBack() : layer;
}

// Names that are always shown stand where they cross no link.
function placeNames(map, layers) {
  const all = [...layers], at = (place) => map.latLngToLayerPoint(place);
  const sites = all.filter(([, { layer }]) => layer.getTooltip?.()?.options.permanent);
  if (!sites.length) return;
  const lines = all.filter(([, { layer }]) => layer instanceof L.Polyline).map(([, { layer }]) => {
    const [from, to] = layer.getLatLngs().map(at);
    return { x1: from.x, y1: from.y, x2: to.x, y2: to.y, width: layer.options.weight };
  });
  const nodes = sites.map(([id, { layer }]) => ({ id, label: layer.getTooltip().getContent(), ...at(layer.getLatLng()) }));
  for (const [id, { x, y }] of besides(nodes, lines, RADIUS, FONT)) {
    const tooltip = layers.get(id).layer.getTooltip(), offset = L.point(x, y);
    if (offset.equals(tooltip.options.offset)) continue;
    tooltip.options.offset = offset;
    tooltip.update();
  }
}

// `said` and `where` are compared instead of the look and the place.
export const thing = (parts) => ({ ...parts, said: Object.values(parts.look).join(), where: String(parts.site ?? parts.line) });
