// Proposals, and the player: a plan step by step before it is approved, with what each step costs and who gains.
import { html, useEffect, useMemo, useState } from "./html.js";
import { Ask, Badge, Card, Empty, may, useStore, useTheme } from "./parts.js";
import { ask, attempt, store } from "./api.js";
import { Graph, elementsOf, livePlaces } from "./graph.js";
import { Plot } from "./plots.js";
import { arrange } from "./layout.js";
import { compact, duration, linkId, number, percent, rate, short, signed, when, words } from "./format.js";

export function Plans({ argument }) {
  const { proposals, operations, state } = useStore("proposals", "operations", "state");
  const chosen = proposals.find((each) => each.sha256 === argument) ?? proposals[0];
  const running = operations.find((each) => each.ended === null);
  if (!chosen) return html`${running && html`<${Running} operation=${running} />`}<${Card} title="Plans"><${Empty}>Nothing was proposed yet. ${state?.sentence}<//><//>`;
  return html`<div class="plans-view">
    <nav class="card proposals" aria-label="Proposals">${proposals.map((each) => html`<a key=${each.sha256} href="#plans/${each.sha256}" class=${each === chosen ? "on" : ""}>
      <span class="line"><${Badge} word=${each.state} /><time>${when(each.made_at)}</time></span>
      <span class="line"><strong>${each.cause === "healing" ? "repair" : percent(each.gain)}</strong><span class="quiet">${each.actions} actions, ${each.steps} steps</span></span></a>`)}</nav>
    <div class="detail">
      ${running && html`<${Running} operation=${running} />`}
      <${Proposal} key=${chosen.sha256} proposal=${chosen} operation=${operations.find((each) => each.id === chosen.operation)} />
    </div></div>`;
}

export function Running({ operation }) {
  const [asking, askFor] = useState(null);
  const share = operation.actions ? operation.actions_done / operation.actions : 0;
  const say = (path, done) => attempt(() => ask(`run/${path}`, "POST"), done);
  return html`<section class="card running" data-operation=${operation.id}>
    <header><h2>${operation.kind === "roll back" ? "Taking back" : operation.kind === "heal" ? "Healing" : "Carrying out"} ${short(operation.plan)}</h2><${Badge} word=${operation.state} /></header>
    <progress value=${share} max="1" aria-label="Actions done"></progress>
    <p class="quiet">step ${operation.step} of ${operation.steps}, ${operation.actions_done} of ${operation.actions} actions, begun by ${operation.by} at ${when(operation.began)} (${operation.id}) ${operation.reason}</p>
    ${may("operator") && html`<div class="buttons">
      ${operation.state === "paused" ? html`<button type="button" onClick=${() => say("continue", "Goes on")}>Continue</button>` : html`<button type="button" onClick=${() => say("pause", "Pausing after what has begun")}>Pause</button>`}
      <button type="button" onClick=${() => say("stop", "Stopping after what has begun")}>Stop</button>
      <button type="button" class="danger" onClick=${() => askFor("back")}>Roll back</button></div>`}
    ${asking && html`<${Ask} title="Roll back?" text="What this run has done is undone, in reverse order." yes="Roll back" kind="danger" onNo=${() => askFor(null)} onYes=${() => (askFor(null), say("roll-back", "Taking it back"))} />`}
  </section>`;
}

