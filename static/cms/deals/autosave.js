/* Saves a form by itself a moment after its last change; where that is turned off or fails, warns before it is left. */
(() => {
  const form = document.querySelector("[data-autosave]");
  if (!form) return;
  const status = document.querySelector("[data-autosave-status]");
  const toggle = document.querySelector("[data-autosave-switch]");
  const field = (name) => form.elements.namedItem(name);
  const AFTER = 3000; // milliseconds without a change
  const AFTER_LEAVING = 400; // a field
  const FIRST_PAUSE = 5000; // before it is tried again where the site does not answer; then twice as long
  const LONGEST_PAUSE = 60_000;
  const PATIENCE = 15_000;
  const MOST_WHILE_LEAVING = 60_000; // bytes: browsers send no more than 64 KiB of a page that goes
  // What is no part of what is saved by itself.
  const OTHERS = ["csrfmiddlewaretoken", "version", "changes", "against", "seen", "autosaves", "autosave", "picture_file", "announce", "publish_at"];

  const typed = () => {
    const data = new FormData(form);
    for (const name of OTHERS) data.delete(name);
    return new URLSearchParams(data).toString();
  };

  let stored = "unsaved" in form.dataset ? null : typed();
  let timer = 0;
  let pause = FIRST_PAUSE;
  let sending = false;
  let failed = false; // what was typed last is not stored, and will not be before something changes
  let stopped = form.dataset.autosave === "";
  let leaving = false;

  const isOn = () => toggle.checked && !stopped;
  const isChanged = () => typed() !== stored;

  const say = (text, alarming = false) => {
    status.classList.toggle("text-error", alarming);
    status.classList.toggle("text-muted", !alarming);
    if (status.textContent !== text) status.textContent = text;
  };

  const stop = (text) => {
    stopped = failed = true;
    say(text, true);
  };

  // The site knows by it what this page saved, even where its answer is lost.
  const addToken = () => {
    const bytes = [...crypto.getRandomValues(new Uint8Array(16))];
    const token = bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
    field("autosaves").value = `${field("autosaves").value} ${token}`.trim();
  };

  const request = (more) => {
    const data = new FormData(form);
    data.delete("picture_file");
    return fetch(form.dataset.autosave, {
      method: "POST",
      body: new URLSearchParams(data),
      headers: { "HX-Request": "true" },
      ...more,
    });
  };

  const soon = (wait = AFTER) => {
    clearTimeout(timer);
    if (isOn()) timer = setTimeout(save, wait);
  };

  const again = () => {
    failed = true;
    say(status.dataset.away, true);
    soon(pause);
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  };

  const note = async (answer, body) => {
    const { text, fields } = await answer.json();
    failed = !answer.ok;
    pause = FIRST_PAUSE;
    if (answer.status === 409) {
      stop(text);
      return;
    }
    say(text, failed);
    if (failed) return;
    stored = body;
    if (!fields) return;
    field("autosaves").value = "";
    for (const [name, value] of Object.entries(fields)) field(name).value = value;
    if (status.dataset.address) history.replaceState(history.state, "", status.dataset.address);
  };

  async function save() {
    if (!isOn() || sending || leaving || !isChanged()) return;
    const body = typed();
    addToken();
    sending = true;
    try {
      const answer = await request({ signal: AbortSignal.timeout(PATIENCE) });
      if (answer.status === 401) stop(status.dataset.ended);
      else if (answer.status >= 500 || answer.status === 429) again();
      else if (!(answer.headers.get("Content-Type") ?? "").includes("json")) stop(status.dataset.refused);
      else await note(answer, body);
    } catch {
      again();
    } finally {
      sending = false;
    }
    if (!failed && isChanged()) soon();
  }

  form.addEventListener("input", (event) => { if (event.target !== toggle) soon(); });
  form.addEventListener("change", (event) => { if (event.target !== toggle) soon(AFTER_LEAVING); });
  toggle.addEventListener("change", () => {
    say("");
    if (toggle.checked) soon(AFTER_LEAVING);
    else clearTimeout(timer);
  });
  form.addEventListener("submit", (event) => {
    if (event.submitter?.formTarget !== "_blank") leaving = true;
  });
  window.addEventListener("pageshow", () => { leaving = false; });
  window.addEventListener("beforeunload", (event) => {
    if (leaving || !isChanged()) return;
    if (isOn() && !failed && !sending && typed().length < MOST_WHILE_LEAVING) {
      addToken();
      request({ keepalive: true }).catch(() => {});
    } else {
      event.preventDefault();
    }
  });

  if (form.dataset.autosave !== "") toggle.closest("[data-autosave-label]").hidden = false;
})();
