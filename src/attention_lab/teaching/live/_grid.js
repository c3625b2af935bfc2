// Tables with a name at each row and column, and cells that the arrow keys walk.
if (!window.AlGrid) {
  const { h } = AlFigure;
  const STEPS = {
    ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
    Home: [0, -Infinity], End: [0, Infinity],
  };

  // Head and body of a table: names across its top, and one before each row of nodes.
  const named = (across, down, rows) => {
    const head = (scope) => (name) => h("th", { scope }, name);
    const body = (node) => (node.localName === "td" ? node : h("td", {}, node));
    return [
      h("thead", {}, h("tr", {}, h("td", {}), across.map(head("col")))),
      h("tbody", {}, rows.map((row, i) => h("tr", {}, head("row")(down[i]), row.map(body)))),
    ];
  };

  // Where a key leads from row i, column j; the edges hold.
  const walk = (event, rows, [i, j]) => {
    if (!STEPS[event.key] || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const [down, right] = STEPS[event.key];
    const kept = (n, count) => Math.min(Math.max(n, 0), count - 1);
    const row = rows[kept(i + down, rows.length)];
    row[kept(j + right, row.length)].focus();
  };

  // One cell of a grid, at [row, column]; `rows()` are all its cells, and `point` hears of the one
  // that mouse or keyboard has reached. Tab reaches one cell of each grid: the last one reached.
  const cell = (tag, [i, j], rows, point, attributes = {}) => {
    const node = h(tag, {
      tabindex: i + j ? -1 : 0,
      mouseover: point,
      click: () => node.focus(),
      focus: () => {
        for (const other of rows().flat()) other.tabIndex = -1;
        node.tabIndex = 0;
        point();
      },
      keydown: (event) => walk(event, rows(), [i, j]),
      ...attributes,
    });
    return node;
  };

  window.AlGrid = { named, cell };
}
