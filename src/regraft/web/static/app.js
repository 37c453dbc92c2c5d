// The frame: who is asking, where the loop stands, and which view is shown.
import { html, render, useEffect, useState } from "./html.js";
import { ask, attempt, follow, set, store } from "./api.js";
import { Ask, Badge, Segments, may, useStore, useTheme } from "./parts.js";
import { LogIn } from "./login.js";
import { Overlay } from "./overlay.js";
import { Plans } from "./plans.js";
import { History } from "./history.js";
import { Decisions } from "./decisions.js";
import { Brokers } from "./brokers.js";
import { Rules } from "./rules.js";
import { duration, number, when } from "./format.js";
import { counted, partName, sentence } from "./names.js";

const VIEWS = { overlay: ["Overlay", Overlay], plans: ["Plans", Plans], history: ["History", History], decisions: ["Decisions", Decisions], brokers: ["Brokers", Brokers], rules: ["Rules", Rules] };
const place = () => {
  const [view, argument] = location.hash.slice(1).split("/");
  return { view: VIEWS[view] ? view : "overlay", argument };
};

function App() {
  const { who, notices } = useStore("who", "notices"), [at, go] = useState(place());
  useEffect(() => {
    const moved = () => go(place());
    addEventListener("hashchange", moved);
    moved(); // effects run after the first drawing: meanwhile nobody listened
    ask("session").then((found) => set({ who: found }), (no) => set(no.status === 401 ? { who: null } : { who: undefined }));
    return () => removeEventListener("hashchange", moved);
  }, []);
  useEffect(() => (who ? follow() : undefined), [who?.name]);
  const View = VIEWS[at.view][1];
  return html`${who === null ? html`<${LogIn} />` : who && html`<${Top} view=${at.view} /><${Said} /><${Troubles} /><main class="overlay" hidden=${at.view !== "overlay"}><${Overlay} hidden=${at.view !== "overlay"} /></main>${at.view !== "overlay" && html`<main class=${at.view}><${View} argument=${at.argument} /></main>`}`}
    ${who && html`<footer class="quiet"><a href="docs">REST API</a></footer>`}<div class="notices" role="status">${notices.map((each) => html`<div key=${each.id} class=${each.kind}>${each.text}</div>`)}</div>`;
}

function Top({ view }) {
  const { state, online, proposals } = useStore("state", "online", "proposals", "who");
  const waiting = { waiting: "A plan waits", "would-propose": "A plan is shown" };
  const hint = proposals.map((each) => waiting[each.state]).find(Boolean);
  return html`<header class="top">
    <a class="brand" href="#overlay"><img src="icon.svg" alt="" width="26" height="26" />Regraft</a>
    <div class="standing" title=${state ? `since ${when(state.since)}` : ""}>${state && html`<${Badge} word=${state.standing} /><span class="sentence">${state.sentence}</span>`}${!online && html`<span class="badge bad">no connection</span>`}</div>
    <${Control} state=${state} />
    <nav aria-label="Views">${Object.entries(VIEWS).map(([key, [name]]) => html`<a href="#${key}" class=${key === view ? "on" : ""} aria-current=${key === view ? "page" : undefined}>${name}${key === "plans" && hint ? html`<i class="dot" title=${hint}></i>` : ""}</a>`)}</nav></header>`;
}

// In a narrow window the sentence has no room at the top.
function Said() {
  const { state } = useStore("state");
  return state && html`<p class="said">${state.sentence}</p>`;
}

function Control({ state }) {
  const [asking, askFor] = useState(null), theme = useTheme();
  const turn = () => {
    const next = theme === "dark" ? "light" : "dark";
    localStorage.setItem("regraft-theme", next);
    document.documentElement.dataset.theme = next;
    dispatchEvent(new Event("regraft-theme"));
  };
  const leave = () => attempt(() => ask("session", "DELETE")).then(() => set({ who: null }));
  const change = (mode) => (mode === "automatic" ? askFor("automatic") : attempt(() => ask("loop/mode", "PUT", { mode }).then((found) => set({ state: found })), `The mode is ${mode}`));
  return html`<div class="control">
    ${state && html`<${Segments} label="Mode" value=${state.mode} options=${["observe", "propose", "automatic"].map((mode) => [mode, mode, !may("admin")])} onChange=${change} />`}
    ${state && may("operator") && (state.paused === null ? html`<button type="button" onClick=${() => askFor("pause")}>Pause</button>` : html`<button type="button" class="primary" onClick=${() => attempt(() => ask("loop/resume", "POST").then((found) => set({ state: found })), "Resumed")}>Resume</button>`)}
    <button type="button" class="plain" onClick=${turn} aria-label="Dark or light" title="Dark or light">${theme === "dark" ? "☀" : "☾"}</button>
    ${store.who?.how === "session" ? html`<button type="button" class="plain" onClick=${leave} title="Log out ${store.who.name} (${store.who.role})">${store.who.name} ⏏</button>` : ""}
    ${asking === "pause" && html`<${Ask} title="Pause the loop?" text="It only observes until it is resumed; a run under way goes on." field="Reason" yes="Pause" onNo=${() => askFor(null)} onYes=${(reason) => (askFor(null), attempt(() => ask("loop/pause", "POST", { reason }).then((found) => set({ state: found })), "Paused"))} />`}
    ${asking === "automatic" && html`<${Ask} title="Change by itself?" text="The loop then carries out what it finds, within its budget and maintenance windows, and asks nobody." yes="Automatic" kind="danger" onNo=${() => askFor(null)} onYes=${() => (askFor(null), attempt(() => ask("loop/mode", "PUT", { mode: "automatic" }).then((found) => set({ state: found })), "The mode is automatic"))} />`}
  </div>`;
}

function Troubles() {
  const { state, series } = useStore("state", "series");
  if (!state) return null;
  const now = Date.now() / 1000, { rejected = 0, late = 0 } = series.points.at(-1) ?? {};
  return html`${state.troubles.map((each) => html`<div class="trouble" role="alert" key=${each.part}><strong>${partName(each.part)}</strong> fails. ${sentence(each.reason)} ${counted(each.failures, "failure")} since ${when(each.since)}; ${each.retry_at > now ? `tried again in ${duration(each.retry_at - now)}` : "being tried again"}. Until then the loop observes; traffic is untouched.</div>`)}
    ${state.paused !== null && html`<div class="trouble mild" role="alert"><strong>Paused</strong> ${sentence(state.paused)}</div>`}
    ${rejected + late > 0 && html`<div class="trouble mild telemetry" role="status"><strong>Telemetry not used</strong> Of the records that were read last, ${number(rejected)} were rejected and ${number(late)} came too late. <a href="#history">History</a> shows since when.</div>`}`;
}

render(html`<${App} />`, document.getElementById("app"));
document.querySelector("#app > .loading")?.remove();
