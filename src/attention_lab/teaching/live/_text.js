// A figure about a text that the reader types: its field, its characters by name, their bars.
// A subclass has `compute(model, text)`, `SAME`, `results(data)` and `draw(result)`.
if (!window.AlText) {
  const { h, button, examples, track } = AlFigure;
  const GLYPHS = { " ": "\u2423", "\n": "\u23ce", "\t": "\u21e5" };
  const NAMES = {
    " ": "space", "\n": "newline", "\t": "tab", "!": "exclamation mark", "$": "dollar sign",
    "&": "ampersand", "'": "apostrophe", ",": "comma", "-": "hyphen", ".": "full stop",
    ":": "colon", ";": "semicolon", "?": "question mark",
  };

  window.AlText = class AlText extends AlFigure {
    static get css() {
      return `
        ol { margin: 0; padding: 0; list-style: none; }
        li, .axis { display: grid; grid-template-columns: 28px 1fr 54px; gap: 8px; }
        li { align-items: center; min-height: 34px; font-variant-numeric: tabular-nums; }
        li code { font-weight: 600; }
        .share { text-align: right; }
        .void { visibility: hidden; }
      `;
    }

    static codePoint(c) {
      return "U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    }

    // What stands for a character in sight, and what a screen reader should say.
    static glyph(c) {
      return GLYPHS[c] || (/[\p{C}\p{M}\p{Z}]/u.test(c) ? AlText.codePoint(c) : c);
    }

    static spoken(c) {
      return NAMES[c] || (/\p{Lu}/u.test(c) ? `capital ${c}` : AlText.glyph(c));
    }

    // A character as nodes: its glyph, and its spoken name where the two differ.
    static character(c, quote = "") {
      const shown = quote + AlText.glyph(c) + quote;
      const name = AlText.spoken(c);
      if (name === AlText.glyph(c)) return [h("code", {}, shown)];
      const hidden = h("code", { "aria-hidden": "true" }, shown);
      return [hidden, h("span", { class: "spoken" }, name)];
    }

    // What to say of the first character that is not among the known, if there is one.
    static unknown(letters, known) {
      const odd = letters.find((c) => !known.includes(c));
      if (odd === undefined) return undefined;
      const [glyph, code] = [AlText.glyph(odd), AlText.codePoint(odd)];
      const name = glyph === code ? `(${code})` : `'${glyph}' (${code})`;
      return `${name} is not one of the ${known.length} characters this model knows.`;
    }

    static percent(p) {
      const tenths = Math.floor(p * 1000 + 0.5);
      return tenths === 0 && p > 0 ? "<0.1%" : `${(tenths / 10).toFixed(1)}%`;
    }

    // The indices of the likeliest characters.
    static likeliest(probs, count) {
      return probs.map((_, i) => i).sort((i, j) => probs[j] - probs[i]).slice(0, count);
    }

    // What a full bar stands for: the smallest step that holds the largest share.
    static scale(largest) {
      return [0.1, 0.2, 0.3, 0.5, 1].find((step) => largest <= step + 1e-9);
    }

    // The model as `compute` takes it.
    static open(data) {
      return data;
    }

    build(data) {
      this.model = this.constructor.open(data);
      this.field = h("textarea", {
        id: "text", rows: 2, spellcheck: "false", autocomplete: "off", autocapitalize: "off",
        "aria-describedby": "read", input: () => this.show(this.field.value),
      });
      this.read = h("p", { id: "read" });
      this.same = h("p", { class: "quiet" });
      this.shown = h("div", {}, this.results(data));
      this.set(data.text);
      return [
        h("label", { for: "text" }, "Type any text"),
        this.field,
        examples(...data.examples.map((word) =>
          button(word, () => this.set(word), { class: "mono" }))),
        h("div", { role: "status" }, this.read, this.same),
        this.shown,
      ];
    }

    set(text) {
      this.field.value = text;
      this.show(text);
    }

    show(text) {
      if (text === this.text) return;
      const result = this.constructor.compute(this.model, text);
      const faulty = result.error !== undefined;
      const last = faulty ? undefined : [...text].pop();
      this.same.textContent = !faulty && last === this.last ? this.constructor.SAME : "";
      [this.text, this.last] = [text, last];
      this.field.setAttribute("aria-invalid", faulty);
      this.read.classList.toggle("error", faulty);
      this.shown.classList.toggle("void", faulty);
      if (faulty) this.read.replaceChildren(result.error);
      else this.draw(result);
    }

    // A bar for each of the characters with these indices. They keep their elements and so glide.
    static bars(list, chars, probs, indices, scale) {
      while (list.children.length < indices.length) {
        list.append(h("li", {}, h("span", {}), track(h("div", { class: "bar" })),
          h("span", { class: "share" })));
      }
      indices.forEach((i, place) => {
        const [name, line, share] = list.children[place].children;
        name.replaceChildren(...AlText.character(chars[i]));
        line.firstChild.style.width = `${(100 * probs[i]) / scale}%`;
        share.textContent = AlText.percent(probs[i]);
      });
    }
  };
}
