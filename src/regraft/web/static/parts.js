// Small pieces that several views share.
import { html, useEffect, useRef, useState } from "./html.js";
import { store, subscribe } from "./api.js";
import { words } from "./names.js";

export function useStore(...names) {
  return useStoreWhile(() => true, ...names);
}

// Changes are only heard while `awake` says so. An effect runs some time after the drawing: what changed in
// between is compared with what was drawn, not with what is there by then, or it would never be shown.
export function useStoreWhile(awake, ...names) {
  const [, again] = useState(0), drawn = useRef(null);
  drawn.current = names.map((name) => store[name]);
  useEffect(() => {
    const look = () => {
      if (awake() && names.some((name, n) => store[name] !== drawn.current[n])) again((count) => count + 1);
    };
    look();
    return subscribe(look);
  }, []);
  return store;
}

export const ROLES = { viewer: 1, operator: 2, admin: 3 };
export const may = (role) => ROLES[store.who?.role] >= ROLES[role];

const KINDS = {
  waiting: "warn", proposed: "warn", "would-propose": "info", paused: "warn", degraded: "bad", healing: "bad", failed: "bad", stale: "mute",
  deploying: "busy", running: "busy", verifying: "busy", approved: "busy", done: "good", watching: "good", cooling: "busy",
  alive: "good", dead: "bad", up: "good", down: "bad", outside: "mute", rejected: "mute", withdrawn: "mute", stopped: "mute",
};
export const Badge = ({ word }) => html`<span class="badge ${KINDS[word] ?? "mute"}">${words(word)}</span>`;

export function Tile({ name, value, note = "", kind = "", children }) {
  return html`<div class="tile ${kind}"><div class="name">${name}</div><div class="value">${value}</div><div class="note">${note}</div>${children}</div>`;
}

export const Card = ({ title, aside = "", children, kind = "" }) => html`<section class="card ${kind}">${title && html`<header><h2>${title}</h2><div class="aside">${aside}</div></header>`}${children}</section>`;

export const Empty = ({ children }) => html`<p class="empty">${children}</p>`;

export function Segments({ value, options, onChange, label }) {
  return html`<div class="segments" role="group" aria-label=${label}>${options.map(([key, text, off]) => html`<button type="button" class=${key === value ? "on" : ""} aria-pressed=${key === value} disabled=${off} onClick=${() => onChange(key)}>${text}</button>`)}</div>`;
}

// A question before something happens; `field` asks for a reason.
export function Ask({ title, text, field = "", yes, kind = "", onYes, onNo }) {
  const box = useRef(null), [said, say] = useState("");
  useEffect(() => {
    box.current.showModal();
    return () => box.current?.close();
  }, []);
  const submit = (event) => {
    event.preventDefault();
    onYes(said.trim());
  };
  return html`<dialog ref=${box} onCancel=${onNo} onClick=${(event) => event.target === box.current && onNo()}>
    <form onSubmit=${submit}>
      <h2>${title}</h2><div class="text">${text}</div>
      ${field && html`<label>${field}<textarea required maxlength="500" rows="3" value=${said} onInput=${(event) => say(event.target.value)}></textarea></label>`}
      <div class="buttons"><button type="button" onClick=${onNo}>Cancel</button><button type="submit" class="primary ${kind}" disabled=${field && !said.trim()}>${yes}</button></div>
    </form></dialog>`;
}

export function useTheme() {
  const [theme, set] = useState(document.documentElement.dataset.theme);
  useEffect(() => {
    const changed = () => set(document.documentElement.dataset.theme);
    addEventListener("regraft-theme", changed);
    return () => removeEventListener("regraft-theme", changed);
  }, []);
  return theme;
}