function Proposal({ proposal, operation }) {
  const [plan, set] = useState(null), [fault, fail] = useState("");
  useEffect(() => {
    let gone = false;
    ask(`plans/${proposal.sha256}`).then((found) => gone || set(found), (no) => gone || fail(no.message));
    return () => (gone = true);
  }, [proposal.sha256]);
  return html`<section class="card">
      <header><h2>Plan <code title=${proposal.sha256}>${short(proposal.sha256)}</code></h2><${Badge} word=${proposal.state} /><div class="aside"><${Choice} proposal=${proposal} /></div></header>
      <p class="summary"><strong class="gain">${percent(proposal.gain)}</strong> lower routing cost${proposal.measured_gain !== null && proposal.measured_gain !== undefined ? html` (measured afterwards: <strong>${percent(proposal.measured_gain)}</strong>)` : ""}, ${proposal.actions} actions in ${proposal.steps} steps; the change costs ${compact(proposal.price)} and is paid back after ${duration(proposal.pays_back_after)}. Seen in ${proposal.windows} windows. ${proposal.state === "waiting" ? proposal.needs_approval : proposal.reason}</p>
      ${operation?.ended && html`<p class="quiet">${operation.kind} ${operation.id}: ${operation.state} after ${duration(operation.ended - operation.began)} ${operation.reason}</p>`}
      <${Verdicts} proposal=${proposal} />
    </section>
    ${fault ? html`<${Card} title="Preview"><${Empty}>${fault}<//><//>` : plan ? html`<${Player} plan=${plan} operation=${operation} />` : html`<${Card} title="Preview"><${Empty}>Loading the steps…<//><//>`}`;
}

function Choice({ proposal }) {
  const [asking, askFor] = useState(null), [busy, work] = useState(false);
  const run = async (action, done) => {
    askFor(null);
    work(true);
    await attempt(action, done);
    work(false);
  };
  if (["done", "failed", "stopped"].includes(proposal.state) && may("operator")) {
    return html`<button type="button" class="danger" disabled=${busy} onClick=${() => askFor("back")}>Roll back</button>
      ${asking && html`<${Ask} title="Roll back?" text="What the last run has done is undone, in reverse order." yes="Roll back" kind="danger" onNo=${() => askFor(null)} onYes=${() => run(() => ask("run/roll-back", "POST"), "Taking it back")} />`}`;
  }
  if (proposal.state !== "waiting") return null;
  if (!may("operator")) return html`<span class="quiet">an operator can approve it</span>`;
  return html`<button type="button" disabled=${busy} onClick=${() => askFor("reject")}>Reject</button>
    <button type="button" class="primary" disabled=${busy} onClick=${() => askFor("approve")}>Approve</button>
    ${asking === "approve" && html`<${Ask} title="Approve this plan?" yes="Approve" onNo=${() => askFor(null)}
      text=${html`Exactly the plan <code>${short(proposal.sha256)}</code> will be carried out: ${proposal.actions} actions in ${proposal.steps} steps, from epoch ${proposal.epoch}. If the overlay changes before, it is refused.`}
      onYes=${() => run(() => ask(`plans/${proposal.sha256}/approve`, "POST"), "Approved")} />`}
    ${asking === "reject" && html`<${Ask} title="Reject this plan?" text="The reason goes into the decision log." field="Reason" yes="Reject" kind="danger" onNo=${() => askFor(null)}
      onYes=${(reason) => run(() => ask(`plans/${proposal.sha256}/reject`, "POST", { reason }), "Rejected")} />`}`;
}

function Verdicts({ proposal }) {
  const names = Object.keys(proposal.numbers_after).filter((name) => proposal.numbers_after[name] !== null).slice(0, 8);
  return html`<div class="columns">
    <div class="scroll"><table><caption>Goals, in order</caption><tbody>${proposal.verdicts.map((each) => html`<tr><td>${each.kept === null ? "?" : each.kept ? html`<span class="yes">✓</span>` : html`<span class="no">✗</span>`}</td><th scope="row">${words(each.goal)}${each.hard ? html` <span class="quiet">hard</span>` : ""}</th><td>${each.reason}</td></tr>`)}</tbody></table></div>
    <div class="scroll"><table class="numbers"><caption>Numbers</caption><thead><tr><th></th><th>now</th><th>then</th><th>change</th></tr></thead><tbody>${names.map((name) => {
      const [one, two] = [proposal.numbers_before[name], proposal.numbers_after[name]];
      return html`<tr><th scope="row">${words(name)}</th><td>${compact(one)}</td><td>${compact(two)}</td><td>${one ? signed(Math.round(((two - one) / one) * 1000) / 10) + " %" : signed(two - (one ?? 0))}</td></tr>`;
    })}</tbody></table></div></div>`;
}

