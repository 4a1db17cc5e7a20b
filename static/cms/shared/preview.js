/* What a form is about as shoppers will see it: made by the site from what is typed, a moment after each change. */
(() => {
  const panel = document.querySelector("[data-preview]");
  if (!panel) return;
  const form = document.querySelector("[data-previewed]");
  const opener = document.querySelector("[data-preview-open]");
  const frame = panel.querySelector("iframe");
  const stage = panel.querySelector(".preview-stage");
  const note = panel.querySelector("[data-preview-note]");
  const widths = [...panel.querySelectorAll("[data-preview-width]")];
  const dark = panel.querySelector("[data-preview-dark]");
  const settings = document.querySelector(".preview-switch [data-preview-close]");
  const beside = window.matchMedia(`(min-width: ${panel.dataset.beside}px)`); // a column of its own
  const covers = window.matchMedia(`(max-width: ${panel.dataset.over}px)`); // else it takes the place of the settings
  const AFTER = 400; // milliseconds without a change
  const AGAIN = 5000;

  const remembered = (name) => {
    try { return localStorage.getItem(`preview-${name}`); } catch { return null; }
  };
  const remember = (name, value) => {
    try { localStorage.setItem(`preview-${name}`, value); } catch { /* it then lasts for this page */ }
  };

  let loaded = false;
  let shown = null; // what the preview was made of, or was refused for
  let timer = 0;
  let asking = null;

  const page = () => frame.contentDocument?.getElementById("previewed");

  const typed = () => {
    const data = new FormData(form);
    for (const name of ["version", "changes", "against", "seen", "autosaves", "autosave", "picture_file"]) data.delete(name);
    for (const field of form.querySelectorAll("[data-not-previewed] [name]")) data.delete(field.name);
    return new URLSearchParams(data).toString();
  };

  const say = (text) => {
    note.textContent = text;
    note.hidden = !text;
  };

  const show = async () => {
    const body = typed();
    if (!loaded || panel.hidden || body === shown) return;
    asking?.abort();
    const mine = asking = new AbortController();
    try {
      const answer = await fetch(panel.dataset.address, {
        method: "POST",
        body,
        headers: { "HX-Request": "true", "Content-Type": "application/x-www-form-urlencoded" },
        signal: mine.signal,
      });
      if (answer.status === 401) {
        say(panel.dataset.ended);
        return;
      }
      if (answer.status >= 500 || answer.status === 429) throw new Error(answer.status);
      shown = body;
      if (!answer.ok) { // asking the same again would be refused again
        say(panel.dataset.refused);
        return;
      }
      page().innerHTML = await answer.text();
      say("");
    } catch (error) {
      if (error.name === "AbortError") return;
      say(panel.dataset.away);
      soon(AGAIN);
    }
  };

  const soon = (wait = AFTER) => {
    clearTimeout(timer);
    timer = setTimeout(show, wait);
  };

  const fit = () => {
    if (panel.hidden) return;
    const width = Number(remembered("width") ?? 390);
    const scale = Math.min(1, stage.clientWidth / width);
    frame.style.width = `${width}px`;
    frame.style.height = `${stage.clientHeight / scale}px`;
    frame.style.transform = `scale(${scale})`;
    for (const button of widths) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.previewWidth) === width));
    }
  };

  const light = () => {
    const system = window.matchMedia("(prefers-color-scheme: dark)").matches ? "evening" : "daylight";
    const theme = remembered("theme") ?? document.documentElement.dataset.theme ?? system;
    dark.setAttribute("aria-pressed", String(theme === "evening"));
    if (page()) frame.contentDocument.documentElement.dataset.theme = theme;
  };

  const load = () => {
    if (frame.src) return;
    frame.addEventListener("load", () => {
      loaded = Boolean(page());
      shown = null;
      light();
      show();
    });
    frame.src = frame.dataset.src;
  };

  // Where it lies over the page, that cannot be used meanwhile.
  const cover = (covered) => {
    panel.classList.toggle("preview-over", covered);
    for (let part = panel; part !== document.body; part = part.parentElement) {
      for (const other of part.parentElement.children) {
        if (other !== part && !other.matches("script, dialog")) other.inert = covered;
      }
    }
  };

  const arrange = (open) => {
    cover(open && covers.matches);
    panel.hidden = !open;
    opener.setAttribute("aria-pressed", String(open));
    settings?.setAttribute("aria-pressed", String(!open));
    if (!open) return;
    load();
    fit();
    soon(0);
  };

  const close = () => {
    if (!covers.matches) remember("open", "no");
    arrange(false);
    opener.focus();
  };

  form.addEventListener("input", () => soon());
  form.addEventListener("change", () => soon());
  form.addEventListener("reset", () => soon());
  opener.addEventListener("click", (event) => {
    event.preventDefault();
    if (!panel.hidden) {
      if (!beside.matches) close();
      return;
    }
    if (!covers.matches) remember("open", "yes");
    arrange(true);
    if (covers.matches) panel.querySelector("[data-preview-close]").focus();
  });
  panel.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.previewWidth) {
      remember("width", button.dataset.previewWidth);
      fit();
    } else if ("previewDark" in button.dataset) {
      remember("theme", dark.getAttribute("aria-pressed") === "true" ? "daylight" : "evening");
      light();
    } else {
      close();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && panel.classList.contains("preview-over")) close();
  });
  document.addEventListener("click", () => setTimeout(light)); // the page's own theme may have changed
  new ResizeObserver(fit).observe(stage);
  const begin = () => arrange(beside.matches || (!covers.matches && remembered("open") === "yes"));
  for (const query of [covers, beside]) query.addEventListener("change", begin);
  if (settings) {
    settings.hidden = false;
    settings.addEventListener("click", () => { if (!panel.hidden) close(); });
  }
  begin();
})();
