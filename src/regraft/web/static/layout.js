// Where brokers stand. Trees: in rings around their centre, then relaxed; meshes: by forces. Places are kept, so
// that a change of links is seen as a change of links and not as another picture.
import { hierarchy, tree } from "d3-hierarchy";
import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from "d3-force";

const SMALL = 320;
const GAP = 64;

function around(ids, links) {
  const near = new Map(ids.map((id) => [id, []]));
  for (const [one, other] of links) {
    near.get(one)?.push(other);
    near.get(other)?.push(one);
  }
  return near;
}

// What is left when leaves are taken off again and again.
function centre(ids, near) {
  const degree = new Map(ids.map((id) => [id, near.get(id).length]));
  let leaves = ids.filter((id) => degree.get(id) <= 1), left = ids.length;
  while (left > 2 && leaves.length) {
    left -= leaves.length;
    const next = [];
    for (const leaf of leaves) {
      degree.set(leaf, 0);
      for (const other of near.get(leaf)) {
        degree.set(other, degree.get(other) - 1);
        if (degree.get(other) === 1) next.push(other);
      }
    }
    leaves = next;
  }
  return leaves[0] ?? ids[0];
}

function rings(ids, near) {
  const root = centre(ids, near), seen = new Set([root]);
  const below = (id) => {
    const found = near.get(id).filter((other) => !seen.has(other));
    found.forEach((other) => seen.add(other));
    return found;
  };
  const data = { id: root, children: [] }, queue = [data];
  for (let at = 0; at < queue.length; at++) {
    queue[at].children = below(queue[at].id).map((id) => ({ id, children: [] }));
    queue.push(...queue[at].children);
  }
  const top = hierarchy(data);
  const wide = Math.max(GAP * 0.9, (top.leaves().length * GAP) / (2 * Math.PI * Math.max(1, top.height)));
  tree().size([2 * Math.PI, top.height * wide]).separation((a, b) => (a.parent === b.parent ? 1 : 1.6) / Math.max(1, a.depth))(top);
  const places = new Map();
  top.each((node) => places.set(node.data.id, { x: node.y * Math.cos(node.x), y: node.y * Math.sin(node.x) }));
  return places;
}

function relaxed(ids, links, places, ticks) {
  const nodes = ids.map((id) => ({ id, ...places.get(id) }));
  const known = new Set(ids);
  const joined = links.filter(([a, b]) => known.has(a) && known.has(b)).map(([source, target]) => ({ source, target }));
  const simulation = forceSimulation(nodes)
    .force("link", forceLink(joined).id((node) => node.id).distance(GAP * 0.8).strength(0.9))
    .force("charge", forceManyBody().strength(-190).distanceMax(GAP * 7))
    .force("collide", forceCollide(GAP * 0.4))
    .force("x", forceX().strength(0.03)).force("y", forceY().strength(0.05))
    .stop();
  simulation.tick(ticks);
  return new Map(nodes.map(({ id, x, y }) => [id, { x, y }]));
}

function circle(ids) {
  const radius = (ids.length * GAP) / 8;
  return new Map(ids.map((id, n) => {
    const angle = (2 * Math.PI * n) / ids.length;
    return [id, { x: radius * Math.cos(angle), y: radius * Math.sin(angle) }];
  }));
}

export function arrange(ids, links, kind, previous = new Map()) {
  if (!ids.length) return new Map();
  const known = ids.filter((id) => previous.has(id));
  const near = around(ids, links);
  if (known.length >= ids.length * 0.5) {
    const places = new Map(known.map((id) => [id, previous.get(id)]));
    ids.forEach((id, n) => {
      const beside = near.get(id).map((other) => places.get(other)).find(Boolean) ?? { x: 0, y: 0 };
      if (!places.has(id)) places.set(id, { x: beside.x + 20 + (n % 7), y: beside.y + 24 });
    });
    return ids.length <= SMALL ? relaxed(ids, links, places, 80) : places;
  }
  if (kind === "tree") {
    const places = rings(ids, near);
    ids.forEach((id) => places.has(id) || places.set(id, { x: 0, y: 0 })); // cut off while it heals
    return ids.length <= SMALL ? relaxed(ids, links, places, 160) : places;
  }
  return relaxed(ids, links, circle(ids), ids.length <= SMALL ? 250 : 50);
}
