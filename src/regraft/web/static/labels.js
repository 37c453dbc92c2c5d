// Where the name of a broker stands: beside it, where fewest links, brokers and other names are.
const GAPS = [3, 9, 18, 28], LINE = 1.25;
// Below, above, right, left, and between them; angles in eighths of a turn, the preferred ones first.
const ANGLES = [2, 6, 0, 4, 1, 3, 7, 5, 1.5, 2.5, 5.5, 6.5, 0.5, 3.5, 4.5, 7.5].map((eighth) => (eighth * Math.PI) / 4);
const canvas = document.createElement("canvas").getContext("2d");

function widthOf(text, font) {
  canvas.font = `${font}px system-ui, sans-serif`;
  return canvas.measureText(text).width;
}

// Whether a link from (x1, y1) to (x2, y2) crosses the box: clipped against one side after the other.
function crosses({ x1, y1, x2, y2 }, box) {
  let from = 0, to = 1;
  for (const [start, way, low, high] of [[x1, x2 - x1, box.left, box.right], [y1, y2 - y1, box.top, box.bottom]]) {
    if (!way) {
      if (start < low || start > high) return false;
      continue;
    }
    const [one, other] = [(low - start) / way, (high - start) / way];
    from = Math.max(from, Math.min(one, other));
    to = Math.min(to, Math.max(one, other));
  }
  return from <= to;
}

const meets = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
const around = ({ x, y }, wide, high) => ({ left: x - wide, right: x + wide, top: y - high, bottom: y + high });

function cost(box, node, nodes, lines, taken, radius) {
  let found = 0;
  for (const line of lines) {
    const room = line.width / 2 + 1;
    if (crosses(line, { left: box.left - room, right: box.right + room, top: box.top - room, bottom: box.bottom + room })) found += 3;
  }
  for (const other of nodes) if (other !== node && meets(box, around(other, radius, radius))) found += 4;
  for (const other of taken) if (meets(box, other)) found += 5;
  return found;
}

// `nodes`: {id, label, x, y}; `lines`: {x1, y1, x2, y2, width}. id → the middle of the name, from the broker's.
export function besides(nodes, lines, radius, font) {
  const taken = [], found = new Map();
  for (const node of nodes) {
    const wide = widthOf(node.label, font) / 2, high = (font * LINE) / 2;
    let best = null;
    for (const [away, gap] of GAPS.entries()) {
      ANGLES.forEach((angle, place) => {
        const [across, down] = [Math.cos(angle), Math.sin(angle)];
        const offset = { x: across * (radius + gap + wide), y: down * (radius + gap + high) };
        const box = around({ x: node.x + offset.x, y: node.y + offset.y }, wide, high);
        const score = cost(box, node, nodes, lines, taken, radius) + place * 0.05 + away * 0.5;
        if (!best || score < best.score) best = { score, offset, box };
      });
      if (best.score < 3) break; // nothing is in the way: not further off than needed
    }
    found.set(node.id, best.offset);
    taken.push(best.box);
  }
  return found;
}