// The links of a step: those it adds and those it has just removed stand out.
function stepElements(plan, at) {
  const step = plan.steps[at], touched = new Set(step.actions.flatMap((action) => action.brokers));
  const added = new Set(step.actions.flatMap((action) => action.added).map(([a, b]) => linkId(a, b)));
  const live = new Map((store.topology?.links ?? []).map((link) => [linkId(link.one, link.other), link]));
  const nodes = step.brokers.map((id) => ({ id, label: id, classes: touched.has(id) ? ["touched"] : [] }));
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

export function Player({ plan, operation }) {
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
  const places = useMemo(() => {
    const ids = [...new Set(plan.steps.flatMap((step) => step.brokers))], known = store.topology ? livePlaces(store.topology) : new Map();
    return ids.every((id) => known.has(id)) ? known : arrange(ids, plan.steps[0].links, plan.kind, known);
  }, [plan]);
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
      <div class="picture"><${Graph} elements=${elements} places=${places} theme=${theme} label="The overlay after step ${at}" /></div>
      <div class="step">
        <dl class="facts"><dt>routing cost</dt><dd><strong>${compact(step.numbers.routing_cost)}</strong> ${step.cost_change !== null && html`<span class=${step.cost_change <= 0 ? "yes" : "no"}>${signed(step.cost_change)}</span>`}</dd>
          <dt>waits meanwhile</dt><dd>${step.buffered === null ? "–" : `about ${number(step.buffered)} messages`}</dd></dl>
        ${step.actions.length ? html`<ul class="actions">${step.actions.slice(0, 60).map((action) => html`<li><code>${action.text}</code> <span class="quiet">${action.messages_per_second !== null ? rate(action.messages_per_second) : ""}</span></li>`)}</ul>` : html`<p class="quiet">The overlay as it is when the plan begins. Green links will be added by a step, dashed red ones removed.</p>`}
        ${costs && html`<${Plot} times=${steps} lines=${lines} height=${130} theme=${theme} steps=${true} mark=${at} zero=${true} sync="none" />`}
      </div></div>
    <${Gains} plan=${plan} /></section>`;
}

function Gains({ plan }) {
  const rows = (classes) => classes.slice(0, 6).map((each) => html`<tr><td>${each.members.slice(0, 5).join(", ")}${each.members.length > 5 ? ` and ${each.members.length - 5} more` : ""}</td><td>${compact(each.demand)}</td><td>${compact(each.before)}</td><td>${compact(each.after)}</td><td class=${each.after <= each.before ? "yes" : "no"}>${signed(each.after - each.before)}</td></tr>`);
  const table = (title, classes) => html`<div class="scroll"><table class="numbers"><caption>${title}</caption><thead><tr><th>who</th><th>messages</th><th>before</th><th>after</th><th>change</th></tr></thead><tbody>${rows(classes)}</tbody></table></div>`;
  return html`<p class="quiet">In the end ${number(plan.better)} traffic classes cost less, ${number(plan.worse)} more, ${number(plan.same)} the same. Planner ${plan.planner}${plan.optimal ? ", proven optimal" : `; no plan has fewer than ${plan.bound_steps} steps or ${plan.bound_actions} actions`}. <a download="plan-${short(plan.sha256)}.json" href="data:application/json,${encodeURIComponent(JSON.stringify(plan.document))}">Download for <code>regraft apply</code></a></p>
    <div class="columns">${plan.gains.length ? table("Who gains", plan.gains) : ""}${plan.losses.length ? table("Who loses", plan.losses) : ""}</div>`;
}
