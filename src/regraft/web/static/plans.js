// Proposals: what the loop wants to change, or would, if it did more than observe; why; and what became of it.
import { html, useEffect, useMemo, useState } from "./html.js";
import { Ask, Badge, Card, Empty, may, useStore, useTheme } from "./parts.js";
import { ask, attempt, store } from "./api.js";
import { livePlaces } from "./graph.js";
import { arrange } from "./layout.js";
import { Player } from "./player.js";
import { Trees } from "./trees.js";
import { Verdicts } from "./verdicts.js";
import { compact, duration, percent, short, when } from "./format.js";
import { counted, goalName, sentence, size } from "./names.js";

const SHOWN = "would-propose";

export function Plans({ argument }) {
  const { proposals, operations, state } = useStore("proposals", "operations", "state");
  const chosen = proposals.find((each) => each.sha256 === argument) ?? proposals[0];
  const running = operations.find((each) => each.ended === null);
  if (!chosen) return html`${running && html`<${Running} operation=${running} />`}<${Card} title="Plans"><${Empty}>No plan was made yet. ${state?.sentence}<//><//>`;
  return html`<div class="plans-view">
    <nav class="card proposals" aria-label="Proposals">${proposals.map((each) => html`<a key=${each.sha256} href="#plans/${each.sha256}" class=${each === chosen ? "on" : ""}>
      <span class="line"><${Badge} word=${each.state} /><time>${when(each.made_at)}</time></span>
      <span class="line"><strong>${each.cause === "healing" ? "repair" : percent(each.gain)}</strong><span class="quiet">${size(each)}</span></span></a>`)}</nav>
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
    <p class="quiet" title=${operation.id}>Step ${operation.step} of ${operation.steps}, ${operation.actions_done} of ${counted(operation.actions, "action")}; begun by ${operation.by} at ${when(operation.began)}. ${sentence(operation.reason)}</p>
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
      <${Summary} proposal=${proposal} />
      ${operation?.ended && html`<p class="quiet" title=${operation.id}>The run took ${duration(operation.ended - operation.began)}. ${sentence(operation.reason)}</p>`}
      <${Verdicts} proposal=${proposal} />
    </section>
    ${fault ? html`<${Card} title="Preview"><${Empty}>${sentence(fault)}<//><//>` : plan ? html`<${Preview} plan=${plan} operation=${operation} shown=${proposal.state === SHOWN} />` : html`<${Card} title="Preview"><${Empty}>Loading the steps…<//><//>`}`;
}

// The places of the live overlay, so that all pictures agree.
function Preview({ plan, operation, shown }) {
  const theme = useTheme();
  const places = useMemo(() => {
    const ids = [...new Set(plan.steps.flatMap((step) => step.brokers))], known = store.topology ? livePlaces(store.topology) : new Map();
    return ids.every((id) => known.has(id)) ? known : arrange(ids, plan.steps[0].links, plan.kind, known);
  }, [plan]);
  return html`<${Trees} plan=${plan} places=${places} theme=${theme} shown=${shown} /><${Player} plan=${plan} places=${places} operation=${operation} />`;
}

// The gain, what the change costs, and the hysteresis that it has passed.
function Summary({ proposal }) {
  const { gain, gain_error: error, measured_gain: measured, windows, windows_needed: needed } = proposal;
  const later = measured !== null && measured !== undefined ? html` (measured afterwards: <strong>${percent(measured)}</strong>)` : "";
  const sampled = error ? ` (standard error ${percent(error)}, because telemetry is sampled)` : "";
  if (proposal.cause === "healing") return html`<p class="summary">A repair: ${size(proposal)}. ${sentence(proposal.reason)}</p>`;
  return html`<p class="summary"><strong class="gain">${percent(gain)}</strong> less ${goalName(proposal.improves)}${sampled}${later}, with ${size(proposal)}. The change costs ${compact(proposal.price)} in units of routing cost${proposal.pays_back_after === null ? "" : ` and is paid back after ${duration(proposal.pays_back_after)}`}.</p>
    <p class="summary quiet">Seen in ${counted(windows, "window")}${windows === 1 ? "" : " in a row"}, ${needed} ${needed === 1 ? "is" : "are"} needed; at least ${percent(proposal.needed_gain)} has to be gained. ${proposal.expects ? `It is for the traffic that is expected: ${sentence(proposal.expects)}` : "It is for the traffic that was measured."} ${proposal.outside_limits ? `Automatic mode would wait: ${sentence(proposal.outside_limits)}` : "It is within the limits of automatic mode."} ${sentence(proposal.reason)}</p>`;
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
  if (proposal.state === SHOWN) return html`<span class="quiet">Only shown: to be asked for approval, set the mode to propose.</span>`;
  if (proposal.state !== "waiting") return null;
  if (!may("operator")) return html`<span class="quiet">an operator can approve it</span>`;
  return html`<button type="button" disabled=${busy} onClick=${() => askFor("reject")}>Reject</button>
    <button type="button" class="primary" disabled=${busy} onClick=${() => askFor("approve")}>Approve</button>
    ${asking === "approve" && html`<${Ask} title="Approve this plan?" yes="Approve" onNo=${() => askFor(null)}
      text=${html`Exactly the plan <code>${short(proposal.sha256)}</code> will be carried out: ${size(proposal)}, from epoch ${proposal.epoch}. If the overlay changes before, it is refused.`}
      onYes=${() => run(() => ask(`plans/${proposal.sha256}/approve`, "POST"), "Approved")} />`}
    ${asking === "reject" && html`<${Ask} title="Reject this plan?" text="The reason goes into the decision log." field="Reason" yes="Reject" kind="danger" onNo=${() => askFor(null)}
      onYes=${(reason) => run(() => ask(`plans/${proposal.sha256}/reject`, "POST", { reason }), "Rejected")} />`}`;
}
