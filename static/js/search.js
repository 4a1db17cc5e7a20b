/* The few results under a search box: Escape closes them, and so does sending the form, which shows all. */
(() => {
  const panelOf = (element) => element.closest?.("[data-search-box]")?.querySelector("[data-quick-found]");

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const panel = panelOf(event.target);
    if (!panel?.firstElementChild) return;
    event.preventDefault(); // or the browser would empty the field, too
    panel.replaceChildren();
    panel.closest("[data-search-box]").querySelector("input").focus();
  });

  // Whoever comes back to the page finds its box as it was left, but no results of before.
  window.addEventListener("pageshow", () => {
    for (const panel of document.querySelectorAll("[data-quick-found]")) panel.replaceChildren();
  });
})();
