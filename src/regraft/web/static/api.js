// What the server is asked, and one store of what it said. Views subscribe to the store.
export class Refused extends Error {
  constructor(status, code, reason) {
    super(reason);
    Object.assign(this, { status, code });
  }
}

export async function ask(path, method = "GET", body = undefined) {
  const options = { method, headers: { Accept: "application/json" } };
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch(`api/v1/${path}`, options);
  } catch {
    throw new Refused(0, "away", "the server does not answer");
  }
  if (answer.status === 204) return null;
  const document = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, document.code ?? "", document.reason ?? answer.statusText);
  return document;
}

const listeners = new Set();
export const store = {
  who: undefined, // null: must log in
  online: false,
  state: null,
  topology: null,
  series: { points: [], runs: [] },
  proposals: [],
  operations: [],
  decisions: [],
  adaptations: [],
  notices: [],
};

export function set(changes) {
  Object.assign(store, changes);
  for (const listener of listeners) listener();
}

const names = new WeakMap();
// What people call a broker: its label, else its id.
export function brokerName(id) {
  if (!store.topology) return id;
  if (!names.has(store.topology)) names.set(store.topology, new Map(store.topology.brokers.map((each) => [each.id, each.label])));
  return names.get(store.topology).get(id) ?? id;
}

export function subscribe(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

let notices = 0;
export function notice(text, kind = "info") {
  const made = { id: ++notices, text, kind };
  set({ notices: [...store.notices.slice(-3), made] });
  setTimeout(() => set({ notices: store.notices.filter((each) => each !== made) }), kind === "bad" ? 9000 : 4500);
}

// Runs an action of a person; a refusal is shown, never lost.
export async function attempt(action, done = "") {
  try {
    const answer = await action();
    if (done) notice(done, "good");
    return answer ?? true;
  } catch (fault) {
    notice(fault.message, "bad");
    if (fault.status === 401) set({ who: null });
    return null;
  }
}

// At most one request of a kind under way, and at least `gap` between two.
function gently(gap, work) {
  let timer = null, last = 0, again = false, busy = false;
  const run = async () => {
    timer = null;
    if (busy) return void (again = true);
    busy = true;
    last = performance.now();
    try {
      await work();
    } catch (fault) {
      if (fault.status === 401) set({ who: null });
    } finally {
      busy = false;
      if (again) (again = false), soon();
    }
  };
  const soon = () => {
    timer ??= setTimeout(run, Math.max(0, last + gap - performance.now()));
  };
  return soon;
}

const items = async (path) => (await ask(path)).items;
export const refresh = {
  state: gently(300, async () => set({ state: await ask("state") })),
  topology: gently(400, async () => set({ topology: await ask("topology") })),
  series: gently(1000, async () => set({ series: await ask("series") })),
  proposals: gently(400, async () => set({ proposals: await items("proposals") })),
  operations: gently(400, async () => set({ operations: await items("operations?limit=20") })),
  decisions: gently(600, async () => set({ decisions: await items("decisions?limit=60") })),
  adaptations: gently(600, async () => set({ adaptations: await items("adaptations") })),
};
export const refreshAll = () => Object.values(refresh).forEach((each) => each());

const replaced = (list, one, key) => {
  const place = list.findIndex((each) => each[key] === one[key]);
  return place < 0 ? [one, ...list] : list.with(place, one);
};
const heard = {
  state: (data) => set({ state: data }),
  topology: () => refresh.topology(),
  snapshot: () => (refresh.series(), refresh.topology()),
  proposal: (data) => set({ proposals: replaced(store.proposals, data, "sha256") }),
  operation: (data) => {
    set({ operations: replaced(store.operations, data, "id") });
    if (data.ended) refresh.series();
  },
  decision: (data) => set({ decisions: [data, ...store.decisions].slice(0, 300) }),
  adaptation: () => (refresh.adaptations(), refresh.topology()),
  reset: refreshAll,
};

// The browser reconnects by itself and says the last id; only a refusal (401, 503) needs us.
export function follow() {
  let source, waiting, closed = false;
  const open = () => {
    source = new EventSource("api/v1/events");
    source.onopen = () => {
      set({ online: true });
      refreshAll();
    };
    source.onerror = () => {
      set({ online: false });
      if (source.readyState === EventSource.CLOSED && !closed) waiting = setTimeout(recover, 2000);
    };
    for (const [kind, hear] of Object.entries(heard)) {
      source.addEventListener(kind, (message) => hear(JSON.parse(message.data).data));
    }
  };
  const recover = async () => {
    try {
      set({ who: await ask("session") });
      open();
    } catch (fault) {
      if (fault.status === 401) set({ who: null });
      else waiting = setTimeout(recover, 3000);
    }
  };
  // Loads change without an event; a large overlay is read less often, a hidden page not at all.
  const poll = () => {
    if (!document.hidden) (refresh.topology(), refresh.state());
    timer = setTimeout(poll, (store.topology?.brokers.length ?? 0) > 300 ? 10000 : 3000);
  };
  let timer = setTimeout(poll, 3000);
  open();
  return () => {
    closed = true;
    source.close();
    clearTimeout(timer);
    clearTimeout(waiting);
  };
}
