// Attention by hand: every number on the way, and for each the numbers it was made from.
if (!customElements.get("al-attention-by-hand")) {
  const { h, button } = AlFigure;
  const { stages, number } = AlNumbers;
  const { field, parse, read } = AlFields;
  const { named, cell } = AlGrid;

  // Each matrix: its caption, its two axes, and what one of its numbers is called.
  const MATRICES = {
    x: ["x", "T", "C"],
    w_query: ["W_q", "C", "hs"],
    w_key: ["W_k", "C", "hs"],
    w_value: ["W_v", "C", "hv"],
    q: ["q = x W_q", "T", "hs", "q"],
    k: ["k = x W_k", "T", "hs", "k"],
    v: ["v = x W_v", "T", "hv", "v"],
    scores: ["scores = q k\u1d40", "T", "T", "score"],
    masked: ["masked scores", "T", "T", "masked score"],
    exps: ["exp(score \u2212 max)", "T", "T", "exp"],
    weights: ["weights = exp \u00f7 sum", "T", "T", "weight"],
    out: ["out = weights v", "T", "hv", "out"],
  };
  const STAGES = {
    "Edit any number": ["x", "w_query", "w_key", "w_value"],
    "Each position asks, answers and carries": ["q", "k", "v"],
    "Rows ask, columns are asked": ["scores", "masked", "exps"],
    "Each row shares out 1, and mixes the values": ["weights", "out"],
  };

  const columns = (m) => m[0].map((_, j) => m.map((row) => row[j]));
  const product = (a, b) => a.map((row) =>
    columns(b).map((column) => row.reduce((sum, value, n) => sum + value * column[n], 0)));

  customElements.define("al-attention-by-hand", class AlAttentionByHand extends AlFigure {
    static get css() {
      return `
        .stage { display: flex; flex-wrap: wrap; gap: 2px 16px; padding: 8px 0 12px; }
        .stage { border-top: 1px solid var(--line); }
        .stage > p { flex: 1 0 100%; }
        table { border-spacing: 2px; }
        caption { text-align: left; font-weight: 600; white-space: nowrap; }
        sub { line-height: 0; }
        th { padding: 0 6px 0 4px; color: var(--quiet); font-size: 14px; font-weight: 400; }
        thead th { text-align: right; }
        td [type="text"] { display: block; width: calc(1ch * var(--digits) + 18px); }
        td[tabindex] { min-width: 50px; height: 32px; padding: 0 7px; border-radius: 4px; }
        td[tabindex] { background: var(--track); cursor: pointer; }
        .stage :is(td, input) { scroll-margin: 90px 0 130px; }
        .source.source { background: var(--mark); box-shadow: inset 0 -3px var(--edge); }
        .chosen { box-shadow: inset 0 0 0 2px var(--accent); font-weight: 700; }
        .void td[tabindex] { visibility: hidden; }
        .try { margin-top: 0; }
        .try label { display: flex; flex: 1; gap: 8px; align-items: center; margin: 0; }
        [role="status"] {
          position: sticky; bottom: 0; min-height: 66px; margin: 0 -16px -16px; padding: 8px 16px;
          border-top: 1px solid var(--line); border-radius: 0 0 10px 10px;
          background: var(--surface); font-variant-numeric: tabular-nums; overflow-wrap: anywhere;
        }
        .link { margin-top: 26px; }
        @media (max-width: 480px) {
          .stage { column-gap: 8px; }
          caption, td[tabindex] { font-size: 14px; }
          td[tabindex] { min-width: 40px; padding: 0 3px; }
          td [type="text"] { max-width: 60px; padding: 0 4px; }
          [role="status"] { min-height: 90px; }
        }
      `;
    }

    // The four inputs and whether to mask, to every matrix on the way; hidden is -Infinity.
    static compute({ causal, ...inputs }) {
      const { x, w_query, w_key, w_value } = inputs;
      const [q, k, v] = [w_query, w_key, w_value].map((w) => product(x, w));
      const scores = product(q, columns(k));
      const masked = scores.map((row, i) => row.map((s, j) => (causal && j > i ? -Infinity : s)));
      const staged = masked.map((row) => stages(row));
      const [exps, weights] = ["exps", "weights"].map((name) => staged.map((row) => row[name]));
      return { ...inputs, q, k, v, scores, masked, exps, weights, out: product(weights, v) };
    }

    // A number as its cell shows it, or with more digits where two do not say it all. Shares may
    // be tiny; a tiny sum of products is rounding noise.
    static text(result, [name, i, j], exact) {
      const value = result[name][i][j];
      const share = name === "exps" || name === "weights";
      if (share && result.masked[i][j] === -Infinity) return "0";
      if (!share && Math.abs(value) < 1e-9) return number(0);
      return number(value, exact && Math.abs(value - value.toFixed(2)) > 1e-9 ? 4 : 2);
    }

    // How a number was made: the arithmetic, and the places [matrix, row, column] of its sources.
    static trace(result, [name, i, j]) {
      const text = (place) => AlAttentionByHand.text(result, place, true);
      const row = (m, n) => result[m][n].map((_, at) => [m, n, at]);
      const column = (m, n) => result[m].map((_, at) => [m, at, n]);
      const dot = (left, right) => [
        left.map((place, n) => `${text(place)} \u00d7 ${text(right[n])}`).join(" + "),
        [...left, ...right],
      ];
      const seen = result.masked[i];
      const [own, top] = [["masked", i, j], ["masked", i, seen.indexOf(Math.max(...seen))]];
      const exps = row("exps", i);
      switch (name) {
        case "q": case "k": case "v":
          return dot(row("x", i), column({ q: "w_query", k: "w_key", v: "w_value" }[name], j));
        case "scores": return dot(row("q", i), row("k", j));
        case "masked":
          return [seen[j] > -Infinity ? "its score" : "hidden, being ahead", [["scores", i, j]]];
        case "exps": return [`exp(${text(own)} \u2212 ${text(top)})`, [own, top]];
        case "weights": return [`${text(exps[j])} \u00f7 (${exps.map(text).join(" + ")})`, exps];
        default: return dot(row("weights", i), column("v", j));
      }
    }

    build(data) {
      const { names, ...inputs } = data;
      const width = (name) => [...inputs[name][0].keys()];
      this.axes = { T: names, C: width("x"), hs: width("w_key"), hv: width("w_value") };
      [this.fields, this.cells] = [{}, {}];
      this.causal = h("input", { type: "checkbox", checked: "", change: () => this.show() });
      this.said = h("p", { id: "said" });
      this.steps = h("div", {}, Object.entries(STAGES).map(([title, members]) =>
        h("div", { class: "stage" }, h("p", { class: "quiet" }, title),
          members.map((name) => this.matrix(name, inputs[name])))));
      this.place = ["scores", names.length - 1, 0];
      this.show();
      return [
        h("div", { class: "try" },
          h("label", {}, this.causal, "Causal mask: nobody looks ahead"),
          button("reset", () => this.reset())),
        this.steps,
        h("div", { role: "status" }, this.said),
      ];
    }

    // A table of fields where there are values to edit, else a grid that the arrow keys walk.
    matrix(name, values) {
      const [caption, ...ends] = MATRICES[name];
      const [down, across] = ends.map((axis) => this.axes[axis]);
      const nodes = down.map((row, i) => across.map((column, j) => values
        ? field(`${caption}, row ${row}, column ${column}`, values[i][j], () => this.show())
        : cell("td", [i, j], () => nodes, () => this.point([name, i, j]))));
      (values ? this.fields : this.cells)[name] = nodes;
      const digits = Math.max(3, ...(values || []).flat().map((value) => `${value}`.length));
      const kind = values ? { style: `--digits: ${digits}` } : { role: "grid" };
      return h("table", { "aria-label": caption, ...kind },
        h("caption", {}, caption.split(/_(.)/).map((s, n) => (n % 2 ? h("sub", {}, s) : s))),
        named(across, down, nodes));
    }

    reset() {
      for (const node of Object.values(this.fields).flat(2)) node.value = node.defaultValue;
      this.causal.checked = true;
      this.show();
    }

    show() {
      const { error } = read(Object.values(this.fields).flat(2));
      this.said.classList.toggle("error", error !== undefined);
      this.steps.classList.toggle("void", error !== undefined);
      if (error) return this.mark(error, []);
      const inputs = Object.fromEntries(Object.entries(this.fields).map(([name, rows]) =>
        [name, rows.map((row) => row.map((node) => parse(node.value)))]));
      this.result = AlAttentionByHand.compute({ ...inputs, causal: this.causal.checked });
      for (const [name, rows] of Object.entries(this.cells)) {
        rows.forEach((row, i) => row.forEach((node, j) => {
          node.textContent = AlAttentionByHand.text(this.result, [name, i, j]);
        }));
      }
      this.point(this.place);
    }

    // One number: how it was made is said, and what it was made from is marked.
    point(place) {
      this.place = place;
      const [name, i, j] = place;
      const [, , across, called] = MATRICES[name];
      const [how, sources] = AlAttentionByHand.trace(this.result, place);
      const pair = across === "T" ? ` for ${this.axes.T[j]}` : `, column ${j}`;
      const short = AlAttentionByHand.text(this.result, place);
      const exact = AlAttentionByHand.text(this.result, place, true);
      const end = exact === short ? "" : ` \u2248 ${short}`;
      this.mark(`${called} of ${this.axes.T[i]}${pair} = ${how} = ${exact}${end}`, sources, place);
    }

    mark(sentence, sources, chosen) {
      const node = ([name, i, j]) => (this.cells[name] || this.fields[name])[i][j];
      for (const old of this.steps.querySelectorAll(".source, .chosen")) {
        old.classList.remove("source", "chosen");
      }
      for (const place of sources) node(place).classList.add("source");
      if (chosen) node(chosen).classList.add("chosen");
      this.said.textContent = sentence;
    }
  });
}
