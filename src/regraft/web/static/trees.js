// The answer in two pictures: the overlay as it is with the links that would go, and as it would be with those that come.
import { html, useMemo } from "./html.js";
import { brokerName } from "./api.js";
import { Graph } from "./graph.js";
import { PlanLegend } from "./legend.js";
import { counted } from "./names.js";
import { linkId } from "./format.js";

const WIDTH = 2.5;
const ids = (links) => new Set(links.map(([a, b]) => linkId(a, b)));

function picture(step, others, kind) {
  const there = ids(others), edges = step.links.map(([a, b]) => {
    const id = linkId(a, b);
    return { id, source: a, target: b, width: WIDTH, classes: [there.has(id) ? "unknown" : kind] };
  });
  return { nodes: step.brokers.map((id) => ({ id, label: brokerName(id), classes: [] })), edges };
}

const changed = (elements, kind) => elements.edges.filter((edge) => edge.classes.includes(kind)).length;

export function Trees({ plan, places, theme, shown }) {
  const [first, last] = [plan.steps[0], plan.steps.at(-1)];
  const now = useMemo(() => picture(first, last.links, "removed"), [plan]);
  const then = useMemo(() => picture(last, first.links, "added"), [plan]);
  const [gone, come] = [changed(now, "removed"), changed(then, "added")];
  const verb = (count, one, several) => (shown ? `would ${several}` : count === 1 ? one : several);
  const goes = (count) => verb(count, "goes", "go"), comes = (count) => verb(count, "comes", "come");
  return html`<section class="card trees"><header><h2>${shown ? "What the loop would do" : "What changes"}</h2><div class="aside">${counted(gone, "link")} ${goes(gone)}, ${counted(come, "link")} ${comes(come)}</div></header>
    <div class="columns">
      <figure><figcaption>${shown ? "Now" : "Before"}</figcaption><div class="picture now"><${Graph} elements=${now} places=${places} theme=${theme} label="The overlay now" /></div><${PlanLegend} removed="link that ${goes(1)}" /></figure>
      <figure><figcaption>${shown ? "As it would be" : "Afterwards"}</figcaption><div class="picture then"><${Graph} elements=${then} places=${places} theme=${theme} label="The overlay afterwards" /></div><${PlanLegend} added="link that ${comes(1)}" /></figure>
    </div></section>`;
}
