// A head's size on a slider: the same random draws, scored with and without the square root.
if (!customElements.get("al-head-size")) {
  const { h, track } = AlFigure;
  const { softmax, number } = AlNumbers;

  customElements.define("al-head-size", class AlHeadSize extends AlFigure {
    static get css() {
      return `
        .size { display: grid; grid-template-columns: auto 1fr 3em auto auto; gap: 12px; }
        .size { align-items: center; font-variant-numeric: tabular-nums; }
        .size label { margin: 0; }
        .size span { text-align: right; }
        select { height: 40px; }
        [role="status"] { min-height: 72px; margin: 10px 0; }
        .title { margin: 14px 0 4px; font-weight: 600; }
        .strip { position: relative; height: 64px; border-bottom: 1px solid var(--edge); }
        .strip i { position: absolute; width: 7px; height: 7px; margin: 0 -3.5px; }
        .strip i { border-radius: 50%; background: var(--edge); opacity: 0.55; }
        .strip i.asker { background: var(--accent); opacity: 1; z-index: 1; }
        .ends { display: flex; justify-content: space-between; }
        table { width: 100%; table-layout: fixed; margin-top: 14px; }
        th, td { padding: 2px 0 2px 12px; text-align: left; }
        th:first-child { width: 5em; padding-left: 0; }
        td > div { display: grid; grid-template-columns: 4.4rem 1fr; gap: 10px; }
        td > div { align-items: center; }
        td span { text-align: right; }
        @media (max-width: 480px) {
          .size { grid-template-columns: auto 1fr 2em; gap: 8px; }
          [role="status"] { min-height: 120px; }
          th:first-child { width: 3em; }
          td > div { grid-template-columns: 1fr; gap: 2px; }
          td .track { height: 8px; }
        }
        @media (forced-colors: active) {
          .strip i { background: CanvasText; forced-color-adjust: none; }
          .strip i.asker { background: Highlight; }
        }
      `;
    }

    // Draws q and k (T, D), a head size and a scale to {scores, weights (T, T), spread}.
    static compute({ q, k, size, scale }) {
      const dot = (a, b) => a.slice(0, size).reduce((sum, x, i) => sum + x * b[i], 0);
      const scores = q.map((a) => k.map((b) => scale * dot(a, b)));
      const all = scores.flat();
      const mean = all.reduce((a, b) => a + b, 0) / all.length;
      const variance = all.reduce((sum, x) => sum + (x - mean) ** 2, 0) / all.length;
      return { scores, weights: scores.map(softmax), spread: Math.sqrt(variance) };
    }

    // The two ways to score at one head size: as they are, and divided by the root.
    static both({ q, k }, size) {
      return [1, 1 / Math.sqrt(size)].map((scale) => AlHeadSize.compute({ q, k, size, scale }));
    }

    build(data) {
      this.data = data;
      const steps = Math.log2(data.q[0].length);
      const far = AlHeadSize.both(data, 2 ** steps)[0].scores.flat().map(Math.abs);
      this.reach = Math.ceil(Math.max(1, ...far));
      const change = () => this.show();
      this.slider = h("input", { id: "size", type: "range", min: 0, max: steps, step: 1,
        input: change });
      this.slider.value = Math.log2(data.start);
      this.degree = h("span", { "aria-hidden": "true" });
      this.asker = h("select", { id: "asker", change },
        data.names.map((name, i) => h("option", { value: i }, name)));
      this.said = h("p", { id: "said" });
      this.sides = ["Scores as they are", ""].map((title) => this.side(title));
      this.rows = data.names.map((name) => this.row(name));
      this.asked = h("th", { scope: "col" });
      this.divisor = h("th", { scope: "col" });
      const table = h("table", { "aria-label": "Weights" },
        h("thead", {}, h("tr", {}, this.asked, h("th", { scope: "col" }, "as they are"),
          this.divisor)),
        h("tbody", {}, this.rows.map((row) => row.node)));
      this.show();
      return [
        h("div", { class: "size" },
          h("label", { for: "size" }, "Head size"), this.slider, this.degree,
          h("label", { for: "asker" }, "Who asks"), this.asker),
        h("div", { role: "status" }, this.said),
        ...this.sides.map((side) => side.node),
        table,
      ];
    }

    // A number line with a dot a score, a level for each letter that asks.
    side(title) {
      const { names } = this.data;
      const dots = names.map(() => names.map(() => h("i", {})));
      dots.forEach((level, t) => level.forEach((dot) => {
        dot.style.top = `${4 + (52 * t) / (names.length - 1)}px`;
      }));
      const head = h("p", { class: "title" }, title);
      const ends = [`\u2212${this.reach}`, "0", `${this.reach}`];
      const node = h("div", {}, head, h("div", { "aria-hidden": "true" },
        h("div", { class: "strip" }, dots.flat()),
        h("div", { class: "ends quiet" }, ends.map((end) => h("span", {}, end)))));
      return { node, head, dots };
    }

    row(name) {
      const parts = [0, 1].map(() => ({ share: h("span", {}), bar: h("div", { class: "bar" }) }));
      const node = h("tr", {}, h("th", { scope: "row" }, name), parts.map(({ share, bar }) =>
        h("td", {}, h("div", {}, share, track(bar)))));
      return { node, parts };
    }

    show() {
      const { names } = this.data;
      const size = 2 ** this.slider.value;
      const asker = Number(this.asker.value);
      const results = AlHeadSize.both(this.data, size);
      const root = number(Math.sqrt(size));
      this.slider.setAttribute("aria-valuetext", size);
      this.degree.textContent = size;
      this.sides[1].head.textContent = `Divided by \u221a${size} = ${root}`;
      this.asked.textContent = `${names[asker]} asks`;
      this.divisor.textContent = `divided by ${root}`;
      results.forEach(({ scores, weights }, n) => {
        this.sides[n].dots.forEach((level, t) => level.forEach((dot, s) => {
          dot.style.left = `${50 + (48 * scores[t][s]) / this.reach}%`;
          dot.className = t === asker ? "asker" : "";
        }));
        this.rows.forEach(({ parts }, s) => {
          parts[n].share.textContent = number(weights[asker][s]);
          parts[n].bar.style.width = `${100 * weights[asker][s]}%`;
        });
      });
      this.said.textContent = AlHeadSize.sentence(results, size, names, asker);
    }

    static sentence([plain, scaled], size, names, asker) {
      const most = Math.max(...plain.weights[asker]);
      const first = plain.weights[asker].indexOf(most);
      const after = scaled.weights[asker][first];
      return `Head size ${size}: the scores spread by ${number(plain.spread)}, where the rule says `
        + `${number(Math.sqrt(size))}; divided, by ${number(scaled.spread)}. ${names[asker]} gives `
        + `${names[first]} a weight of ${number(most)} as they are, ${number(after)} divided.`;
    }
  });
}
