/* What asks for news by itself (data-poll) is quiet while nobody looks, and asks at once when somebody does again. */
(() => {
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden && event.detail.elt.matches("[data-poll]")) event.preventDefault();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    for (const poll of document.querySelectorAll("[data-poll]")) htmx.trigger(poll, "seen-again");
  });
})();
