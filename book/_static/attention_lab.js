// From disk a browser refuses the search page its summaries of the pages found: do without.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

// A formula or table wider than its column scrolls: let the keyboard reach it.
function reachWide() {
  for (const wide of document.querySelectorAll("mjx-container[display], .cell_output .al")) {
    if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
    else wide.removeAttribute("tabindex");
  }
}
addEventListener("load", () => (window.MathJax?.startup?.promise ?? Promise.resolve()).then(reachWide));
addEventListener("resize", reachWide);

// Paper is white: a page that is read in the dark prints in the colours of the light.
let shown;
addEventListener("beforeprint", () => {
  shown = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
});
addEventListener("afterprint", () => { document.documentElement.dataset.theme = shown; });
