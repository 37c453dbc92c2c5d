// The player: a plan step by step, with what each step costs, what waits meanwhile and who gains in the end.
import { html, useEffect, useMemo, useState } from "./html.js";
import { useTheme } from "./parts.js";
import { brokerName, store } from "./api.js";
import { Graph } from "./graph.js";
import { PlanLegend } from "./legend.js";
import { Plot } from "./plots.js";
import { compact, linkId, number, rate, short, signed } from "./format.js";
import { counted } from "./names.js";

// The links of a step: those it adds and those it has just removed stand out.
function stepElements(plan, at) {
  const step = plan.steps[at], touched = new Set(step.actions.flatMap((action) => action.brokers));
  const added = new Set(step.actions.flatMap((action) => action.added).map(([a, b]) => linkId(a, b)));
  const live = new Map((store.topology?.links ?? []).map((link) => [linkId(link.one, link.other), link]));
  const nodes = step.brokers.map((id) => ({ id, label: brokerName(id), classes: touched.has(id) ? ["touched"] : [] }));
  const edges = step.links.map(([a, b]) => {
    const id = linkId(a, b), share = live.get(id)?.share;
    return { id, source: a, target: b, width: share === undefined || share === null ? 2.5 : 1.5 + 8 * share, classes: [added.has(id) ? "added" : "unknown"] };
  });
  const known = new Set(step.brokers);
  for (const [a, b] of step.actions.flatMap((action) => action.removed)) {
    if (known.has(a) && known.has(b)) edges.push({ id: `gone ${linkId(a, b)}`, source: a, target: b, width: 2, classes: ["removed"] });
  }
  return { nodes, edges };
}

// What an action does, in words.
function changeOf({ added, removed }) {
  const said = (links) => links.map(([a, b]) => `${a}–${b}`).join(", ");
  if (removed.length && added.length) return `${said(removed)} becomes ${said(added)}`;
  return removed.length ? `${said(removed)} goes` : added.length ? `${said(added)} comes` : "";
}

export function Player({ plan, places, operation }) {
  const last = plan.steps.length - 1, theme = useTheme();
  const live = operation && !operation.ended ? Math.min(operation.step, last) : null;
  const [at, go] = useState(0), [playing, play] = useState(false);
  useEffect(() => {
    if (!playing) return undefined;
    const timer = setTimeout(() => (at >= last ? play(false) : go(at + 1)), 900);
    return () => clearTimeout(timer);
  }, [playing, at]);
  useEffect(() => {
    if (live !== null) go(live);
  }, [live]);
  const elements = useMemo(() => stepElements(plan, at), [plan, at]);
  const steps = useMemo(() => plan.steps.map((step) => step.step), [plan]);
  const lines = useMemo(() => [{ name: "routing cost", colour: "--accent", fill: "--accent-faint", values: plan.steps.map((step) => step.numbers.routing_cost ?? null) }], [plan]);
  const step = plan.steps[at], start = () => (at >= last && go(0), play(!playing));
  const move = (to) => (play(false), go(Math.max(0, Math.min(last, to))));
  const costs = lines[0].values.some((value) => value !== null);
  return html`<section class="card player"><header><h2>${at === 0 ? "Before" : `Step ${at} of ${last}`}</h2>
      <div class="aside controls">
        <button type="button" aria-label="First" disabled=${at === 0} onClick=${() => move(0)}>«</button>
        <button type="button" aria-label="Step back" disabled=${at === 0} onClick=${() => move(at - 1)}>‹</button>
        <button type="button" class="primary" aria-label=${playing ? "Stop playing" : "Play"} onClick=${start}>${playing ? "Stop" : "Play"}</button>
        <button type="button" aria-label="Next step" disabled=${at === last} onClick=${() => move(at + 1)}>›</button>
        <button type="button" aria-label="Last" disabled=${at === last} onClick=${() => move(last)}>»</button></div></header>
    <input type="range" min="0" max=${last} value=${at} aria-label="Step" onInput=${(event) => move(Number(event.target.value))} />
    <div class="stepping">
      <div><div class="picture"><${Graph} elements=${elements} places=${places} theme=${theme} label="The overlay after step ${at}" /></div><${PlanLegend} removed="removed by this step" added="added by this step" touched=${true} /></div>
      <div class="step">
        <dl class="facts"><dt>routing cost</dt><dd><strong>${compact(step.numbers.routing_cost)}</strong> ${step.cost_change !== null && html`<span class=${step.cost_change <= 0 ? "yes" : "no"}>${signed(step.cost_change)}</span>`}</dd>
          <dt>waits meanwhile</dt><dd>${at === 0 ? "nothing" : step.buffered === null ? "–" : `about ${counted(Math.round(step.buffered), "message")}`}</dd></dl>
        ${step.actions.length ? html`<ul class="actions">${step.actions.slice(0, 60).map((action) => html`<li><span><code>${action.text}</code> <span class="quiet">${changeOf(action)}</span></span> <span class="quiet">${action.messages_per_second !== null ? rate(action.messages_per_second) : ""}</span></li>`)}</ul>` : html`<p class="quiet">The overlay as it is when the plan begins. Play it, or go through it step by step: each step leaves a valid overlay.</p>`}
        ${costs && html`<${Plot} times=${steps} lines=${lines} height=${130} theme=${theme} steps=${true} mark=${at} zero=${true} sync="none" />`}
      </div></div>
    <${Gains} plan=${plan} /></section>`;
}

function Gains({ plan }) {
  const rows = (classes) => classes.slice(0, 6).map((each) => html`<tr><td>${each.members.slice(0, 5).join(", ")}${each.members.length > 5 ? ` and ${each.members.length - 5} more` : ""}</td><td>${compact(each.demand)}</td><td>${compact(each.before)}</td><td>${compact(each.after)}</td><td class=${each.after <= each.before ? "yes" : "no"}>${signed(each.after - each.before)}</td></tr>`);
  const table = (title, classes) => html`<div class="scroll"><table class="numbers"><caption>${title}</caption><thead><tr><th>who</th><th>messages</th><th>before</th><th>after</th><th>change</th></tr></thead><tbody>${rows(classes)}</tbody></table></div>`;
  return html`<p class="quiet">In the end ${counted(plan.better, "traffic class costs", "traffic classes cost")} less, ${number(plan.worse)} more, ${number(plan.same)} the same. Found by the planner “${plan.planner}”${plan.optimal ? ", proven optimal" : `; no plan has fewer than ${counted(plan.bound_steps, "step")} or ${counted(plan.bound_actions, "action")}`}. <a download="plan-${short(plan.sha256)}.json" href="data:application/json,${encodeURIComponent(JSON.stringify(plan.document))}">Download for <code>regraft apply</code></a></p>
    <div class="columns">${plan.gains.length ? table("Who gains", plan.gains) : ""}${plan.losses.length ? table("Who loses", plan.losses) : ""}</div>`;
}
