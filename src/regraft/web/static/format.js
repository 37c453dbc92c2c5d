// Numbers and times for people. null is "not known" and is never shown as zero.
export const UNKNOWN = "–";
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const some = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

export function number(value) {
  if (value === null || value === undefined) return UNKNOWN;
  return (Math.abs(value) >= 100 ? whole : some).format(value);
}

export function compact(value) {
  if (value === null || value === undefined) return UNKNOWN;
  const size = Math.abs(value);
  if (size >= 1e6) return `${some.format(value / 1e6)} M`;
  if (size >= 1e4) return `${some.format(value / 1e3)} k`;
  return number(value);
}

export const signed = (value) => value === null || value === undefined ? UNKNOWN : `${value > 0 ? "+" : value < 0 ? "−" : ""}${number(Math.abs(value))}`;
export const percent = (share) => share === null || share === undefined ? UNKNOWN : `${number(share * 100)} %`;
export const ms = (value) => value === null || value === undefined ? UNKNOWN : `${number(value)} ms`;
export const rate = (value) => value === null || value === undefined ? UNKNOWN : `${compact(value)}/s`;

export function bytes(value) {
  if (value === null || value === undefined) return UNKNOWN;
  for (const unit of ["B", "KiB", "MiB"]) {
    if (Math.abs(value) < 1024) return `${number(value)} ${unit}`;
    value /= 1024;
  }
  return `${number(value)} GiB`;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return UNKNOWN;
  if (seconds < 1) return `${number(seconds * 1000)} ms`;
  if (seconds < 120) return `${number(seconds)} s`;
  if (seconds < 7200) return `${number(seconds / 60)} min`;
  if (seconds < 172800) return `${number(seconds / 3600)} h`;
  return `${number(seconds / 86400)} days`;
}

const two = (n) => String(n).padStart(2, "0");

export function clock(at) {
  if (at === null || at === undefined) return UNKNOWN;
  const time = new Date(at * 1000);
  return `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
}

export function when(at) {
  if (at === null || at === undefined) return UNKNOWN;
  const time = new Date(at * 1000);
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  return new Date().toDateString() === time.toDateString() ? clock(at) : `${day} ${clock(at)}`;
}

export const short = (sha256) => (sha256 ?? "").slice(0, 8);
export const linkId = (one, other) => (one <= other ? `${one}\u0000${other}` : `${other}\u0000${one}`);
