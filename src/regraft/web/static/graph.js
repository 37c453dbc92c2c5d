// The overlay as a graph (Cytoscape): width of a link is its load, colour its latency.
import cytoscape from "cytoscape";
import { html, useEffect, useLayoutEffect, useRef } from "./html.js";
import { linkId } from "./format.js";
import { arrange } from "./layout.js";

const LARGE = 150;
const LATENCIES = [5, 15, 40];
const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function style(large, scale = 1) {
  const text = token("--text"), surface = token("--canvas");
  return [
    { selector: "node", style: { width: large ? 12 : 20 * scale, height: large ? 12 : 20 * scale, "background-color": token("--node"), "border-width": large ? 1 : 2, "border-color": surface, "overlay-opacity": 0 } },
    { selector: "node.named", style: { label: "data(label)", color: text, "font-size": large ? 11 : 12 * scale, "font-family": "system-ui, sans-serif", "text-valign": "bottom", "text-margin-y": 4, "text-outline-width": 2, "text-outline-color": surface, "text-outline-opacity": 0.85 } },
    { selector: "node.far", style: { "min-zoomed-font-size": 9 } },
    { selector: "node.busy", style: { "background-color": token("--node-busy") } },
    { selector: "node.outside", style: { "background-opacity": 0.25, "border-style": "dashed", "border-color": token("--muted") } },
    { selector: "node.dead", style: { "background-color": token("--bad"), shape: "diamond", width: large ? 16 : 26, height: large ? 16 : 26, label: "data(label)", color: token("--bad") } },
    { selector: "node.touched", style: { "border-color": token("--accent"), "border-width": 4 } },
    { selector: "edge", style: { width: "data(width)", "line-color": token("--latency-0"), "curve-style": large ? "haystack" : "straight", "overlay-opacity": 0 } },
    ...LATENCIES.map((_, n) => ({ selector: `edge.l${n + 1}`, style: { "line-color": token(`--latency-${n + 1}`) } })),
    { selector: "edge.unknown", style: { "line-color": token("--line-strong") } },
    { selector: "edge.down", style: { "line-color": token("--bad"), "line-style": "dashed", width: 2 } },
    { selector: "edge.added", style: { "line-color": token("--good"), width: 5, "z-index": 9 } },
    { selector: "edge.removed", style: { "line-color": token("--bad"), "line-style": "dashed", width: 3, opacity: 0.75, "curve-style": "straight", "z-index": 8 } },
    { selector: "node:selected", style: { "border-color": token("--accent"), "border-width": 4, label: "data(label)", color: text, "text-valign": "bottom", "text-margin-y": 4, "font-weight": "bold", "text-outline-width": 2, "text-outline-color": surface } },
    { selector: "edge:selected", style: { "line-color": token("--accent") } },
  ];
}

const latencyClass = (link) => {
  if (link.up === false) return "down";
  if (link.latency_ms === null || link.latency_ms === undefined) return "unknown";
  const level = LATENCIES.filter((limit) => link.latency_ms >= limit).length;
  return level ? `l${level}` : "";
};

