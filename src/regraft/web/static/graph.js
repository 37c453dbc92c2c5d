// The overlay as a graph: width of a link is its load, colour its latency. Up to some hundred brokers by Cytoscape,
// which names them and shows changes as movements; more of them on a plane.
import cytoscape from "cytoscape";
import { html, useEffect, useLayoutEffect, useMemo, useRef } from "./html.js";
import { linkId } from "./format.js";
import { besides } from "./labels.js";
import { arrange } from "./layout.js";
import { Plane, thing } from "./plane.js";

const LARGE = 200;
const LATENCIES = [5, 15, 40];
const RADIUS = 10, LARGEST = 12.5, FONT = 12;
const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function style(scale = 1) {
  const text = token("--text"), surface = token("--canvas");
  return [
    { selector: "node", style: { width: 2 * RADIUS * scale, height: 2 * RADIUS * scale, "background-color": token("--node"), "border-width": 2, "border-color": surface, "overlay-opacity": 0 } },
    { selector: "node.named", style: { label: "data(label)", color: text, "font-size": FONT * scale, "font-family": "system-ui, sans-serif", "text-halign": "center", "text-valign": "center", "text-margin-x": "data(marginX)", "text-margin-y": "data(marginY)", "text-outline-width": 2, "text-outline-color": surface, "text-outline-opacity": 0.85 } },
    { selector: "node.busy", style: { "background-color": token("--node-busy"), width: 2 * LARGEST * scale, height: 2 * LARGEST * scale } },
    { selector: "node.outside", style: { "background-opacity": 0.25, "border-style": "dashed", "border-color": token("--muted") } },
    { selector: "node.dead", style: { "background-color": token("--bad"), shape: "diamond", width: 2 * LARGEST * scale, height: 2 * LARGEST * scale, color: token("--bad") } },
    { selector: "node.touched", style: { "border-color": token("--accent"), "border-width": 4 } },
    { selector: "edge", style: { width: "data(width)", "curve-style": "straight", "overlay-opacity": 0 } },
    ...[0, 1, 2, 3].map((level) => ({ selector: `edge.l${level}`, style: { "line-color": token(`--latency-${level}`) } })),
    { selector: "edge.unknown", style: { "line-color": token("--line-strong") } },
    { selector: "edge.down", style: { "line-color": token("--bad"), "line-style": "dashed", width: 2 } },
    { selector: "edge.added", style: { "line-color": token("--good"), width: 5, "z-index": 9 } },
    { selector: "edge.removed", style: { "line-color": token("--bad"), "line-style": "dashed", width: 3, opacity: 0.75, "curve-style": "straight", "z-index": 8 } },
    { selector: "node:selected", style: { "border-color": token("--accent"), "border-width": 4, "font-weight": "bold" } },
    { selector: "edge:selected", style: { "line-color": token("--accent") } },
  ];
}

// 0 to 3, "unknown" or "down".
export function latencyLevel(link) {
  if (link.up === false) return "down";
  if (link.latency_ms === null || link.latency_ms === undefined) return "unknown";
  return LATENCIES.filter((limit) => link.latency_ms >= limit).length;
}
const latencyClass = (link) => {
  const level = latencyLevel(link);
  return typeof level === "string" ? level : `l${level}`;
};

// A broker that is dead and no longer in the overlay was healed around: it is in the table, not in the picture.
export const inSight = (topology) => topology.brokers.filter((broker) => broker.alive || broker.in_overlay);

export function elementsOf(topology) {
  const most = Math.max(1e-9, ...topology.brokers.map((broker) => broker.messages_per_second ?? 0));
  const nodes = inSight(topology).map((broker) => {
    const classes = [];
    if (!broker.alive) classes.push("dead");
    else if (broker.in_overlay === false) classes.push("outside");
    else if ((broker.messages_per_second ?? 0) > 0.66 * most) classes.push("busy");
    return { id: broker.id, label: broker.label ?? broker.id, classes };
  });
  const edges = topology.links.map((link) => ({
    id: linkId(link.one, link.other), source: link.one, target: link.other,
    width: link.share === null || link.share === undefined ? 2 : 1.5 + 8 * link.share, classes: [latencyClass(link)],
  }));
  return { nodes, edges };
}

