// Fields for numbers, and what is said of one that holds none.
if (!window.AlFields) {
  const { h } = AlFigure;

  // The number that a reader typed, with a true minus or a plain one, or NaN.
  const parse = (text) => {
    const plain = text.trim().replaceAll("\u2212", "-");
    const known = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(plain);
    return known && Math.abs(plain) <= 1e9 ? Number(plain) : NaN;
  };

  // A field for a number, with the name by which it is called when it holds none.
  const field = (label, value, input) => h("input", {
    type: "text", "aria-label": label, value, input, maxlength: 16, autocomplete: "off",
    autocapitalize: "off", spellcheck: "false",
  });

  // A faulty field is marked, and described by the figure's element with the id "said".
  const mark = (node, faulty) => {
    node.setAttribute("aria-invalid", faulty);
    node.setAttribute("aria-describedby", faulty ? "said" : "");
  };

  // {values} of the fields, or {error} about the first that holds no number.
  const read = (fields) => {
    const values = fields.map((node) => parse(node.value));
    fields.forEach((node, i) => mark(node, Number.isNaN(values[i])));
    const odd = fields.find((_, i) => Number.isNaN(values[i]));
    if (!odd) return { values };
    const text = odd.value.trim();
    return { error: `${odd.getAttribute("aria-label")} is ` + (text
      ? `"${text}", which is not a number from -1e9 to 1e9.`
      : "empty: type a number, such as 2 or -0.5.") };
  };

  window.AlFields = { parse, field, mark, read };
}
