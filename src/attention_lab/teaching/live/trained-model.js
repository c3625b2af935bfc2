// A trained head at work on any text: its weights, and what it expects beside the bigram.
if (!customElements.get("al-trained-model")) {
  const { h } = AlFigure;
  const { softmax } = AlNumbers;
  const { named } = AlGrid;
  const { bars, character, likeliest, scale, unknown } = AlText;
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

  customElements.define("al-trained-model", class AlTrainedModel extends AlText {
    static SAME = "Same last character as before: the bigram's bars stay as they were.";

    static get css() {
      return `${super.css}
        .al { --cell: #8ab4f8; }
        .al.dark { --cell: #1e4fa3; }
        [role="status"] { min-height: 72px; margin-bottom: 10px; }
        .models { display: flex; flex-wrap: wrap; gap: 16px 24px; margin-bottom: 16px; }
        .models > div { flex: 1 1 220px; }
        .title { margin-bottom: 2px; font-weight: 600; }
        .grid { height: calc(34px * var(--rows) + 62px); }
        table { border-spacing: 2px; }
        thead th { min-width: 40px; }
        tbody th { min-width: 24px; text-align: left; }
        td { height: 32px; padding: 0 5px; text-align: center; }
        td { border-radius: 4px; font-size: 14px; }
        td.w { background: color-mix(in srgb, var(--cell) calc(var(--w) * 100%), var(--surface)); }
        td.ahead { color: var(--quiet); }
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
      const error = unknown(letters, known);
      if (error) return { error };
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

    results() {
      this.lists = { head: "The trained head", bigram: "The bigram" };
      const models = Object.entries(this.lists).map(([name, title]) => {
        this.lists[name] = h("ol", { role: "list", "aria-label": `${title}, likeliest first` });
        return h("div", {}, h("p", { class: "title" }, title), this.lists[name]);
      });
      this.table = h("table", { "aria-labelledby": "looks" });
      return [
        h("div", { class: "models" }, models),
        h("div", { class: "grid", style: `--rows: ${this.model.places.length}` },
          h("p", { class: "title", id: "looks" },
            "What the head looks at. Rows ask, columns are asked."),
          this.table),
      ];
    }

    draw({ read, weights, ...probs }) {
      const row = weights[weights.length - 1];
      const most = row.indexOf(Math.max(...row));
      const looks = most === read.length - 1
        ? ["looks most at itself"]
        : ["looks most at character ", `${most + 1}, `, ...character(read[most], "'")];
      this.read.replaceChildren(
        `The head reads ${read.length === 1 ? "one character" : `${read.length} characters`}. `,
        "The last, ", ...character(read[read.length - 1], "'"), ", ", ...looks,
        `: ${row[most].toFixed(2)}.`);
      const full = scale(Math.max(...probs.head, ...probs.bigram)); // one for both models
      for (const [name, list] of Object.entries(this.lists)) {
        bars(list, this.model.chars, probs[name], likeliest(probs[name], TOP), full);
      }
      this.table.replaceChildren(...AlTrainedModel.table(read, weights));
    }

    static table(read, weights) {
      const cell = (w, ahead) => (ahead
        ? h("td", { class: "ahead" }, "0")
        : h("td", { class: "w", style: `--w: ${w.toFixed(3)}` }, w.toFixed(2)));
      const heads = () => read.map((c) => character(c));
      return named(heads(), heads(), weights.map((row, t) => row.map((w, s) => cell(w, s > t))));
    }
  });
}
