/* Copies a voucher code or a deal's link and says so; shares the link where the browser can. A button shows only
   where it does something. */
(() => {
  const reveal = (root) => {
    for (const button of root.querySelectorAll("[data-copy][hidden]")) {
      button.hidden = !navigator.clipboard && !(navigator.share && "share" in button.dataset);
    }
  };

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const { copy, copied, share } = button.dataset;
    if (share && navigator.share) {
      await navigator.share({ title: share, url: copy }).catch(() => {}); // closed without having shared
      return;
    }
    let text = copied;
    try {
      await navigator.clipboard.writeText(copy);
      const [idle, done] = button.querySelectorAll("[data-copy-icon]");
      idle.hidden = true;
      done.hidden = false;
      setTimeout(() => { idle.hidden = false; done.hidden = true; }, 2500);
    } catch {
      text = document.getElementById("texts").dataset.notCopied;
    }
    document.dispatchEvent(new CustomEvent("announce", { detail: { text } }));
  });

  document.addEventListener("htmx:load", (event) => reveal(event.detail.elt.parentNode ?? document));
  reveal(document);
})();
