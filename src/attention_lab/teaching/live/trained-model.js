// A trained head at work on any text: its weights, and what it expects beside the bigram.
if (!customElements.get("al-trained-model")) {
  const { h, softmax, percent, glyph, codePoint, character } = AlFigure;
  const TOP = 8;

  // {columns, numbers}: 32-bit numbers in base64, to rows of numbers.
  const unpack = ({ columns, numbers }) => {
    const raw = Uint8Array.from(atob(numbers), (c) => c.charCodeAt(0));
    const view = new DataView(raw.buffer);
    return Array.from({ length: raw.length / 4 / columns }, (_, r) => Array.from(
      { length: columns }, (_, c) => view.getFloat32(4 * (r * columns + c), true)));
  };
  const dot = (a, b) => a.reduce((sum, value, n) => sum + value * b[n], 0);
  const add = (a, b) => a.map((value, n) => value + b[n]);
  const times = (rows, matrix) => rows.map((x) => matrix.map((row) => dot(x, row)));

  customElements.define("al-trained-model", class AlTrainedModel extends AlFigure {
    static get css() {
      return `
        .al { --cell: #8ab4f8; }
        .al.dark { --cell: #1e4fa3; }
        [role="status"] { min-height: 72px; margin-bottom: 10px; }
        .models { display: flex; flex-wrap: wrap; gap: 16px 24px; margin-bottom: 16px; }
        .models > div { flex: 1 1 220px; }
        .title { margin-bottom: 2px; font-weight: 600; }
        ol { margin: 0; padding: 0; list-style: none; }
        li { display: grid; grid-template-columns: 28px 1fr 54px; gap: 8px; }
        li { align-items: center; min-height: 34px; }
        li code { font-weight: 600; }
        .share { text-align: right; }
        .models, table { font-variant-numeric: tabular-nums; }
        .grid { height: calc(34px * var(--rows) + 62px); }
        table { border-spacing: 2px; }
        thead th { min-width: 40px; }
        tbody th { min-width: 24px; text-align: left; }
        td { height: 32px; padding: 0 5px; text-align: center; border-radius: 4px; font-size: 14px; }
        td.w { background: color-mix(in srgb, var(--cell) calc(var(--w) * 100%), var(--surface)); }
        td.ahead { color: var(--quiet); }
        .void { visibility: hidden; }
        @media (max-width: 480px) {
          [role="status"] { min-height: 120px; }
          .grid { height: calc(34px * var(--rows) + 86px); }
          table { border-spacing: 1px; }
          thead th { min-width: 0; }
          tbody th { min-width: 16px; }
          td { padding: 0 1px; font-size: 13px; letter-spacing: -0.3px; }
        }
      `;
    }

    // The figure's data with its matrices as rows of numbers.
    static open({ chars, residual, matrices }) {
      const pairs = Object.entries(matrices).map(([name, packed]) => [name, unpack(packed)]);
      return { chars: [...chars], residual, ...Object.fromEntries(pairs) };
    }

    // The opened model and a text, to {read, weights, head, bigram}: the characters that the head
    // reads, its (T, T) weights, and the probabilities of both models; or to {error}.
    static compute(model, text) {
      const letters = [...text];
      const known = model.chars;
      if (letters.length === 0) return { error: "Type at least one character for the model." };
      const odd = letters.find((c) => !known.includes(c));
      if (odd !== undefined) {
        const shown = glyph(odd) === codePoint(odd) ? "" : `'${glyph(odd)}' `;
        const name = `${shown}(${codePoint(odd)})`;
        return { error: `${name} is not one of the ${known.length} characters this model knows.` };
      }
      const read = letters.slice(-model.places.length);
      const ids = read.map((c) => known.indexOf(c));
      const x = ids.map((id, t) => add(model.tokens[id], model.places[t]));
      const [q, k, v] = ["query", "key", "value"].map((name) => times(x, model[name]));
      const weights = q.map((row, t) => softmax(
        k.map((key, s) => (s > t ? -Infinity : dot(row, key) / Math.sqrt(row.length)))));
      const last = weights[weights.length - 1];
      const mixed = v[0].map((_, c) => dot(last, v.map((row) => row[c])));
      const change = add(times([mixed], model.project)[0], model.project_bias[0]);
      const out = model.residual ? add(x[x.length - 1], change) : change;
      const [scores] = times([out], model.exit);
      return {
        read, weights,
        head: softmax(add(scores, model.exit_bias[0])),
        bigram: softmax(model.bigram[ids[ids.length - 1]]),
      };
    }

    build(data) {
      this.model = AlTrainedModel.open(data);
      const places = this.model.places.length;
      this.field = h("textarea", {
        id: "text", rows: 2, spellcheck: "false", autocomplete: "off", autocapitalize: "off",
        "aria-describedby": "read", input: () => this.show(this.field.value),
      });
      this.field.value = data.text;
      this.read = h("p", { id: "read" });
      this.same = h("p", { class: "quiet" });
      this.lists = { head: "The trained head", bigram: "The bigram" };
      const models = Object.entries(this.lists).map(([name, title]) => {
        this.lists[name] = h("ol", { role: "list", "aria-label": `${title}, likeliest first` });
        return h("div", {}, h("p", { class: "title" }, title), this.lists[name]);
      });
      this.table = h("table", { "aria-labelledby": "looks" });
      this.results = h("div", {}, h("div", { class: "models" }, models),
        h("div", { class: "grid", style: `--rows: ${places}` },
          h("p", { class: "title", id: "looks" },
            "What the head looks at. Rows ask, columns are asked."),
          this.table));
      this.show(data.text);
      return [
        h("label", { for: "text" }, "Type any text"),
        this.field,
        h("div", { class: "try", role: "group", "aria-label": "Examples" },
          h("span", { class: "quiet" }, "Try"),
          data.examples.map((word) => h("button", { type: "button", class: "mono", click: () => {
            this.field.value = word;
            this.show(word);
          } }, word))),
        h("div", { role: "status" }, this.read, this.same),
        this.results,
      ];
    }

    show(text) {
      if (text === this.text) return;
      const result = AlTrainedModel.compute(this.model, text);
      const { error, read, weights } = result;
      const last = read && read[read.length - 1];
      const same = last !== undefined && last === this.last;
      [this.text, this.last] = [text, last];
      this.field.setAttribute("aria-invalid", String(error !== undefined));
      this.read.classList.toggle("error", error !== undefined);
      this.results.classList.toggle("void", error !== undefined);
      this.same.textContent = same
        ? "Same last character as before: the bigram's bars stay as they were." : "";
      if (error) return this.read.replaceChildren(error);
      const row = weights[weights.length - 1];
      const most = row.indexOf(Math.max(...row));
      const looks = most === read.length - 1
        ? ["looks most at itself"]
        : ["looks most at character ", `${most + 1}, `, ...character(read[most], "'")];
      this.read.replaceChildren(
        `The head reads ${read.length === 1 ? "one character" : `${read.length} characters`}. `,
        "The last, ", ...character(last, "'"), ", ", ...looks, `: ${row[most].toFixed(2)}.`);
      const best = Math.max(...result.head, ...result.bigram);
      const scale = [0.1, 0.2, 0.3, 0.5, 1].find((s) => best <= s + 1e-9);
      for (const [name, list] of Object.entries(this.lists)) this.draw(list, result[name], scale);
      this.tabulate(read, weights);
    }

    // The bars keep their elements, so that they glide; both models' have one scale.
    draw(list, probs, scale) {
      const order = probs.map((_, i) => i).sort((i, j) => probs[j] - probs[i]).slice(0, TOP);
      while (list.children.length < order.length) {
        list.append(h("li", {}, h("span", {}),
          h("div", { class: "track", "aria-hidden": "true" }, h("div", { class: "bar" })),
          h("span", { class: "share" })));
      }
      order.forEach((i, place) => {
        const [name, track, share] = list.children[place].children;
        name.replaceChildren(...character(this.model.chars[i]));
        track.firstChild.style.width = `${(100 * probs[i]) / scale}%`;
        share.textContent = percent(probs[i]);
      });
    }

    tabulate(read, weights) {
      const head = (scope) => (c) => h("th", { scope }, ...character(c));
      const cell = (w, ahead) => (ahead
        ? h("td", { class: "ahead" }, "0")
        : h("td", { class: "w", style: `--w: ${w.toFixed(3)}` }, w.toFixed(2)));
      this.table.replaceChildren(
        h("thead", {}, h("tr", {}, h("td", {}), read.map(head("col")))),
        h("tbody", {}, weights.map((row, t) => h("tr", {}, head("row")(read[t]),
          row.map((w, s) => cell(w, s > t))))));
    }
  });
}
