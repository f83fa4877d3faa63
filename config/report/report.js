// Redraws the report's charts in the reader's choice of treatments, percentile and axis, and shows values on hover and by
// keyboard. Without it the page shows the static charts that it replaces. No network, no library.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const MARGIN = { top: 12, right: 66, bottom: 46, left: 68 };
  const HEIGHT = 330;
  // A line whose top is below this share of the chart's top is flat on a linear axis.
  const HIDDEN_SHARE = 0.1;
  const state = { hidden: new Set(), statistic: data.statistic, scale: "auto" };

  // Numbers as the static charts write them.
  function number(value) {
    const size = Math.abs(value);
    if (size === 0) return "0";
    if (size < 0.00995) return value.toExponential(2);
    const digits = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : size >= 0.0995 ? 3 : 4;
    return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  }
  const plain = (value) => value.toLocaleString("en-US", { maximumFractionDigits: 6 });

  function element(name, attributes, text) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  // The points of a figure: one line a shown treatment, one place a step, null where there is no value.
  function lines(figure) {
    return data.treatments.filter((treatment) => !state.hidden.has(treatment.slot)).map((treatment) => ({
      treatment,
      points: figure.kind === "distribution"
        ? data.shares[figure.metric].map((share, step) => {
            const values = treatment.distributions[figure.metric];
            const value = values && values[step];
            return value == null ? null : { x: value, y: share };
          })
        : data.levels.map((level) => {
            const found = treatment.points.find((point) => point.level === level);
            if (!found) return null;
            const value = found.values[key(figure)];
            const x = figure.kind === "path" ? found.values.output && found.values.output[0] : level;
            if (!value || x == null) return null;
            const [y, low, high] = value.map((part) => part * figure.factor);
            return { x, y, low, high };
          }),
    }));
  }
  const key = (figure) => (figure.statistics ? `${figure.metric}_${state.statistic}` : figure.metric);

  function niceStep(raw) {
    const magnitude = 10 ** Math.floor(Math.log10(raw));
    return magnitude * ([1, 2, 2.5, 5].find((factor) => raw <= factor * magnitude * (1 + 1e-9)) || 10);
  }

  function domain(values, log, count) {
    const usable = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
    const high = usable.length ? Math.max(...usable) : 1;
    if (!log) {
      const step = niceStep((high > 0 ? high : 1) / count);
      const steps = Math.max(1, Math.ceil(high / step - 1e-9));
      return { low: 0, high: steps * step, log, ticks: Array.from({ length: steps + 1 }, (_, index) => index * step) };
    }
    const low = usable.length ? Math.min(...usable) : 0.1;
    const all = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)) + 1; e += 1) {
      for (const mantissa of [1, 2, 5]) all.push(mantissa * 10 ** e);
    }
    const from = Math.max(0, all.findLastIndex((tick) => tick <= low * (1 + 1e-9)));
    const to = Math.max(from + 1, all.findIndex((tick) => tick >= high * (1 - 1e-9)));
    const span = all.slice(from, to + 1);
    const decade = (tick) => Math.abs(Math.log10(tick) - Math.round(Math.log10(tick))) < 1e-6;
    return { low: span[0], high: span.at(-1), log, ticks: span.length > 9 ? span.filter(decade) : span };
  }

  function share(domain, value) {
    if (!domain.log) return (value - domain.low) / (domain.high - domain.low);
    return value > 0 ? Math.log(value / domain.low) / Math.log(domain.high / domain.low) : null;
  }

  function isLog(drawn, coordinate) {
    const values = drawn.map((line) => line.points.filter(Boolean).map((point) => point[coordinate])).filter((v) => v.length);
    if (!values.length || values.flat().some((value) => value <= 0)) return false;
    if (state.scale !== "auto") return state.scale === "log";
    const tops = values.map((of) => Math.max(...of));
    return Math.min(...tops) < HIDDEN_SHARE * Math.max(...tops);
  }

  // Around the origin. The baseline's is small and filled, the others are open and each a little larger than the one that is
  // drawn over it: where points coincide, all stay visible.
  const MARKERS = [
    "M-3.3 0a3.3 3.3 0 1 0 6.6 0a3.3 3.3 0 1 0 -6.6 0Z",
    "M-4.2 -4.2h8.4v8.4h-8.4Z",
    "M0 -7l6.5 11.6h-13Z",
    "M0 -7.4l6.6 7.4l-6.6 7.4l-6.6 -7.4Z",
    "M0 7.4l6.8 -12.2h-13.6Z",
    "M-2 -6.4h4v4.4h4.4v4h-4.4v4.4h-4v-4.4h-4.4v-4h4.4Z",
    "M-7 0a7 7 0 1 0 14 0a7 7 0 1 0 -14 0Z",
  ];
  function marker(slot, x, y) {
    const filled = (slot % 7 === 0) !== (Math.floor(slot / 7) % 2 === 1);
    const place = { d: MARKERS[slot % 7], transform: `translate(${x} ${y})` };
    return element("path", { ...place, class: filled ? `f${slot % 7}` : `s${slot % 7} hollow` });
  }

  // Consecutive points that exist, so that a missing one leaves a gap.
  function runs(points) {
    const found = [[]];
    for (const point of points) {
      if (point) found.at(-1).push(point);
      else found.push([]);
    }
    return found.filter((run) => run.length);
  }

  class Chart {
    constructor(figure, host) {
      this.figure = figure;
      this.host = host;
      this.step = null;
      host.setAttribute("tabindex", "0");
      host.setAttribute("role", "group");
      host.setAttribute("aria-label", `${figure.title}. Left and right arrow keys read the values.`);
      this.tip = document.createElement("div");
      this.tip.className = "tip";
      this.tip.hidden = true;
      this.said = document.createElement("p");
      this.said.className = "unseen";
      this.said.setAttribute("aria-live", "polite");
      host.addEventListener("pointermove", (event) => this.point(event));
      host.addEventListener("pointerleave", () => this.choose(null));
      host.addEventListener("blur", () => this.choose(null));
      host.addEventListener("keydown", (event) => this.press(event));
      this.draw();
    }

    draw() {
      const figure = this.figure;
      const width = Math.max(300, this.host.clientWidth || 760);
      const inner = { width: width - MARGIN.left - MARGIN.right, height: HEIGHT - MARGIN.top - MARGIN.bottom };
      const bottom = MARGIN.top + inner.height;
      const drawn = lines(figure);
      const all = drawn.flatMap((line) => line.points.filter(Boolean));
      const xs = domain(all.map((p) => p.x), figure.kind === "distribution" && isLog(drawn, "x"), Math.max(3, Math.round(inner.width / 80)));
      const ys = domain(all.flatMap((p) => [p.y, p.low, p.high].filter(Number.isFinite)), figure.kind !== "distribution" && isLog(drawn, "y"), 5);
      const place = (point) => {
        const [u, v] = [share(xs, point.x), share(ys, point.y)];
        if (u === null || v === null) return null;
        const at = { point, x: MARGIN.left + u * inner.width, y: bottom - v * inner.height };
        if (Number.isFinite(point.low) && point.high > point.low) {
          const [low, high] = [share(ys, point.low), share(ys, point.high)];
          if (low !== null && high !== null) at.band = [bottom - low * inner.height, bottom - high * inner.height];
        }
        return at;
      };
      this.placed = drawn.map((line) => ({ ...line, places: line.points.map((point) => point && place(point)) }));

      const svg = element("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width: "100%", height: HEIGHT, "aria-hidden": "true" });
      const write = (x, y, text, anchor, rest = {}) =>
        svg.append(element("text", { x, y, class: "muted", "font-size": 11.5, "text-anchor": anchor, ...rest }, text));
      for (const tick of ys.ticks) {
        const y = bottom - share(ys, tick) * inner.height;
        svg.append(element("path", { d: `M${MARGIN.left} ${y}h${inner.width}`, class: "grid" }));
        write(MARGIN.left - 8, y + 4, plain(tick), "end");
      }
      svg.append(element("path", { d: `M${MARGIN.left} ${bottom}h${inner.width}`, class: "axis" }));
      for (const tick of xs.ticks) {
        const x = MARGIN.left + share(xs, tick) * inner.width;
        svg.append(element("path", { d: `M${x} ${bottom}v5`, class: "axis" }));
        write(x, bottom + 18, plain(tick), "middle");
      }
      const scaled = (label, of) => (of.log ? `${label}, log scale` : label);
      write(MARGIN.left + inner.width / 2, bottom + 38, scaled(figure.x, xs), "middle");
      const name = figure.statistics ? `${figure.axis} ${data.statistics[state.statistic]} (${figure.unit})` : `${figure.axis} (${figure.unit})`;
      const turn = `rotate(-90 12 ${MARGIN.top + inner.height / 2})`;
      write(12, MARGIN.top + inner.height / 2, scaled(name, ys), "middle", { transform: turn });
      if (figure.identity) {
        const end = Math.min(xs.high, ys.high);
        const [from, to] = [place({ x: Math.max(xs.low, ys.low), y: Math.max(xs.low, ys.low) }), place({ x: end, y: end })];
        svg.append(element("path", { d: `M${from.x} ${from.y}L${to.x} ${to.y}`, class: "axis dotted" }));
      }
      for (const line of this.placed) {
        const slot = line.treatment.slot % 7;
        for (const run of runs(line.places.map((at) => (at && at.band ? at : null)))) {
          const outline = run.map((at) => `${at.x} ${at.band[1]}`).concat(run.toReversed().map((at) => `${at.x} ${at.band[0]}`));
          svg.append(run.length === 1
            ? element("path", { d: `M${run[0].x} ${run[0].band[0]}V${run[0].band[1]}`, class: `s${slot} whisker` })
            : element("path", { d: `M${outline.join("L")}Z`, class: `f${slot} band` }));
        }
      }
      for (const line of this.placed.toReversed()) {
        const slot = line.treatment.slot;
        for (const run of runs(line.places)) {
          if (run.length > 1) svg.append(element("path", { d: `M${run.map((at) => `${at.x} ${at.y}`).join("L")}`, class: `s${slot % 7} line` }));
        }
        if (figure.kind !== "distribution") {
          for (const at of line.places) if (at) svg.append(marker(slot, at.x, at.y));
        }
      }
      if (!all.length) write(MARGIN.left + inner.width / 2, MARGIN.top + inner.height / 2, "n/a", "middle");
      if (figure.kind !== "distribution") this.ends(svg, bottom);
      this.cursor = element("path", { class: "axis cursor" });
      this.marks = element("g", { class: "marks" });
      svg.append(this.cursor, this.marks);
      this.host.replaceChildren(svg, this.tip, this.said);
      this.bottom = bottom;
      this.width = width;
      this.choose(this.step);
    }

    // The value of each line's last point beside it, moved apart where they would overlap.
    ends(svg, bottom) {
      const ends = this.placed.map((line) => ({ slot: line.treatment.slot, at: line.places.filter(Boolean).at(-1) })).filter((end) => end.at);
      ends.sort((a, b) => a.at.y - b.at.y);
      let floor = MARGIN.top;
      for (const end of ends) floor = (end.y = Math.max(end.at.y, floor)) + 14;
      let ceiling = bottom;
      for (const end of ends.toReversed()) ceiling = (end.y = Math.min(end.y, ceiling)) - 14;
      for (const end of ends) {
        svg.append(element("text", { x: end.at.x + 9, y: end.y + 4, class: `f${end.slot % 7}`, "font-size": 11.5, "font-weight": 600 }, number(end.at.point.y)));
      }
    }

    point(event) {
      const box = this.host.getBoundingClientRect();
      const [x, y] = [event.clientX - box.left, event.clientY - box.top];
      let best = null;
      for (const line of this.placed) {
        line.places.forEach((at, step) => {
          if (!at) return;
          const distance = this.figure.kind === "ladder" ? Math.abs(at.x - x) : Math.hypot(at.x - x, at.y - y);
          if (best === null || distance < best.distance) best = { distance, step };
        });
      }
      this.choose(best && best.step);
    }

    press(event) {
      const steps = [...new Set(this.placed.flatMap((line) => line.places.flatMap((at, step) => (at ? [step] : []))))].sort((a, b) => a - b);
      if (!steps.length) return;
      const index = steps.indexOf(this.step);
      const moves = {
        ArrowRight: () => steps[Math.min(index + 1, steps.length - 1)],
        ArrowLeft: () => steps[index < 0 ? steps.length - 1 : Math.max(index - 1, 0)],
        Home: () => steps[0],
        End: () => steps.at(-1),
        Escape: () => null,
      };
      if (!(event.key in moves)) return;
      event.preventDefault();
      this.choose(moves[event.key](), true);
    }

    // Marks a step and shows its values; null shows none.
    choose(step, speak = false) {
      this.step = step;
      const found = step === null ? [] : this.placed.filter((line) => line.places[step]);
      this.tip.hidden = !found.length;
      this.marks.replaceChildren(...found.map((line) => element("circle", { cx: line.places[step].x, cy: line.places[step].y, r: 7, class: `s${line.treatment.slot % 7} line` })));
      const x = found.length ? found[0].places[step].x : 0;
      this.cursor.setAttribute("d", found.length && this.figure.kind === "ladder" ? `M${x} ${MARGIN.top}V${this.bottom}` : "");
      if (!found.length) return;
      const head = this.figure.kind === "distribution" ? `${plain(data.shares[this.figure.metric][step])}% of requests within` : `${plain(data.levels[step])} ${data.levels[step] === 1 ? data.unit.replace("requests", "request") : data.unit}`;
      const rows = this.placed.map((line) => {
        const at = line.places[step];
        return { slot: line.treatment.slot, name: line.treatment.name, words: at ? this.words(at.point) : "n/a" };
      });
      const title = document.createElement("strong");
      title.textContent = head;
      const list = document.createElement("dl");
      for (const row of rows) {
        const term = document.createElement("dt");
        const glyph = element("svg", { viewBox: "-7 -7 14 14", width: 12, height: 12 });
        glyph.append(marker(row.slot, 0, 0));
        term.append(glyph, row.name);
        const value = document.createElement("dd");
        value.textContent = row.words;
        list.append(term, value);
      }
      this.tip.replaceChildren(title, list);
      if (speak) this.said.textContent = `${head}. ${rows.map((row) => `${row.name}: ${row.words}`).join(". ")}.`;
      const scale = this.host.clientWidth / this.width;
      const room = this.host.clientWidth - this.tip.offsetWidth;
      const wanted = x * scale > this.host.clientWidth / 2 ? x * scale - this.tip.offsetWidth - 16 : x * scale + 16;
      this.tip.style.left = `${Math.max(0, Math.min(wanted, room))}px`;
    }

    words(point) {
      const { kind, unit } = this.figure;
      if (kind === "distribution") return `${number(point.x)} s`;
      const spread = Number.isFinite(point.low) && point.high > point.low ? ` (${number(point.low)} to ${number(point.high)})` : "";
      const value = `${number(point.y)} ${unit}${spread}`;
      return kind === "path" ? `${value} at ${number(point.x)} tokens/s` : value;
    }
  }

  const charts = data.figures.flatMap((figure) => {
    const host = document.querySelector(`#figure-${figure.id} .chart`);
    return host ? [new Chart(figure, host)] : [];
  });
  const redraw = () => charts.forEach((chart) => chart.draw());

  const controls = document.getElementById("controls");
  controls.hidden = false;
  for (const box of controls.querySelectorAll("input[type=checkbox]")) {
    const slot = Number(box.value);
    const glyph = box.parentElement.querySelector("svg");
    glyph.append(element("path", { d: "M-11 0h22", class: `s${slot % 7} line` }), marker(slot, 0, 0));
    box.addEventListener("change", () => {
      if (box.checked) state.hidden.delete(slot);
      else state.hidden.add(slot);
      redraw();
    });
  }
  for (const select of controls.querySelectorAll("select")) {
    state[select.name] = select.value;
    select.addEventListener("change", () => {
      state[select.name] = select.value;
      redraw();
    });
  }
  redraw();
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth !== width) requestAnimationFrame(redraw);
    width = window.innerWidth;
  });
  for (const fold of document.querySelectorAll("details")) fold.addEventListener("toggle", () => fold.querySelector(".chart") && redraw());
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    folded.forEach((fold) => { fold.open = true; });
    redraw();
  });
  window.addEventListener("afterprint", () => folded.forEach((fold) => { fold.open = false; }));
  document.documentElement.dataset.ready = String(charts.length);
})();
