// What all live figures share: data, shadow root, theme, look. A figure is a subclass with
// `build(data)`, which returns its nodes, and `static get css()`. Pure functions are static.
if (!window.AlFigure) {
  const LOOK = `
    :host { display: block; max-width: 40rem; margin: 1rem 0; }
    .al {
      --surface: #fff; --text: #1b2430; --quiet: #566070; --line: #d8dee6; --edge: #768294;
      --accent: #2b62b5; --track: #eef2f7; --mark: #fbe9b0; --error: #b3261e;
      all: initial; display: block; box-sizing: border-box; padding: 16px; color-scheme: light;
      border: 1px solid var(--line); border-radius: 10px; background: var(--surface);
      color: var(--text); font: 16px/1.5 system-ui, sans-serif;
    }
    .al.dark {
      --surface: #1a1f27; --text: #e7ebf1; --quiet: #a6b0be; --line: #333c49; --edge: #7f8b9c;
      --accent: #7fabf3; --track: #262d38; --mark: #51421a; --error: #ff9c93;
      color-scheme: dark;
    }
    * { box-sizing: border-box; }
    p { margin: 0; }
    label { display: block; margin-bottom: 4px; font-weight: 600; }
    input, textarea, button {
      color: inherit; background: transparent; border: 1px solid var(--edge); border-radius: 6px;
      font: inherit; touch-action: manipulation;
    }
    textarea, code, .mono { font-family: ui-monospace, Menlo, Consolas, monospace; }
    textarea { display: block; width: 100%; padding: 8px 10px; resize: vertical; }
    [type="checkbox"], [type="range"] { margin: 0; accent-color: var(--accent); }
    [type="checkbox"] { flex: none; width: 20px; height: 20px; }
    [type="text"] { width: 100%; height: 36px; padding: 0 6px; text-align: right; }
    button { min-width: 44px; min-height: 40px; padding: 4px 12px; cursor: pointer; }
    @media (hover: hover) { button:hover { background: var(--track); } }
    :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
    [aria-invalid="true"] { border-color: var(--error); box-shadow: 0 0 0 1px var(--error); }
    .error { color: var(--error); font-weight: 600; overflow-wrap: anywhere; }
    table { border-spacing: 0; font-variant-numeric: tabular-nums; }
    th { font-weight: 600; }
    td { padding: 0; text-align: right; }
    .try, .link { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
    .try { margin: 10px 0 14px; }
    .link { justify-content: end; margin-top: 10px; }
    .quiet { color: var(--quiet); font-size: 14px; }
    .spoken {
      position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
      white-space: nowrap;
    }
    .track { height: 16px; border-radius: 3px; background: var(--track); overflow: hidden; }
    .bar { height: 100%; border-radius: 3px; background: var(--accent); }
    @media (prefers-reduced-motion: no-preference) { .bar { transition: width 0.25s; } }
    @media (forced-colors: active) { .bar { background: CanvasText; forced-color-adjust: none; } }
  `;
  const MARKS = ["data-theme", "theme", "data-jp-theme-light"];
  const GLYPHS = { " ": "\u2423", "\n": "\u23ce", "\t": "\u21e5" };
  const NAMES = {
    " ": "space", "\n": "newline", "\t": "tab", "!": "exclamation mark", "$": "dollar sign",
    "&": "ampersand", "'": "apostrophe", ",": "comma", "-": "hyphen", ".": "full stop",
    ":": "colon", ";": "semicolon", "?": "question mark",
  };

  window.AlFigure = class AlFigure extends HTMLElement {
    connectedCallback() {
      if (!this.shadowRoot) this.start();
      this.repaint = () => this.frame.classList.toggle("dark", AlFigure.isDark());
      this.repaint();
      this.watch = new MutationObserver(this.repaint);
      for (const node of [document.documentElement, document.body]) {
        this.watch.observe(node, { attributeFilter: MARKS });
      }
      this.system = matchMedia("(prefers-color-scheme: dark)");
      this.system.addEventListener("change", this.repaint);
    }

    disconnectedCallback() {
      if (!this.watch) return;
      this.watch.disconnect();
      this.system.removeEventListener("change", this.repaint);
    }

    // Builds first and attaches last: if the building fails, the static result stays in view.
    start() {
      const h = AlFigure.h;
      this.frame = h("div", { class: "al" }, this.build(JSON.parse(this.dataset.figure)));
      const root = this.attachShadow({ mode: "open" });
      root.append(h("style", {}, LOOK + this.constructor.css), this.frame);
      // The page's one-key shortcuts ("/" for search, arrows to turn pages) are not for us.
      root.addEventListener("keydown", (e) => e.ctrlKey || e.metaKey || e.stopPropagation());
      window.AlShare.of(this);
    }

    // The page's own mark decides (book, Colab, JupyterLab), then the system.
    static isDark() {
      const { documentElement: html, body } = document;
      const lab = { true: "light", false: "dark" }[body.dataset.jpThemeLight];
      const mark = html.dataset.theme || html.getAttribute("theme") || lab;
      return mark ? mark === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    }

    // An element with its attributes (a function: a listener). Text is never read as HTML.
    static h(tag, attributes, ...children) {
      const node = document.createElement(tag);
      for (const [name, value] of Object.entries(attributes)) {
        if (typeof value === "function") node.addEventListener(name, value);
        else node.setAttribute(name, value);
      }
      node.append(...children.flat());
      return node;
    }

    // A row of scores through softmax, stage by stage; -Infinity gives 0, in a row of its own too.
    static stages(row, temperature = 1) {
      const top = Math.max(...row);
      const exps = row.map((x) => (x === -Infinity ? 0 : Math.exp((x - top) / temperature)));
      const sum = exps.reduce((a, b) => a + b, 0);
      return { top, exps, sum, weights: exps.map((e) => (sum ? e / sum : 0)) };
    }

    static softmax(row) {
      return AlFigure.stages(row).weights;
    }

    // A field for a number, with the name by which it is called when it holds none.
    static field(label, value, input) {
      return AlFigure.h("input", {
        type: "text", "aria-label": label, value, input, maxlength: 16, autocomplete: "off",
        autocapitalize: "off", spellcheck: "false",
      });
    }

    static parse(text) {
      const plain = text.trim().replaceAll("\u2212", "-");
      const known = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(plain);
      return known && Math.abs(plain) <= 1e9 ? Number(plain) : NaN;
    }

    // {values} of the fields, or {error} about the first that holds no number. Each such field
    // is marked, and described by the figure's element with the id "said".
    static read(fields) {
      const values = fields.map((field) => AlFigure.parse(field.value));
      fields.forEach((field, i) => {
        field.setAttribute("aria-invalid", String(Number.isNaN(values[i])));
        field.setAttribute("aria-describedby", Number.isNaN(values[i]) ? "said" : "");
      });
      const odd = fields.find((_, i) => Number.isNaN(values[i]));
      if (!odd) return { values };
      const text = odd.value.trim();
      return { error: `${odd.getAttribute("aria-label")} is ` + (text
        ? `"${text}", which is not a number from -1e9 to 1e9.`
        : "empty: type a number, such as 2 or -0.5.") };
    }

    // To two decimals; the very large and the very small as 1.2e7 and 3.4e-5, with a true minus.
    static number(x, decimals = 2) {
      const size = Math.abs(x);
      const small = size > 0 && size < 0.5 * 10 ** -decimals;
      const text = size === Infinity ? "\u221e"
        : small || size >= 1e7 ? size.toExponential(size < 1e-99 ? 0 : 1)
        : size.toFixed(size < 1e4 ? decimals : 0);
      return (x < 0 ? "\u2212" : "") + text.replace("+", "").replace("-", "\u2212");
    }

    static percent(p) {
      const tenths = Math.floor(p * 1000 + 0.5);
      return tenths === 0 && p > 0 ? "<0.1%" : `${(tenths / 10).toFixed(1)}%`;
    }

    static codePoint(c) {
      return "U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    }

    // What stands for a character in sight, and what a screen reader should say.
    static glyph(c) {
      return GLYPHS[c] || (/[\p{C}\p{M}\p{Z}]/u.test(c) ? AlFigure.codePoint(c) : c);
    }

    static spoken(c) {
      return NAMES[c] || (/\p{Lu}/u.test(c) ? `capital ${c}` : AlFigure.glyph(c));
    }

    // A character as nodes: its glyph, and its spoken name where the two differ.
    static character(c, quote = "") {
      const shown = quote + AlFigure.glyph(c) + quote;
      const name = AlFigure.spoken(c);
      if (name === AlFigure.glyph(c)) return [AlFigure.h("code", {}, shown)];
      const hidden = AlFigure.h("code", { "aria-hidden": "true" }, shown);
      return [hidden, AlFigure.h("span", { class: "spoken" }, name)];
    }
  };
}
