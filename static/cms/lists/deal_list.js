/* The list of deals: price and expiry edited in their row (Enter saves, Escape leaves them), and the view that is shown. */
(() => {
  document.addEventListener("keydown", (event) => {
    const row = event.target.closest?.("[data-price-and-expiry]");
    if (!row || event.isComposing) return;
    if (event.key === "Escape") {
      event.preventDefault();
      row.querySelector("[data-cancel]").click();
    } else if (event.key === "Enter" && event.target.matches("input")) {
      event.preventDefault(); // a time's input does not send its form by itself
      row.querySelector("form").requestSubmit();
    }
  });

  // What was done is said also where a row alone has changed.
  document.addEventListener("htmx:afterSettle", (event) => {
    const row = event.detail.elt.closest?.("tr[data-said]");
    if (!row) return;
    const text = document.querySelector("#messages span")?.textContent ?? "";
    delete row.dataset.said;
    if (text) document.dispatchEvent(new CustomEvent("announce", { detail: { text } }));
  });

  // Words that are typed lead away from the saved view that was shown.
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target?.id !== "deals") return;
    document.querySelector("#saved-views [aria-current]")?.removeAttribute("aria-current");
  });
})();
