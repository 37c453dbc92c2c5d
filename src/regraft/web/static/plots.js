// Lines over time (uPlot); transformations are bands behind them.
import { html, useEffect, useRef } from "./html.js";
import { compact } from "./format.js";

const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const BINARY = Array.from({ length: 50 }, (_, power) => 2 ** power); // for bytes: KiB and MiB come out even
const two = (n) => String(n).padStart(2, "0");
function hours(_, ticks, __, ___, gap) {
  return ticks.map((tick) => {
    const time = new Date(tick * 1000), clock = `${two(time.getHours())}:${two(time.getMinutes())}`;
    if (gap >= 86400) return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
    return gap < 60 ? `${clock}:${two(time.getSeconds())}` : clock;
  });
}

function bands(runs) {
  return (plot) => {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const run of runs) {
      const from = plot.valToPos(run.began, "x", true), to = plot.valToPos(run.ended ?? Date.now() / 1000, "x", true);
      const healing = run.cause === "healing", wide = Math.max(to - from, 3 * devicePixelRatio);
      ctx.fillStyle = token(run.state === "failed" ? "--band-bad" : healing ? "--band-heal" : "--band");
      ctx.fillRect(from, bbox.top, wide, bbox.height);
    }
    ctx.restore();
  };
}

export function Plot({ times, lines, runs = [], unit = "", shown = null, height = 150, theme, zero = true, sync = "time", steps = false, mark = null, axis = true }) {
  const box = useRef(null), plot = useRef(null);
  const said = shown ?? compact, read = shown ?? ((value) => `${compact(value)}${unit ? ` ${unit}` : ""}`);
  const shape = lines.map((line) => line.name).join() + theme + height + unit;
  useEffect(() => {
    const element = box.current, grid = { stroke: token("--line"), width: 1 }, stroke = token("--muted");
    const axes = [
      { stroke, grid: { show: false }, ticks: grid, font: "11px system-ui", space: 60, show: axis, ...(steps ? { incrs: [1, 2, 5, 10, 20, 50, 100, 200], values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? tick : "")) } : { values: hours }) },
      { stroke, grid, ticks: { show: false }, font: "11px system-ui", size: 60, incrs: shown ? BINARY : undefined, values: (_, ticks) => ticks.map((tick) => said(tick)), show: axis },
    ];
    const series = [
      steps ? { label: "step" } : { value: "{HH}:{mm}:{ss}" },
      ...lines.map((line) => ({ label: line.name, stroke: token(line.colour), width: 2, fill: line.fill ? token(line.fill) : undefined, points: { show: steps, size: 7 }, spanGaps: false, value: (_, value) => (value === null ? "–" : read(value)), paths: line.bars ? uPlot.paths.bars({ size: [0.6, 30] }) : undefined })),
    ];
    const options = {
      width: element.clientWidth || 300, height, series, axes, cursor: { sync: steps ? undefined : { key: sync }, drag: { x: !steps, y: false }, focus: { prox: 24 } },
      scales: { x: { time: !steps }, y: { range: (_, low, high) => [zero ? Math.min(0, low) : low, high > low ? high * 1.08 : (high || 1) * 1.2] } },
      legend: { show: axis && !steps, live: true }, padding: axis ? [8, 12, 0, 0] : [2, 2, 2, 2],
      hooks: { drawClear: [(self) => bands(self.runs ?? [])(self)], draw: [(self) => self.mark !== null && self.mark !== undefined && marked(self)] },
    };
    const made = new uPlot(options, [times, ...lines.map((line) => line.values)], element);
    plot.current = made;
    made.runs = runs;
    made.mark = mark;
    const resized = new ResizeObserver(() => element.clientWidth && made.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    return () => (resized.disconnect(), made.destroy());
  }, [shape]);
  useEffect(() => {
    plot.current.runs = runs;
    plot.current.mark = mark;
    plot.current.setData([times, ...lines.map((line) => line.values)]);
  }, [times, runs, mark, ...lines.map((line) => line.values)]);
  return html`<div class="plot" ref=${box}></div>`;
}

function marked(plot) {
  const { ctx, bbox } = plot, at = plot.valToPos(plot.mark, "x", true);
  ctx.save();
  ctx.strokeStyle = token("--accent");
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.beginPath();
  ctx.moveTo(at, bbox.top);
  ctx.lineTo(at, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}