const BELOW = { marginX: 0, marginY: 22 };
// Only what differs from what is shown is touched.
function apply(graph, wanted, places, named) {
  const shown = graph.scratch("shown") ?? new Map(), now = new Map();
  graph.batch(() => {
    for (const node of wanted.nodes) {
      const classes = [...named, ...node.classes].join(" "), old = shown.get(node.id);
      now.set(node.id, { classes });
      if (!old) graph.add({ data: { id: node.id, label: node.label, ...BELOW }, position: { ...places.get(node.id) }, classes });
      else if (old.classes !== classes) graph.getElementById(node.id).classes(classes);
    }
    for (const edge of wanted.edges) {
      const classes = edge.classes.join(" "), width = Math.round(edge.width * 4) / 4, old = shown.get(edge.id);
      now.set(edge.id, { classes, width });
      if (!old) graph.add({ data: { ...edge, width }, classes });
      else {
        if (old.classes !== classes) graph.getElementById(edge.id).classes(classes);
        if (old.width !== width) graph.getElementById(edge.id).data("width", width);
      }
    }
    for (const id of shown.keys()) if (!now.has(id)) graph.getElementById(id).remove();
  });
  graph.scratch("shown", now);
}

// Names stand where they cross no link, found anew when brokers, links or the size of letters have changed.
function placeNames(graph, wanted, places) {
  const scale = graph.scratch("scale") ?? 1, links = wanted.edges.map((edge) => edge.id).join();
  const key = `${wanted.nodes.length} ${scale} ${links}`, before = graph.scratch("labelled");
  if (before?.key === key && before.places === places) return;
  graph.scratch("labelled", { key, places });
  const nodes = wanted.nodes.map(({ id, label }) => ({ id, label, ...places.get(id) }));
  const lines = wanted.edges.filter((edge) => places.has(edge.source) && places.has(edge.target)).map((edge) => {
    const [from, to] = [places.get(edge.source), places.get(edge.target)];
    return { x1: from.x, y1: from.y, x2: to.x, y2: to.y, width: edge.width };
  });
  const offsets = besides(nodes, lines, LARGEST * scale, FONT * scale);
  graph.batch(() => {
    for (const [id, { x, y }] of offsets) graph.getElementById(id).data({ marginX: x, marginY: y });
  });
}

function move(graph, places, animated) {
  if (graph.scratch("places") === places) return;
  graph.scratch("places", places);
  const nodes = graph.nodes().filter((node) => {
    const to = places.get(node.id()), from = node.position();
    return to && (Math.abs(to.x - from.x) > 0.5 || Math.abs(to.y - from.y) > 0.5);
  });
  if (!nodes.length) return;
  if (animated) nodes.layout({ name: "preset", positions: (node) => places.get(node.id()), animate: true, animationDuration: 500, fit: false }).run();
  else graph.batch(() => nodes.forEach((node) => void node.position(places.get(node.id()))));
}

// A wide picture in a tall box is turned.
const turned = new WeakMap();
function standing(places, element) {
  const all = [...places.values()];
  const spread = (key) => Math.max(...all.map((place) => place[key])) - Math.min(...all.map((place) => place[key]));
  if (element.clientHeight < element.clientWidth * 1.15 || spread("x") < spread("y") * 1.15) return places;
  if (!turned.has(places)) turned.set(places, new Map([...places].map(([id, { x, y }]) => [id, { x: -y, y: x }])));
  return turned.get(places);
}

// `places` is kept by the caller: two pictures of the same overlay then agree.
export function Graph(props) {
  return props.elements.nodes.length > LARGE ? html`<${Many} ...${props} />` : html`<${Few} ...${props} />`;
}

