/* Saves a form by itself a moment after its last change. While the site cannot be reached, what is typed is kept in this
   browser, and offered when the form is opened again; where that fails or saving is off, warns before it is left. */
(() => {
  const form = document.querySelector("[data-autosave]");
  if (!form) return;
  const place = document.querySelector("[data-autosave-place]");
  const status = place.querySelector("[data-autosave-status]");
  const toggle = place.querySelector("[data-autosave-switch]");
  const offer = document.querySelector("[data-kept-copy]");
  const field = (name) => form.elements.namedItem(name);
  const AFTER = 3000; // milliseconds without a change
  const AFTER_LEAVING = 400; // a field
  const FIRST_PAUSE = 5000; // before it is tried again where the site does not answer; then twice as long
  const LONGEST_PAUSE = 60_000;
  const PATIENCE = 15_000;
  const MOST_WHILE_LEAVING = 60_000; // bytes: browsers send no more than 64 KiB of a page that goes
  const KEY = place.dataset.copy;
  const [, user, , id] = KEY.split(":");
  // What is no part of what is saved by itself.
  const OTHERS = ["csrfmiddlewaretoken", "version", "changes", "against", "seen", "autosaves", "autosave", "picture_file", "announce", "publish_at", "told"];
  const BASE = ["version", "changes", "seen", "autosaves"]; // what was stored where one began to type

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
  let away = false; // the site does not answer, or refuses to
  let stopped = form.dataset.autosave === "";
  let leaving = false;

  const isOn = () => toggle.checked && !stopped;
  const isChanged = () => typed() !== stored;

  const say = (text, state = "") => {
    place.dataset.state = state;
    if (status.textContent === text) return;
    place.querySelector("[data-autosave-whole]").textContent = place.querySelector("summary").title = text;
    status.textContent = text;
  };

  const stop = (text) => {
    stopped = failed = true;
    say(text, "failed");
  };

  // ---- the copy in this browser ----
  const inStorage = (act) => {
    try { return act(); } catch { return null; } // it may be forbidden, or full
  };
  const read = (key) => inStorage(() => JSON.parse(localStorage.getItem(key)));
  const forget = (key = KEY) => inStorage(() => localStorage.removeItem(key));
  const textOf = (copy) => new URLSearchParams(copy.fields).toString();
  const isKept = () => textOf(read(KEY) ?? {}) === typed();
  const isNewerThan = ({ base }) => ["version", "changes"].some((name) => Number(field(name).value) > Number(base[name]));

  const keep = (more) => inStorage(() => {
    const fields = Object.fromEntries(new URLSearchParams(typed()));
    const base = Object.fromEntries(BASE.map((name) => [name, field(name).value]));
    const copy = { at: new Date().toISOString(), base, fields, ...more };
    localStorage.setItem(KEY, JSON.stringify(copy));
    return true;
  });

  const inWords = (when, day) => {
    const { lang } = document.documentElement;
    const clock = { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: place.dataset.zone };
    return when.toLocaleString(lang === "en" ? "en-GB" : lang, { ...clock, ...day });
  };

  const keepHere = () => {
    if (isKept() || keep()) say(place.dataset.kept.replace("{}", inWords(new Date(read(KEY).at))), "kept");
    else say(place.dataset.away, "failed");
  };

  // A new draft has another id on each page, so what was kept of one that the site never got is offered on the next.
  const findCopy = async () => {
    const drafts = `kept:${user}:draft:`;
    const address = form.getAttribute("action");
    if (!KEY.startsWith(drafts) || field("version").value !== "0") return KEY;
    const isNew = (key) => key.startsWith(drafts) && read(key).base.version === "0";
    const keys = (inStorage(() => Object.keys(localStorage)) ?? []).filter(isNew);
    for (const key of keys.sort().reverse()) {
      const answer = await fetch(address.replace(id, key.slice(drafts.length)), { method: "HEAD" }).catch(() => null);
      if (answer?.status === 404) return key;
      if (answer?.redirected) forget(key); // it was published
    }
    return KEY;
  };

  // With what it stood on, so that what others changed since is found as ever.
  const fillIn = ({ base, fields }) => {
    for (const name of BASE) field(name).value = base[name];
    const filled = [...form.elements].filter((element) => {
      const { name, value, checked } = element;
      if (!element.matches("input:not([type=file]), select, textarea") || OTHERS.includes(name)) return false;
      if (element.matches("[type=checkbox], [type=radio]")) element.checked = fields[name] === value;
      else element.value = fields[name] ?? value;
      return element.value !== value || element.checked !== checked;
    });
    for (const element of filled) element.dispatchEvent(new Event("input", { bubbles: true }));
  };

  const showOffer = async () => {
    const key = "unsaved" in form.dataset ? null : await findCopy();
    const copy = key && read(key);
    if (!copy) return;
    const wasSaved = copy.sent && isNewerThan(copy) && place.dataset.by === user;
    if (wasSaved || textOf(copy) === typed()) {
      forget(key);
      return;
    }
    const text = offer.querySelector("[role=status]");
    const day = { day: "numeric", month: "short" };
    offer.hidden = false;
    text.textContent = text.dataset.kept.replace("{}", inWords(new Date(copy.at), day));
    if (isNewerThan(copy)) text.append(" ", text.dataset.newer);
    offer.addEventListener("click", ({ target }) => {
      const button = target.closest("button");
      if (!button) return;
      forget(key);
      offer.hidden = true;
      field("title").focus();
      if (!("keptBack" in button.dataset)) return;
      fillIn(copy);
      keep();
    });
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

  const end = (text) => {
    away = true;
    keep();
    stop(text);
  };

  const again = () => {
    if (leaving) return; // which gives up what is being sent
    failed = away = true;
    keepHere();
    soon(pause);
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  };

  const note = async (answer, body) => {
    const { text, fields } = await answer.json();
    failed = !answer.ok;
    away = false;
    pause = FIRST_PAUSE;
    if (answer.status === 409) {
      stop(text);
      return;
    }
    say(text || place.dataset.on, failed ? "failed" : text && "saved");
    if (!failed) {
      stored = body;
      if (offer.hidden) forget(); // an earlier copy stays until one has chosen
    }
    if (!fields) return; // else at least all was stored that is right
    field("autosaves").value = "";
    for (const [name, value] of Object.entries(fields)) field(name).value = value;
    if (place.dataset.address) history.replaceState(history.state, "", place.dataset.address);
  };

  async function save() {
    if (!isOn() || sending || leaving || !isChanged()) return;
    const body = typed();
    addToken();
    sending = true;
    try {
      const answer = await request({ signal: AbortSignal.timeout(PATIENCE) });
      if (answer.status === 401) end(place.dataset.ended);
      else if (answer.status >= 500 || answer.status === 429) again();
      else if (!(answer.headers.get("Content-Type") ?? "").includes("json")) end(place.dataset.refused);
      else await note(answer, body);
    } catch {
      again();
    } finally {
      sending = false;
    }
    if (!failed && isChanged()) soon();
  }

  form.addEventListener("input", (event) => {
    if (event.target === toggle) return;
    soon();
    if (stopped && away) keep();
    else if (isOn() && (away || !navigator.onLine)) keepHere();
  });
  form.addEventListener("change", (event) => { if (event.target !== toggle) soon(AFTER_LEAVING); });
  toggle.addEventListener("change", () => {
    say(toggle.checked ? place.dataset.on : place.dataset.off);
    if (toggle.checked) soon(AFTER_LEAVING);
    else clearTimeout(timer);
  });
  window.addEventListener("online", () => soon(0));
  form.addEventListener("submit", (event) => {
    if (event.submitter?.formTarget === "_blank") return;
    leaving = true;
    if ((offer.hidden && read(KEY)) || !navigator.onLine) keep({ sent: true });
  });
  window.addEventListener("pageshow", () => { leaving = false; });
  window.addEventListener("beforeunload", (event) => {
    if (leaving || !isChanged()) return;
    if (isOn() && !failed && !sending && navigator.onLine && typed().length < MOST_WHILE_LEAVING) {
      addToken();
      request({ keepalive: true }).catch(() => {});
    } else if (!isKept()) {
      event.preventDefault();
    }
  });

  showOffer();
})();
