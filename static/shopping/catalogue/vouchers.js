/* Copies a voucher code and says so. The button shows only where the browser can copy. */
(() => {
  const reveal = (root) => {
    if (!navigator.clipboard) return;
    for (const button of root.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
  };

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const texts = document.getElementById("texts").dataset;
    let text = texts.copied.replace("{}", button.dataset.copy);
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      const [idle, done] = button.querySelectorAll("[data-copy-icon]");
      idle.hidden = true;
      done.hidden = false;
      setTimeout(() => { idle.hidden = false; done.hidden = true; }, 2500);
    } catch {
      text = texts.notCopied;
    }
    document.dispatchEvent(new CustomEvent("announce", { detail: { text } }));
  });

  document.addEventListener("htmx:load", (event) => reveal(event.detail.elt.parentNode ?? document));
  reveal(document);
})();