function Few({ elements, places, chosen, onChoose, theme, label, fitKey }) {
  const box = useRef(null), graph = useRef(null), choose = useRef(onChoose);
  choose.current = onChoose;
  useLayoutEffect(() => {
    const element = box.current;
    const made = cytoscape({
      container: element, style: style(), minZoom: 0.05, maxZoom: 4,
      boxSelectionEnabled: false, selectionType: "single", autoungrabify: true, layout: { name: "null" },
    });
    graph.current = made;
    element.graph = made; // for tests
    made.on("tap", (event) => choose.current?.(event.target === made ? null : event.target.id()));
    const resized = new ResizeObserver(() => {
      if (!element.clientWidth) return; // another view is shown
      made.resize();
      if (!made.scratch("touched")) made.fit(undefined, 28);
    });
    resized.observe(element);
    made.on("zoom", () => {
      const scale = Math.min(2.4, Math.max(1, 0.9 / made.zoom()));
      if (Math.abs(scale - (made.scratch("scale") ?? 1)) > 0.12) {
        made.scratch("scale", scale);
        made.style(style(scale));
        made.scratch("relabel")?.();
        if (!made.scratch("touched")) made.fit(undefined, 28); // labels have grown
      }
    });
    made.on("viewport", (event) => event.originalEvent && made.scratch("touched", true));
    element.addEventListener("wheel", () => made.scratch("touched", true), { passive: true });
    return () => (resized.disconnect(), made.destroy());
  }, []);
  useEffect(() => {
    const made = graph.current, first = !made.nodes().length, stood = standing(places, box.current);
    apply(made, elements, stood, ["named"]);
    move(made, stood, !first);
    made.scratch("relabel", () => placeNames(made, elements, stood));
    placeNames(made, elements, stood);
    if (first) made.fit(undefined, 28);
  }, [elements, places]);
  useEffect(() => {
    graph.current.scratch("touched", false);
    graph.current.fit(undefined, 28);
  }, [fitKey]);
  useEffect(() => void graph.current.style(style(graph.current.scratch("scale") ?? 1)), [theme]);
  useEffect(() => {
    const made = graph.current, before = made.scratch("chosen");
    if (before && before !== chosen) made.getElementById(before).unselect();
    if (chosen) made.getElementById(chosen).select();
    made.scratch("chosen", chosen);
  }, [chosen, elements]);
  return html`<div class="graph" role="img" aria-label=${label} ref=${box}></div>`;
}

// Many brokers: the same picture on a plane, which draws only what changes.
function Many({ elements, places, chosen, onChoose, theme, label, fitKey }) {
  const things = useMemo(() => thingsOf(elements, places, chosen), [elements, places, chosen, theme]);
  return html`<${Plane} things=${things} onChoose=${onChoose} label=${label} fitKey=${fitKey} />`;
}

const LOOKS = {
  dead: (bad) => ({ fillColor: bad, radius: 8 }), busy: (_, busy) => ({ fillColor: busy, radius: 6 }), outside: () => ({ fillOpacity: 0.3 }), touched: (_, __, accent) => ({ fillColor: accent, radius: 7 }),
};

function thingsOf(elements, places, chosen) {
  const [node, bad, busy, accent, rim, good, strong] = ["--node", "--bad", "--node-busy", "--accent", "--canvas", "--good", "--line-strong"].map(token);
  const colours = { l0: token("--latency-0"), l1: token("--latency-1"), l2: token("--latency-2"), l3: token("--latency-3"), unknown: strong, down: bad, added: good, removed: bad };
  const at = new Map([...places].map(([id, { x, y }]) => [id, [-y, x]])), found = new Map();
  for (const { id, source, target, width, classes } of elements.edges) {
    if (!at.has(source) || !at.has(target)) continue;
    const kind = classes[0], front = chosen === id || kind === "added" || kind === "removed";
    const look = { color: chosen === id ? accent : colours[kind], weight: kind === "added" ? 6 : kind === "removed" ? 3 : Math.round(width * 2) / 3, dashArray: kind === "down" || kind === "removed" ? "6 6" : null, opacity: 0.9 };
    found.set(id, thing({ line: [at.get(source), at.get(target)], front, look }));
  }
  for (const { id, label, classes } of elements.nodes) {
    const front = chosen === id, look = { radius: 4, color: rim, weight: 1, fillColor: node, fillOpacity: 1 };
    for (const each of classes) Object.assign(look, LOOKS[each]?.(bad, busy, accent));
    if (front) Object.assign(look, { radius: 9, color: accent, weight: 3 });
    found.set(id, thing({ site: at.get(id), label, front: front || classes.includes("dead"), look }));
  }
  return found;
}

const kept = { places: new Map(), key: "" };
// Places of the live overlay, found anew only when its shape has changed.
export function livePlaces(topology) {
  const ids = inSight(topology).map((broker) => broker.id), key = `${topology.sha256} ${ids.length}`;
  if (kept.key !== key) {
    kept.places = arrange(ids, topology.links.map((link) => [link.one, link.other]), topology.kind, kept.places);
    kept.key = key;
  }
  return kept.places;
}
export function arrangeAgain() {
  Object.assign(kept, { places: new Map(), key: "" });
}
