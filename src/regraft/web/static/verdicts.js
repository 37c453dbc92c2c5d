// What each goal says of a plan: its number now and then, and whether that is better. Small numbers are good.
import { html } from "./html.js";
import { compact, signed } from "./format.js";
import { figure, goalName, meaning, numberName } from "./names.js";

const SAME = 0.005; // the loop's own tolerance: less is no difference
const MOST = 12;
const OPEN = new Set(["waiting", "would-propose"]);

// A hard goal is kept or broken; a soft one gets better, worse, or stays.
function judged({ hard, kept, number, before }) {
  if (hard) return kept === null ? ["?", "", "not known"] : kept ? ["✓", "yes", "kept"] : ["✗", "no", "broken"];
  if (number === null || before === null) return ["·", "quiet", "not compared"];
  const change = before ? (number - before) / Math.abs(before) : number - before;
  if (Math.abs(change) <= SAME) return ["=", "quiet", "the same"];
  return change < 0 ? ["↓", "yes", "better"] : ["↑", "worse", "worse"];
}

function Goal({ verdict }) {
  const [mark, kind, word] = judged(verdict);
  return html`<tr><td><span class=${kind} title=${word} aria-label=${word}>${mark}</span></td>
    <th scope="row">${goalName(verdict.goal)}${verdict.hard ? html` <span class="quiet">must hold</span>` : ""}<div class="quiet">${meaning(verdict)}</div></th>
    <td>${compact(verdict.before)}</td><td>${compact(verdict.number)}</td><td class=${kind}>${word}</td></tr>`;
}

export function Verdicts({ proposal }) {
  const names = Object.keys(proposal.numbers_after).filter((name) => proposal.numbers_after[name] !== null).slice(0, MOST);
  const [now, then] = OPEN.has(proposal.state) ? ["now", "then"] : ["before", "after"];
  return html`<div class="columns">
    <div class="scroll"><table class="goals numbers"><caption>Goals, in order; small numbers are good</caption><thead><tr><th></th><th></th><th>${now}</th><th>${then}</th><th></th></tr></thead><tbody>${proposal.verdicts.map((each) => html`<${Goal} key=${each.goal} verdict=${each} />`)}</tbody></table></div>
    <div class="scroll"><table class="numbers"><caption>Numbers</caption><thead><tr><th></th><th>${now}</th><th>${then}</th><th>change</th></tr></thead><tbody>${names.map((name) => {
      const [one, two] = [proposal.numbers_before[name], proposal.numbers_after[name]];
      return html`<tr><th scope="row">${numberName(name)}</th><td>${figure(name, one)}</td><td>${figure(name, two)}</td><td>${one ? signed(Math.round(((two - one) / one) * 1000) / 10) + " %" : signed(two - (one ?? 0))}</td></tr>`;
    })}</tbody></table></div></div>`;
}
