/* Says that a form was closed, so that others need not wait a minute for it. That it is open htmx says. */
(() => {
  const form = document.querySelector("[data-presence]");
  if (!form) return;
  let stays = false;

  // Saving leads back to the form, unless to the next or a new one: who saves has not left.
  document.addEventListener("submit", (event) => {
    if (event.target.id === "edit-form" && !event.defaultPrevented && !event.submitter?.value.includes("-")) stays = true;
  });
  window.addEventListener("pagehide", () => {
    if (!stays) navigator.sendBeacon(form.dataset.leave, new FormData(form));
  });
  window.addEventListener("pageshow", (event) => {
    stays = false;
    if (event.persisted) htmx.trigger(form, "seen-again");
  });
})();
