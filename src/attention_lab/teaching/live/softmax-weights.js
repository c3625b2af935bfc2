// A row of scores on its way to weights: the mask, exp, and the division by the sum.
if (!customElements.get("al-softmax-weights")) {
  const { h, button, examples, track } = AlFigure;
  const { stages, number } = AlNumbers;
  const { field, parse, read } = AlFields;

  customElements.define("al-softmax-weights", class AlSoftmaxWeights extends AlFigure {
    static get css() {
      return `
        .heat { display: grid; grid-template-columns: auto 1fr 2em; gap: 12px; }
        .heat { align-items: center; font-variant-numeric: tabular-nums; }
        .heat label { margin: 0; }
        .heat span { text-align: right; }
        [role="status"] { min-height: 48px; margin-bottom: 6px; }
        table { width: 100%; table-layout: fixed; }
        th, td { padding: 3px 0 3px 12px; text-align: right; }
        th:first-child { padding-left: 0; text-align: left; }
        thead th { height: 42px; vertical-align: bottom; font-size: 14px; line-height: 1.3; }
        tfoot td { border-top: 1px solid var(--line); vertical-align: top; }
        th label { display: flex; gap: 8px; align-items: center; min-height: 40px; margin: 0; }
        th label { overflow-wrap: anywhere; cursor: pointer; }
        .score { width: 16%; }
        .exp { width: 26%; }
        .weight { width: 30%; }
        .weight > div { display: grid; grid-template-columns: 4.3rem 1fr; gap: 10px; }
        .weight > div { align-items: center; }
        .hidden td > :not(input) { color: var(--quiet); }
        .void :is(td span, .bar, tfoot) { visibility: hidden; }
        @media (max-width: 480px) {
          th, td { padding-left: 5px; font-size: 14px; }
          thead th { height: 60px; font-size: 13px; }
          th label { gap: 6px; }
          .score { width: 21%; }
          .exp { width: 24%; }
          .weight { width: 18%; }
          [type="text"] { padding: 0 4px; }
          .weight > div { grid-template-columns: 1fr; gap: 2px; }
          .weight .track { height: 8px; }
          [role="status"] { min-height: 72px; }
        }
      `;
    }

    // scores and mask (true: may look), each of S, to the stages; a hidden score is -Infinity.
    static compute({ scores, mask, temperature }) {
      const masked = scores.map((score, i) => (mask[i] ? score : -Infinity));
      return { masked, ...stages(masked, temperature) };
    }

    build(data) {
      this.data = data;
      this.rows = data.names.map((name, i) => this.row(name, data.scores[i], data.mask[i]));
      this.heat = h("input", {
        id: "heat", type: "range", min: -1, max: 1, step: 0.05, input: () => {
          this.temperature = Number((10 ** this.heat.value).toPrecision(2));
          this.show();
        },
      });
      this.degree = h("span", { "aria-hidden": "true" });
      this.said = h("p", { id: "said" });
      this.exp = h("th", { scope: "col", class: "exp" });
      this.ends = [1, 2, 3].map(() => h("span", {}));
      const heads = ["may look", "score", "masked"].map(
        (head) => h("th", { scope: "col", class: head }, head));
      const weight = h("th", { scope: "col", class: "weight" },
        h("div", {}, h("span", {}, "weight")));
      this.table = h("table", { "aria-label": "From scores to weights" },
        h("thead", {}, h("tr", {}, heads, this.exp, weight)),
        h("tbody", {}, this.rows.map((row) => row.node)),
        h("tfoot", { class: "quiet" }, h("tr", {}, h("td", { colspan: 2 }),
          h("td", {}, this.ends[0]), h("td", {}, this.ends[1]),
          h("td", { class: "weight" }, h("div", {}, this.ends[2])))));
      this.reset();
      return [
        h("div", { class: "heat" },
          h("label", { for: "heat" }, "Temperature"), this.heat, this.degree),
        examples(
          button("all zero", () => this.change(() => 0)),
          button("add 100 to every score", () => this.change((score) => score + 100,
            "100 added to every score, and no weight has moved: only differences count.")),
          button("reset", () => this.reset())),
        h("div", { role: "status" }, this.said),
        this.table,
      ];
    }

    row(name, value, visible) {
      const show = () => this.show();
      const label = { "aria-label": `may look at ${name}` };
      const look = h("input", { type: "checkbox", ...label, change: show });
      look.defaultChecked = visible;
      const score = field(`The score of ${name}`, value, show);
      const [masked, exp, weight] = [1, 2, 3].map(() => h("span", {}));
      const bar = h("div", { class: "bar" });
      const node = h("tr", {},
        h("th", { scope: "row" }, h("label", {}, look, name)),
        h("td", { class: "score" }, score), h("td", {}, masked), h("td", {}, exp),
        h("td", { class: "weight" }, h("div", {}, weight, track(bar))));
      return { node, name, look, score, masked, exp, weight, bar };
    }

    reset() {
      for (const { look, score } of this.rows) {
        [look.checked, score.value] = [look.defaultChecked, score.defaultValue];
      }
      this.temperature = this.data.temperature;
      this.heat.value = Math.log10(this.temperature);
      this.show();
    }

    // Every score anew, by a rule; a field that holds no number keeps what it holds.
    change(rule, note) {
      for (const { score } of this.rows) {
        const value = rule(parse(score.value));
        if (!Number.isNaN(value)) score.value = Number(value.toPrecision(12));
      }
      this.show(note);
    }

    show(note) {
      const { rows, temperature } = this;
      const { values, error } = read(rows.map((row) => row.score));
      this.exp.textContent = temperature === 1 ? "exp(score \u2212 max)"
        : `exp((score \u2212 max) \u00f7 ${temperature})`;
      this.degree.textContent = temperature;
      this.heat.setAttribute("aria-valuetext", temperature);
      this.said.classList.toggle("error", error !== undefined);
      this.table.classList.toggle("void", error !== undefined);
      if (error) return this.said.replaceChildren(error);
      const mask = rows.map((row) => row.look.checked);
      const result = AlSoftmaxWeights.compute({ scores: values, mask, temperature });
      this.draw(result, mask);
      const sentence = AlSoftmaxWeights.sentence(result, this.data.names);
      this.said.textContent = (result.sum && note) || sentence;
    }

    draw({ masked, exps, weights, top, sum }, mask) {
      this.rows.forEach((row, i) => {
        row.node.classList.toggle("hidden", !mask[i]);
        row.masked.textContent = number(masked[i]);
        row.exp.textContent = mask[i] ? number(exps[i]) : "0";
        row.weight.textContent = mask[i] ? number(weights[i]) : "0";
        row.bar.style.width = `${100 * weights[i]}%`;
      });
      const total = weights.reduce((a, b) => a + b, 0);
      const ends = sum ? [number(top), number(sum), number(total)] : ["none", "0", "0"];
      ends.forEach((end, i) => (this.ends[i].textContent = `${i ? "sum" : "max"} ${end}`));
    }

    static sentence({ masked, exps, sum, weights }, names) {
      const seen = names.filter((_, i) => masked[i] > -Infinity);
      const first = names.filter((_, i) => exps[i] === 1);
      if (!sum) return "There is nothing to look at: every weight is 0.";
      if (seen.length === 1) return `Only ${seen[0]} is in sight: it gets 1, whatever its score.`;
      if (first.length === seen.length) {
        const share = `1/${seen.length}`;
        return `Equal scores: each key in sight gets ${share}, and that is the plain average.`;
      }
      const most = `1.00 \u00f7 ${number(sum)} = ${number(Math.max(...weights))}`;
      return `Most weight: ${first.join(" and ")}, ${most}.`;
    }
  });
}
