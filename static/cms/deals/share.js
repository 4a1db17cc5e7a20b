/* Copies a link and says so; without script, or where copying is not allowed, the link can be selected. */
(() => {
  for (const button of document.querySelectorAll("[data-copy-link]")) {
    const link = document.getElementById(button.dataset.copyLink);
    const said = button.closest("details").querySelector("[data-copy-said]");
    button.hidden = !navigator.clipboard;
    link.addEventListener("focus", () => link.select());
    button.addEventListener("click", async () => {
      said.textContent = "";
      try {
        await navigator.clipboard.writeText(link.value);
        said.textContent = button.dataset.copied;
      } catch {
        link.focus();
        said.textContent = button.dataset.notCopied;
      }
    });
  }
})();
