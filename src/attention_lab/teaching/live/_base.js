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
    @media screen {
      .al.dark {
        --surface: #1a1f27; --text: #e7ebf1; --quiet: #a6b0be; --line: #333c49; --edge: #7f8b9c;
        --accent: #7fabf3; --track: #262d38; --mark: #51421a; --error: #ff9c93;
        color-scheme: dark;
      }
    }
    @media print { .link, [aria-label="Examples"] { display: none !important; } }
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
    [type="range"] { min-width: 0; height: 40px; }
    select {
      padding: 0 6px; border: 1px solid var(--edge); border-radius: 6px;
      background: var(--surface); color: inherit; font: inherit;
    }
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

    static button(text, click, attributes = {}) {
      return AlFigure.h("button", { type: "button", click, ...attributes }, text);
    }

    // A row of buttons that set the figure to something worth seeing.
    static examples(...buttons) {
      const { h } = AlFigure;
      return h("div", { class: "try", role: "group", "aria-label": "Examples" },
        h("span", { class: "quiet" }, "Try"), ...buttons);
    }

    // What a bar lies on. A number beside it says the same to those who cannot see it.
    static track(bar) {
      return AlFigure.h("div", { class: "track", "aria-hidden": "true" }, bar);
    }
  };
}
