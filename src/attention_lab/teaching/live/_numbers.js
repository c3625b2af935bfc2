// Softmax, and how a number is shown: by the rules of `numbers.py`.
if (!window.AlNumbers) {
  // A row of scores through softmax, stage by stage; -Infinity gives 0, in a row of its own too.
  const stages = (row, temperature = 1) => {
    const top = Math.max(...row);
    const exps = row.map((x) => (x === -Infinity ? 0 : Math.exp((x - top) / temperature)));
    const sum = exps.reduce((a, b) => a + b, 0);
    return { top, exps, sum, weights: exps.map((e) => (sum ? e / sum : 0)) };
  };

  const softmax = (row) => stages(row).weights;

  // To two decimals; the very large and the very small as 1.2e7 and 3.4e-5, with a true minus.
  const number = (x, decimals = 2) => {
    const size = Math.abs(x);
    const small = size > 0 && size < 0.5 * 10 ** -decimals;
    const text = size === Infinity ? "\u221e"
      : small || size >= 1e7 ? size.toExponential(size < 1e-99 ? 0 : 1)
      : size.toFixed(size < 1e4 ? decimals : 0);
    return (x < 0 ? "\u2212" : "") + text.replace("+", "").replace("-", "\u2212");
  };

  window.AlNumbers = { stages, softmax, number };
}
