// A mask to switch, entry by entry: the weights as a table, and as arrows between the positions.
if (!customElements.get("al-mask-graph")) {
  const { h, button } = AlFigure;
  const { softmax, number } = AlNumbers;
  const { named, cell } = AlGrid;

  // The drawing follows teaching/graphs.py: the same measures in the same places.
  const [STEP, CORE, REACH, WIDEST, HAIR] = [74, 13, 22, 8, 0.8];
  const MASKS = {
    "causal": (t, s) => s <= t,
    "everybody": () => true,
    "only itself": (t, s) => s === t,
    "nobody": () => false,
  };

  const svg = (tag, attributes, ...children) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children.flat());
    return node;
  };
  const along = ([x, y], [dx, dy], size) => [x + size * dx, y + size * dy];
  const xy = (point) => point.map((n) => Number(n.toFixed(1)).toFixed(1).replace("-0.0", "0.0"));
  const angle = (d, T) => (25 + 55 * (d - 1) / Math.max(T - 2, 1)) * Math.PI / 180;
  const bend = (d, T) => 0.4 * (STEP * d - 2.5 * REACH * Math.cos(angle(d, T)));
  const height = (d, T) => Math.sin(angle(d, T)) * (REACH + 10 + 0.75 * bend(d, T)) + WIDEST / 2;

  // The arrow from node s to node t: the curve of its shaft, and the corners of its tip.
  const arc = (s, t, T, width) => {
    const [size, side] = [Math.abs(t - s), Math.sign(t - s)];
    const leave = [side * Math.cos(angle(size, T)), -side * Math.sin(angle(size, T))];
    const land = [-leave[0], leave[1]];
    const a = along([STEP * s, 0], leave, REACH);
    const b = along([STEP * t, 0], land, REACH + 6 + 0.6 * width);
    const half = 3 + 0.75 * width;
    const across = [-land[1], land[0]];
    const corners = [along([STEP * t, 0], land, REACH), along(b, across, half),
      along(b, across, -half)];
    const [m, ...c] = [a, along(a, leave, bend(size, T)), along(b, land, bend(size, T)), b].map(xy);
    return { shaft: `M${m}C${c.join(" ")}`, tip: corners.map(xy).join(" ") };
  };

  customElements.define("al-mask-graph", class AlMaskGraph extends AlFigure {
    static get css() {
      return `
        .both { display: flex; flex-wrap: wrap; gap: 4px 24px; align-items: center; }
        .try { margin: 0 0 10px; }
        caption { text-align: left; }
        th { padding: 0 6px; color: var(--quiet); font-weight: 400; text-align: center; }
        td button {
          min-width: 46px; padding: 0 2px; border-color: var(--line); border-radius: 4px;
          font-size: 14px; background: color-mix(in srgb, var(--accent) var(--w), var(--surface));
        }
        td [aria-pressed="false"] { border-style: dashed; color: var(--quiet); }
        td [aria-pressed="false"] {
          background: repeating-linear-gradient(135deg, var(--track) 0 4px, var(--surface) 4px 9px);
        }
        .chosen { box-shadow: 0 0 0 2px var(--edge); font-weight: 700; }
        svg { flex: 1 1 280px; min-width: 0; height: auto; }
        svg text { font-size: 17px; fill: var(--text); text-anchor: middle; }
        svg text { dominant-baseline: central; pointer-events: none; }
        .node { fill: var(--surface); stroke: var(--line); }
        .ring, .shaft { fill: none; stroke: var(--accent); }
        .tip { fill: var(--accent); }
        .arrow { opacity: 0.7; }
        .arrow.chosen { opacity: 1; }
        .arrow.chosen :is(.ring, .shaft) { stroke: var(--text); }
        .arrow.chosen .tip { fill: var(--text); }
        [role="status"] { min-height: 52px; margin-top: 8px; }
        @media (max-width: 480px) {
          th { padding: 0 3px; }
          td button { min-width: 44px; }
          [role="status"] { min-height: 96px; }
        }
      `;
    }

    // scores and mask (true: may look), each (T, T), to weights: 0 in a row that sees nothing.
    static compute({ scores, mask }) {
      return { weights: scores.map((row, t) =>
        softmax(row.map((score, s) => (mask[t][s] ? score : -Infinity)))) };
    }

    build(data) {
      this.data = data;
      const { names } = data;
      this.cells = names.map((_, t) => names.map((_, s) => this.cell(t, s)));
      this.count = h("caption", { class: "quiet" });
      const table = h("table", { "aria-label": "Weights: rows ask, columns are asked" },
        this.count, named(names, names, this.cells));
      const [wide, high] = [STEP * (names.length - 1), height(names.length - 1, names.length) + 6];
      const box = [-REACH, -high, wide + 2 * REACH, 2 * high];
      this.drawing = svg("svg", {
        role: "img", viewBox: box.map((n) => n.toFixed(1)).join(" "), width: box[2], height: box[3],
        style: `max-width: ${box[2]}px`,
      });
      this.said = h("p", { id: "said" });
      const given = (t, s) => data.mask[t][s];
      this.place = [names.length - 1, 0];
      this.set(given);
      return [
        h("div", { class: "try", role: "group", "aria-label": "Who may be looked at" },
          Object.entries({ ...MASKS, reset: given }).map(([text, rule]) =>
            button(text, () => this.set(rule)))),
        h("div", { class: "both" }, table, this.drawing),
        h("div", { role: "status" }, this.said),
      ];
    }

    // One entry: a button that is pressed while t may look at s.
    cell(t, s) {
      return cell("button", [t, s], () => this.cells, () => this.point([t, s]), {
        type: "button",
        click: () => {
          this.mask[t][s] = !this.mask[t][s];
          this.place = [t, s];
          this.show();
        },
      });
    }

    set(rule) {
      this.mask = this.data.names.map((_, t) => this.data.names.map((_, s) => rule(t, s)));
      this.show();
    }

    show() {
      const { names, scores } = this.data;
      this.weights = AlMaskGraph.compute({ scores, mask: this.mask }).weights;
      const seen = this.mask.flat().filter(Boolean).length;
      this.count.textContent = `${seen} of ${names.length ** 2} arrows. Rows ask.`;
      this.cells.forEach((row, t) => row.forEach((node, s) => {
        const text = this.mask[t][s] ? number(this.weights[t][s]) : "0";
        node.textContent = text;
        node.setAttribute("aria-label", `${names[t]} looks at ${names[s]}: ${text}`);
        node.setAttribute("aria-pressed", this.mask[t][s]);
        node.style.setProperty("--w", `${(50 * this.weights[t][s]).toFixed(0)}%`);
      }));
      this.draw();
      this.point(this.place);
    }

    draw() {
      const { names } = this.data;
      const shapes = [];
      this.arrows = names.map(() => []);
      this.mask.forEach((row, t) => row.forEach((seen, s) => {
        if (!seen) return;
        const width = Math.max(HAIR, WIDEST * this.weights[t][s]);
        const thick = { "stroke-width": width.toFixed(2) };
        const path = t === s ? {} : arc(s, t, names.length, width);
        const node = svg("g", { class: "arrow" }, t === s
          ? svg("circle", { class: "ring", cx: STEP * t, cy: 0, r: CORE + width / 2, ...thick })
          : [svg("path", { class: "shaft", d: path.shaft, ...thick }),
            svg("polygon", { class: "tip", points: path.tip })]);
        node.addEventListener("mouseover", () => this.point([t, s]));
        this.arrows[t][s] = node;
        shapes.push(node);
      }));
      names.forEach((name, i) => shapes.push(
        svg("circle", { class: "node", cx: STEP * i, cy: 0, r: CORE }),
        svg("text", { x: STEP * i, y: 0 }, name)));
      this.drawing.replaceChildren(...shapes);
      const pairs = this.weights.flatMap((row, t) => row.flatMap((w, s) =>
        (this.mask[t][s] ? [`${names[s]} \u2192 ${names[t]} ${number(w)}`] : [])));
      this.drawing.setAttribute("aria-label", `Graph. Arrows: ${pairs.join(", ") || "none"}`);
    }

    // One entry: its cell and its arrow stand out, and a sentence says what reaches its row.
    point([t, s]) {
      this.place = [t, s];
      for (const node of [...this.cells.flat(), ...this.arrows.flat()]) {
        node.classList.remove("chosen");
      }
      this.cells[t][s].classList.add("chosen");
      if (this.arrows[t][s]) this.arrows[t][s].classList.add("chosen");
      this.said.textContent = AlMaskGraph.sentence(
        { mask: this.mask, weights: this.weights }, this.data.names, [t, s]);
    }

    static sentence({ mask, weights }, names, [t, s]) {
      const called = (i) => (i === t ? "itself" : names[i]);
      const from = names.flatMap((_, i) =>
        (mask[t][i] ? [`${number(weights[t][i])} of ${called(i)}`] : []));
      if (!from.length) {
        return `${names[t]} may look at nobody: all its weights are 0, and it takes home 0.`;
      }
      const whole = `${names[t]} takes ${from.join(", ")}.`;
      if (mask[t][s]) return whole;
      const to = t === s ? "itself" : names[t];
      return `No arrow from ${names[s]} to ${to}: the weight is 0. ${whole}`;
    }
  });
}
