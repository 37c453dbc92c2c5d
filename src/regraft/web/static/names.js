// The words for people: what the server calls by a key is shown by its name, with its unit and the right plural.
import { compact, duration, ms, number, percent } from "./format.js";

const GOALS = {
  validity: "valid overlay", degree: "links of a broker", capacity: "capacity", latency: "latency", k: "k-connectivity",
  routing_cost: "routing cost", diameter: "topic diameter", balance: "balance of load",
};
const NUMBERS = {
  routing_cost: "routing cost", link_cost: "cost of links", broker_cost: "cost of brokers",
  average_degree: "links of a broker, on average", max_degree: "links of a broker, at most",
  average_link_load: "load of a link, on average", max_link_load: "load of a link, at most", link_load_balance: "evenness of the links' load",
  average_broker_load: "load of a broker, on average", max_broker_load: "load of a broker, at most", broker_load_balance: "evenness of the brokers' load",
  expected_latency_ms: "expected latency", k: "k (fewer failures cut no topic)", max_topic_diameter: "longest way within a topic", average_topic_diameter: "way within a topic, on average",
  gain: "gain", gain_error: "standard error of the gain", needed_gain: "gain needed", expected_gain: "gain expected", price: "price of the change", pays_back_after: "paid back after",
  windows: "windows seen", cost_before: "cost before", cost_after: "cost after", seconds: "took", duplicated: "twice", reordered: "out of order",
};
const MEANINGS = {
  routing_cost: "messages over links and through brokers", balance: "load of the busiest broker, in units of the average", diameter: "links on the longest way within a topic",
};
const PARTS = { measure: "Measuring", coordination: "Coordination", design: "Designing", plan: "Planning", deploy: "Carrying out", disk: "Disk" };
const SHARES = new Set(["gain", "gain_error", "needed_gain", "expected_gain"]), SECONDS = new Set(["pays_back_after", "seconds"]);

export const words = (key) => key.replaceAll(/[_-]/g, " ");
export const goalName = (goal) => GOALS[goal] ?? words(goal ?? "routing_cost");
// What the number of a goal counts, where the goal's own words would only repeat it.
export const meaning = (verdict) => (verdict.hard ? verdict.reason : (MEANINGS[verdict.goal] ?? verdict.reason));
export const numberName = (name) => NUMBERS[name] ?? GOALS[name] ?? words(name);
export const partName = (part) => PARTS[part] ?? words(part);

// A number of the server with its unit.
export function figure(name, value) {
  if (SHARES.has(name)) return percent(value);
  if (SECONDS.has(name)) return duration(value);
  return name.endsWith("_ms") ? ms(value) : compact(value);
}

export const counted = (count, name, several = `${name}s`) => `${number(count)} ${count === 1 ? name : several}`;
export const size = ({ actions, steps }) => `${counted(actions, "action")} in ${counted(steps, "step")}`;
// What the server says in small letters, as a sentence. Names of brokers and people keep their letters.
const OURS = /^(the|it|a|an|there|approved|carried|taken|within|healing|no|nothing|what|somebody)\b/;
export function sentence(text) {
  if (!text) return "";
  const begun = OURS.test(text) ? text[0].toUpperCase() + text.slice(1) : text;
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
