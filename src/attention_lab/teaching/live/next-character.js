// The bigram's next-character bars: of the text, only the last character's row is read.
if (!customElements.get("al-next-character")) {
  const { h, softmax, percent, glyph, codePoint, character } = AlFigure;

  customElements.define("al-next-character", class AlNextCharacter extends AlFigure {
    static get css() {
      return `
        [role="status"] { min-height: 48px; margin-bottom: 10px; }
        ol { margin: 0; padding: 0; list-style: none; }
        li, .axis { display: grid; grid-template-columns: 28px 1fr 54px; gap: 8px; }
        li { align-items: center; min-height: 34px; }
        li code { font-weight: 600; }
        .share { text-align: right; font-variant-numeric: tabular-nums; }
        .axis > span { grid-column: 2; display: flex; justify-content: space-between; }
        .void, .void .bar { visibility: hidden; }
        .void .track { visibility: visible; }
        @media (max-width: 480px) { [role="status"] { min-height: 92px; } }
      `;
    }

    // {logits, chars}, text -> {last, probs, top} with probs in the order of chars and top the
    // indices of the ten likeliest, or {error}.
    static compute({ logits, chars }, text) {
      const known = [...chars];
      const letters = [...text];
      if (letters.length === 0) {
        return { error: "Type at least one character: the bigram needs one to look up." };
      }
      const odd = letters.find((c) => !known.includes(c));
      if (odd !== undefined) {
        const shown = glyph(odd) === codePoint(odd) ? "" : `'${glyph(odd)}' `;
        const name = `${shown}(${codePoint(odd)})`;
        return { error: `${name} is not one of the ${known.length} characters this model knows.` };
      }
      const last = letters[letters.length - 1];
      const probs = softmax(logits[known.indexOf(last)]);
      const order = known.map((_, i) => i).sort((i, j) => probs[j] - probs[i]);
      return { last, probs, top: order.slice(0, 10) };
    }

    build(data) {
      this.data = data;
      this.field = h("textarea", {
        id: "text", rows: 2, spellcheck: "false", autocomplete: "off", autocapitalize: "off",
        "aria-describedby": "read", input: () => this.show(this.field.value),
      });
      this.field.value = data.text;
      this.read = h("p", { id: "read" });
      this.same = h("p", { class: "quiet" });
      this.list = h("ol", { role: "list", "aria-label": "Next characters, likeliest first" });
      this.end = h("span", {});
      this.rest = h("p", { class: "quiet" });
      const axis = h("span", {}, h("span", {}, "0%"), this.end);
      this.bars = h("div", {}, this.list,
        h("div", { class: "axis quiet", "aria-hidden": "true" }, axis), this.rest);
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
        this.bars,
      ];
    }

    show(text) {
      if (text === this.text) return;
      const { error, last, probs, top } = AlNextCharacter.compute(this.data, text);
      const same = last !== undefined && last === this.last;
      [this.text, this.last] = [text, last];
      this.field.setAttribute("aria-invalid", String(error !== undefined));
      this.read.classList.toggle("error", error !== undefined);
      this.bars.classList.toggle("void", error !== undefined);
      this.same.textContent = same
        ? "Same last character as before: the same bars, to the last bit." : "";
      if (error) return this.read.replaceChildren(error);
      this.read.replaceChildren(
        "The bigram reads only the last character: ", ...character(last, "'"));
      this.draw(probs, top);
    }

    // The bars keep their elements, so that they glide; the scale is the smallest that holds them.
    draw(probs, top) {
      const scale = [0.1, 0.2, 0.3, 0.5, 1].find((s) => probs[top[0]] <= s);
      const chars = [...this.data.chars];
      const rest = 1 - top.reduce((sum, i) => sum + probs[i], 0);
      while (this.list.children.length < top.length) {
        this.list.append(h("li", {}, h("span", {}),
          h("div", { class: "track", "aria-hidden": "true" }, h("div", { class: "bar" })),
          h("span", { class: "share" })));
      }
      top.forEach((i, place) => {
        const [name, track, share] = this.list.children[place].children;
        name.replaceChildren(...character(chars[i]));
        track.firstChild.style.width = `${(100 * probs[i]) / scale}%`;
        share.textContent = percent(probs[i]);
      });
      this.end.textContent = `${100 * scale}%`;
      const others = chars.length - top.length;
      this.rest.textContent = others
        ? `The other ${others} characters share ${percent(Math.max(rest, 0))}.` : "";
    }
  });
}
