// The bigram's next-character bars: of the text, only the last character's row is read.
if (!customElements.get("al-next-character")) {
  const { h } = AlFigure;
  const { softmax } = AlNumbers;
  const { bars, character, likeliest, percent, scale, unknown } = AlText;

  customElements.define("al-next-character", class AlNextCharacter extends AlText {
    static SAME = "Same last character as before: the same bars, to the last bit.";

    static get css() {
      return `${super.css}
        [role="status"] { min-height: 48px; margin-bottom: 10px; }
        .axis > span { grid-column: 2; display: flex; justify-content: space-between; }
        .void .bar { visibility: hidden; }
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
      const error = unknown(letters, known);
      if (error) return { error };
      const last = letters[letters.length - 1];
      const probs = softmax(logits[known.indexOf(last)]);
      return { last, probs, top: likeliest(probs, 10) };
    }

    results() {
      this.list = h("ol", { role: "list", "aria-label": "Next characters, likeliest first" });
      this.end = h("span", {});
      this.rest = h("p", { class: "quiet" });
      const axis = h("span", {}, h("span", {}, "0%"), this.end);
      return [this.list, h("div", { class: "axis quiet", "aria-hidden": "true" }, axis), this.rest];
    }

    draw({ last, probs, top }) {
      this.read.replaceChildren(
        "The bigram reads only the last character: ", ...character(last, "'"));
      const chars = [...this.model.chars];
      const full = scale(probs[top[0]]);
      bars(this.list, chars, probs, top, full);
      this.end.textContent = `${100 * full}%`;
      const rest = 1 - top.reduce((sum, i) => sum + probs[i], 0);
      const others = chars.length - top.length;
      this.rest.textContent = others
        ? `The other ${others} characters share ${percent(Math.max(rest, 0))}.` : "";
    }
  });
}
