// The bill for the (T, T) matrices: bytes, and the length at which a card is full.
if (!customElements.get("al-memory-bill")) {
  const { h, button, examples, track } = AlFigure;
  const { field, mark, parse } = AlFields;
  const UNITS = ["KB", "MB", "GB", "TB", "PB", "EB"];
  const KINDS = [[1, "1 (fp8)"], [2, "2 (fp16)"], [4, "4 (fp32)"], [8, "8 (fp64)"]];
  const FIELDS = [
    ["T", "Length T", 10000000], ["n_head", "Heads", 1000], ["n_layer", "Layers", 1000],
  ];

  const tenths = (x) => (Math.floor(10 * x + 0.5) / 10).toFixed(1);
  const commas = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
  const count = (n, noun, one = "", many = "s") => `${commas(n)} ${noun}${n == 1 ? one : many}`;

  customElements.define("al-memory-bill", class AlMemoryBill extends AlFigure {
    static get css() {
      return `
        .inputs { display: grid; grid-template-columns: repeat(4, 1fr); gap: 8px 12px; }
        .inputs label, .length label { font-size: 14px; }
        select { width: 100%; height: 36px; padding: 0 4px; }
        .length { margin-top: 8px; }
        [type="range"] { display: block; width: 100%; }
        [role="status"] { min-height: 72px; font-variant-numeric: tabular-nums; }
        .total { font-size: 22px; font-weight: 700; }
        table { width: 100%; table-layout: fixed; color: inherit; }
        th, td { padding: 5px 0 5px 12px; text-align: right; }
        th:first-child { padding-left: 0; text-align: left; width: 19%; }
        th:first-child { white-space: nowrap; }
        thead th { font-size: 14px; }
        .share > div { display: grid; grid-template-columns: 1fr 7.2rem; gap: 10px; }
        .share > div { align-items: center; }
        .full { width: 26%; }
        .over .bar { background: var(--error); }
        .void :is(td > *, .bar) { visibility: hidden; }
        @media (forced-colors: active) { .over .bar { background: Mark; } }
        @media (max-width: 480px) {
          .inputs { grid-template-columns: 1fr 1fr; }
          th, td { padding-left: 6px; font-size: 14px; }
          .share > div { grid-template-columns: 1fr; gap: 2px; }
          .share .track { order: 2; height: 8px; }
          [role="status"] { min-height: 98px; }
        }
      `;
    }

    // The largest whole number whose square is at most n.
    static root(n) {
      let r = BigInt(Math.floor(Math.sqrt(Number(n))));
      while (r * r > n) r -= 1n;
      while ((r + 1n) * (r + 1n) <= n) r += 1n;
      return r;
    }

    // As cost.human_bytes: one decimal, half up, steps of 1024.
    static human(n) {
      if (n < 1024n) return n === 1n ? "1 byte" : `${n} bytes`;
      let unit = 1024n;
      let step = 0;
      const inUnits = () => (20n * n + unit) / (2n * unit);
      for (; inUnits() >= 10240n && step < UNITS.length - 1; step += 1) unit *= 1024n;
      return `${inUnits() / 10n}.${inUnits() % 10n} ${UNITS[step]}`;
    }

    static filled(share) {
      if (share >= 1000) return `${commas(Math.floor(share + 0.5))} cards`;
      if (share > 1) return `${tenths(share)} cards`;
      return share > 0 && share < 0.0005 ? "<0.1%" : `${tenths(100 * share)}%`;
    }

    // Bytes in all as a text of digits, the same for a reader, and each card's share and limit.
    static compute({ T, n_head, n_layer, bytes_per_entry, cards }) {
      const one = BigInt(bytes_per_entry) * BigInt(n_head) * BigInt(n_layer);
      const total = BigInt(T) * BigInt(T) * one;
      return {
        total: String(total), size: AlMemoryBill.human(total),
        cards: cards.map((card) => {
          const budget = BigInt(card) * 1024n ** 3n;
          return {
            share: Number(total) / Number(budget), full: String(AlMemoryBill.root(budget / one)),
          };
        }),
      };
    }

    build(data) {
      this.data = data;
      const show = () => this.show();
      this.fields = FIELDS.map(([key, label]) => {
        const input = field(label, data[key], () => {
          if (key === "T") this.slide();
          this.show();
        });
        input.id = key;
        return input;
      });
      this.kind = h("select", { id: "kind", change: show }, KINDS.map(([bytes, text]) => {
        const option = h("option", { value: bytes }, text);
        option.defaultSelected = bytes === data.bytes_per_entry;
        return option;
      }));
      this.length = h("input", {
        id: "length", type: "range", min: 0, max: 7, step: 0.02, input: () => {
          this.fields[0].value = Number((10 ** this.length.value).toPrecision(2));
          this.show();
        },
      });
      this.total = h("p", { class: "total" });
      this.said = h("p", { id: "said" });
      this.rows = data.cards.map((card) => this.row(card));
      const head = (text, name) => h("th", { scope: "col", class: name }, text);
      this.table = h("table", { "aria-label": "Cards, and what they hold" },
        h("thead", {}, h("tr", {}, head("card", ""), head("filled", "share"),
          head("full at T", "full"))),
        h("tbody", {}, this.rows.map((row) => row.node)));
      this.set(data);
      return [
        h("div", { class: "inputs" },
          FIELDS.map(([key, label], i) => h("div", {},
            h("label", { for: key }, label), this.fields[i])),
          h("div", {}, h("label", { for: "kind" }, "Bytes an entry"), this.kind)),
        h("div", { class: "length" },
          h("label", { for: "length" }, "Length, from 1 to ten million"), this.length),
        examples(
          ...data.models.map(([name, n_layer, n_head, T]) =>
            button(name, () => this.set({ T, n_head, n_layer, bytes_per_entry: 2 }))),
          button("reset", () => this.set(data))),
        h("div", { role: "status" }, this.total, this.said),
        this.table,
      ];
    }

    row(card) {
      const [share, full] = [1, 2].map(() => h("span", {}));
      const bar = h("div", { class: "bar" });
      const node = h("tr", {}, h("th", { scope: "row" }, `${card} GB`),
        h("td", { class: "share" }, h("div", {}, track(bar), share)),
        h("td", { class: "full" }, full));
      return { node, share, full, bar };
    }

    set(values) {
      FIELDS.forEach(([key], i) => (this.fields[i].value = values[key]));
      this.kind.value = values.bytes_per_entry;
      this.slide();
      this.show();
    }

    // The slider follows the field.
    slide() {
      const T = parse(this.fields[0].value);
      if (T >= 1) this.length.value = Math.log10(T);
    }

    // The fields' numbers, or the first fault.
    read() {
      const values = {};
      let error;
      FIELDS.forEach(([key, label, limit], i) => {
        const value = parse(this.fields[i].value);
        const good = Number.isInteger(value) && value >= 1 && value <= limit;
        mark(this.fields[i], !good);
        error ??= good ? undefined : `${label}: type a whole number from 1 to ${commas(limit)}.`;
        values[key] = value;
      });
      return { values, error };
    }

    show() {
      const { values, error } = this.read();
      if (values.T >= 1) this.length.setAttribute("aria-valuetext", commas(values.T));
      this.said.classList.toggle("error", error !== undefined);
      this.table.classList.toggle("void", error !== undefined);
      this.total.textContent = "";
      if (error) return (this.said.textContent = error);
      const { T, n_head, n_layer } = values;
      const bytes_per_entry = Number(this.kind.value);
      const result = AlMemoryBill.compute({ ...values, bytes_per_entry, cards: this.data.cards });
      this.total.textContent = result.size;
      this.said.textContent = [
        count(BigInt(T) * BigInt(T), "entr", "y", "ies"), count(bytes_per_entry, "byte"),
        count(n_head, "head"), count(n_layer, "layer"),
      ].join(" \u00d7 ");
      result.cards.forEach(({ share, full }, i) => {
        const row = this.rows[i];
        row.node.classList.toggle("over", share > 1);
        row.share.textContent = AlMemoryBill.filled(share);
        row.full.textContent = commas(full);
        row.bar.style.width = `${Math.min(100, 100 * share)}%`;
      });
    }
  });
}