export function elementsOf(topology) {
  const most = Math.max(1e-9, ...topology.brokers.map((broker) => broker.messages_per_second ?? 0));
  const nodes = topology.brokers.map((broker) => {
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

// Only what differs is touched: an overlay of 1,000 brokers is redrawn, not rebuilt.
function apply(graph, wanted, places, named) {
  const ids = new Set([...wanted.nodes, ...wanted.edges].map((each) => each.id));
  graph.batch(() => {
    graph.elements().forEach((element) => void (ids.has(element.id()) || element.remove()));
    for (const node of wanted.nodes) {
      const classes = [...named, ...node.classes].join(" ");
      const found = graph.getElementById(node.id);
      if (!found.length) graph.add({ data: { id: node.id, label: node.label }, position: { ...places.get(node.id) }, classes });
      else if (found.scratch("_classes") !== classes) found.classes(classes);
      graph.getElementById(node.id).scratch("_classes", classes);
    }
    for (const edge of wanted.edges) {
      const classes = edge.classes.join(" ");
      const found = graph.getElementById(edge.id);
      if (!found.length) graph.add({ data: edge, classes });
      else {
        if (found.scratch("_classes") !== classes) found.classes(classes);
        if (found.data("width") !== edge.width) found.data("width", edge.width);
      }
      graph.getElementById(edge.id).scratch("_classes", classes);
    }
  });
}

function move(graph, places, animated) {
  const nodes = graph.nodes().filter((node) => {
    const to = places.get(node.id()), from = node.position();
    return to && (Math.abs(to.x - from.x) > 0.5 || Math.abs(to.y - from.y) > 0.5);
  });
  if (!nodes.length) return;
  if (animated) nodes.layout({ name: "preset", positions: (node) => places.get(node.id()), animate: true, animationDuration: 500, fit: false }).run();
  else graph.batch(() => nodes.forEach((node) => void node.position(places.get(node.id()))));
}

// A wide picture in a tall box is turned.
function standing(places, element) {
  const all = [...places.values()];
  const spread = (key) => Math.max(...all.map((place) => place[key])) - Math.min(...all.map((place) => place[key]));
  if (element.clientHeight < element.clientWidth * 1.15 || spread("x") < spread("y") * 1.15) return places;
  return new Map([...places].map(([id, { x, y }]) => [id, { x: -y, y: x }]));
}

// `places` is kept by the caller: two pictures of the same overlay then agree.
export function Graph({ elements, places, chosen, onChoose, theme, label, fitKey }) {
  const box = useRef(null), graph = useRef(null), choose = useRef(onChoose);
  choose.current = onChoose;
  const large = elements.nodes.length > LARGE;
  useLayoutEffect(() => {
    const element = box.current;
    const made = cytoscape({
      container: element, style: style(large), minZoom: 0.05, maxZoom: 4,
      boxSelectionEnabled: false, selectionType: "single", autoungrabify: true,
      pixelRatio: large ? 1 : "auto", textureOnViewport: large, hideEdgesOnViewport: false, layout: { name: "null" },
    });
    graph.current = made;
    element.graph = made; // for tests and measurements
    made.on("tap", (event) => choose.current?.(event.target === made ? null : event.target.id()));
    const resized = new ResizeObserver(() => {
      made.resize();
      if (!made.scratch("touched")) made.fit(undefined, 28);
    });
    resized.observe(element);
    made.on("zoom", () => {
      const scale = large ? 1 : Math.min(2.4, Math.max(1, 0.9 / made.zoom()));
      if (Math.abs(scale - (made.scratch("scale") ?? 1)) > 0.12) {
        made.scratch("scale", scale);
        made.style(style(large, scale));
        if (!made.scratch("touched")) made.fit(undefined, 28); // labels have grown
      }
    });
    made.on("viewport", (event) => event.originalEvent && made.scratch("touched", true));
    element.addEventListener("wheel", () => made.scratch("touched", true), { passive: true });
    return () => (resized.disconnect(), made.destroy());
  }, [large]);
  useEffect(() => {
    const made = graph.current, first = !made.nodes().length, stood = standing(places, box.current);
    apply(made, elements, stood, large ? ["named", "far"] : ["named"]);
    move(made, stood, !first && !large);
    if (first) made.fit(undefined, 28);
  }, [elements, places, large]);
  useEffect(() => {
    graph.current.scratch("touched", false);
    graph.current.fit(undefined, 28);
  }, [fitKey]);
  useEffect(() => void graph.current.style(style(large, graph.current.scratch("scale") ?? 1)), [theme, large]);
  useEffect(() => {
    graph.current.elements(":selected").unselect();
    if (chosen) graph.current.getElementById(chosen).select();
  }, [chosen, elements]);
  return html`<div class="graph" role="img" aria-label=${label} ref=${box}></div>`;
}

const kept = { places: new Map(), key: "" };
// Places of the live overlay, found anew only when its shape has changed.
export function livePlaces(topology) {
  const key = `${topology.sha256} ${topology.brokers.length}`;
  if (kept.key !== key) {
    kept.places = arrange(topology.brokers.map((broker) => broker.id), topology.links.map((link) => [link.one, link.other]), topology.kind, kept.places);
    kept.key = key;
  }
  return kept.places;
}
export function arrangeAgain() {
  Object.assign(kept, { places: new Map(), key: "" });
}
