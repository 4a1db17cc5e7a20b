/* Notes at the foot of the window about what was just done, numbers of pieces that were typed meanwhile, and where the
focus goes when a line leaves the cart. */
(() => {
  const SECONDS = 8;
  const box = document.querySelector("[data-toast]");
  const note = document.getElementById("toast");
  let timer;

  const close = () => {
    clearTimeout(timer);
    box.hidden = true;
    note.replaceChildren();
  };

  // What asks for nothing goes by itself, but not while somebody reads or uses it.
  const wait = () => {
    clearTimeout(timer);
    if (!note.querySelector("[data-passing]")) return;
    timer = setTimeout(() => {
      if (box.matches(":hover, :focus-within")) wait();
      else close();
    }, SECONDS * 1000);
  };

  new MutationObserver(() => {
    const said = note.querySelector("[data-said]");
    if (!said) return;
    box.hidden = false;
    document.dispatchEvent(new CustomEvent("announce", { detail: { text: said.innerText.trim() } }));
    wait();
  }).observe(note, { childList: true });

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-toast-close]")) close();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !box.hidden) close();
  });

  // An answer may be older than what was typed meanwhile: that is put into the cart that comes, and sent.
  const changed = (sent) => [...document.querySelectorAll("#cart [name=quantity]")].filter(
    (field, n) => field.value !== (sent?.[n] ?? field.defaultValue),
  );
  let typed = [];
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    if (detail.target.id !== "cart") return;
    const form = detail.requestConfig.formData;
    typed = changed(form.has("deal") ? form.getAll("quantity") : []).map(({ id, value }) => ({ id, value }));
  });
  document.addEventListener("htmx:afterSwap", () => {
    for (const { id, value } of typed.splice(0)) {
      const field = document.getElementById(id);
      if (field) field.value = value;
    }
  });
  document.addEventListener("htmx:afterSettle", ({ detail }) => {
    if (detail.elt.id === "cart") changed()[0]?.dispatchEvent(new Event("change", { bubbles: true }));
  });

  // The button that was pressed may be gone: go on from the way back, else from the top of the cart.
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.elt.id !== "cart" || document.activeElement !== document.body) return;
    (document.getElementById("undo-button") ?? document.getElementById("cart-title"))?.focus();
  });

  // A second click on a form that orders does nothing; the first one's answer is on its way.
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-once]")) return;
    if (event.target.dataset.sent) event.preventDefault();
    event.target.dataset.sent = "yes";
  });
  window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("[data-once]")) delete form.dataset.sent;
  });
})();
