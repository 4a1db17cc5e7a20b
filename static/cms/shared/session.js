/* Signing in again in place: a form that is sent after the session has ended waits for it, files and all.

A session that was seen a minute ago is not asked for again. Without this script the server keeps what was sent. */
(() => {
  const dialog = document.getElementById("sign-in-here");
  if (!dialog) return;
  const SEEN_FOR = 60_000;
  const HIDDEN_FOR = 300_000;
  let seenAt = Date.now();
  let hiddenAt = 0;
  let waiting = null;

  const hasEnded = async () => {
    try {
      const answer = await fetch(dialog.dataset.session, { cache: "no-store", credentials: "same-origin" });
      if (answer.ok) seenAt = Date.now();
      return answer.status === 401;
    } catch {
      return false; // the form itself will say that the site does not answer
    }
  };

  const ask = (then) => {
    waiting = then;
    if (dialog.open) return;
    for (const other of document.querySelectorAll("dialog[open]")) other.close();
    dialog.showModal();
    htmx.ajax("GET", dialog.dataset.form, { target: "#sign-in-here-form", swap: "innerHTML" });
  };

  const send = (form, button) => {
    seenAt = Date.now();
    form.requestSubmit(button?.isConnected ? button : undefined);
  };

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (event.defaultPrevented || dialog.contains(form) || Date.now() - seenAt < SEEN_FOR) return;
    if ((event.submitter?.formMethod || form.method) !== "post") return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (await hasEnded()) ask(() => send(form, event.submitter));
    else send(form, event.submitter);
  }, true);

  // What asks by itself is led to the sign-in page, too: that must not take a page away that is being worked on.
  document.addEventListener("htmx:beforeOnLoad", (event) => {
    const to = event.detail.xhr.getResponseHeader("HX-Redirect") || "";
    if (!to.startsWith(dialog.dataset.signIn)) return;
    event.preventDefault();
    const { elt, requestConfig } = event.detail;
    const form = elt.matches("form, button") && elt.closest("form");
    if (requestConfig?.verb === "get") ask(null);
    else if (form) ask(() => send(form, requestConfig?.triggeringEvent?.submitter));
    else ask(() => htmx.trigger(elt, requestConfig?.triggeringEvent?.type)); // a field that is sent without its form
  });

  document.addEventListener("visibilitychange", async () => {
    if (document.hidden) hiddenAt = Date.now();
    else if (hiddenAt && Date.now() - hiddenAt > HIDDEN_FOR && await hasEnded()) ask(null);
  });

  dialog.addEventListener("htmx:afterSettle", () => {
    const done = dialog.querySelector("[data-signed-in]");
    if (!done) {
      const fields = [...dialog.querySelectorAll("input:not([type=hidden])")];
      const wrong = fields.find((field) => field.ariaInvalid === "true");
      const typing = fields.find((field) => field === document.activeElement);
      (wrong ?? typing ?? fields.find((field) => !field.value))?.focus();
      return;
    }
    for (const field of document.querySelectorAll("input[name=csrfmiddlewaretoken]")) field.value = done.dataset.signedIn;
    seenAt = Date.now();
    dialog.close();
    document.dispatchEvent(new CustomEvent("announce", { detail: { text: done.textContent } }));
    document.dispatchEvent(new Event("signed-in"));
    const then = waiting;
    waiting = null;
    then?.();
  });
})();
