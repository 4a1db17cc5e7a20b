/* Keys that do things: what has data-shortcut="n", "g d", "mod+s" or "alt+PageUp" is clicked, or focused if it is typed into;
data-shortcut-typing holds a second one, for where one types.

"mod" is Ctrl or Cmd. Single keys do nothing while one types, nor when they are turned off (data-shortcuts="off"). */
(() => {
  const PAUSE = 1500; // milliseconds between two keys that belong together
  const help = document.getElementById("shortcuts");
  const on = document.querySelector("[data-shortcuts]")?.dataset.shortcuts === "on";
  let before = "";
  let at = 0;

  const isShown = (element) => element.getClientRects().length > 0 || element.closest("nav, .sr-only, [data-shortcut-menu]");
  const find = (keys) => [...document.querySelectorAll(`:is([data-shortcut="${CSS.escape(keys)}"], [data-shortcut-typing="${CSS.escape(keys)}"])`)].find(isShown);
  const isTyping = (element) =>
    element.isContentEditable || (element.matches("input, textarea, select") && !element.matches("[type=checkbox], [type=radio], [type=button], [type=submit]"));

  const use = (element) => {
    if (element.matches("input, textarea, select")) {
      element.focus();
      element.select?.();
    } else {
      element.click();
    }
  };

  const search = () => {
    const box = find("/") ?? [...document.querySelectorAll("main input[type=search]")].find(isShown);
    if (box) use(box);
    else document.dispatchEvent(new Event("palette"));
  };

  const showHelp = () => {
    const rows = help.querySelector("[data-shortcuts-here]");
    rows.replaceChildren();
    for (const element of document.querySelectorAll("main [data-shortcut]")) {
      if (!isShown(element) || element.closest("nav, dialog, [data-shortcut-menu]")) continue;
      const row = document.createElement("div");
      const name = document.createElement("dt");
      name.textContent = element.dataset.shortcutLabel || element.getAttribute("aria-label") || element.textContent.trim();
      const keys = document.createElement("dd");
      for (const key of element.dataset.shortcut.split(/[ +]/)) {
        const cap = document.createElement("kbd");
        cap.className = "kbd";
        cap.textContent = { mod: "Ctrl", shift: "Shift", enter: "Enter" }[key] ?? key;
        keys.append(cap, " ");
      }
      row.append(name, keys);
      rows.append(row);
    }
    help.querySelector("[data-shortcuts-title]").hidden = !rows.children.length;
    help.showModal();
  };

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
    if ((event.ctrlKey || event.metaKey) && !event.altKey) {
      const element = find(`mod+${event.shiftKey ? "shift+" : ""}${event.key.toLowerCase()}`);
      if (element && !(event.key === "z" && isTyping(event.target))) {
        event.preventDefault();
        element.click();
      }
      return;
    }
    if (event.altKey) {
      const element = find(`alt+${event.key}`);
      if (element) {
        event.preventDefault();
        element.click();
      }
      return;
    }
    if (!on || event.key.length !== 1 || isTyping(event.target)) return;
    const keys = before && Date.now() - at < PAUSE ? `${before} ${event.key}` : event.key;
    before = keys === "g" ? "g" : "";
    at = Date.now();
    const element = find(keys);
    if (element && keys !== "/" && keys !== "?") {
      event.preventDefault();
      use(element);
    } else if (event.key === "/") {
      event.preventDefault();
      search();
    } else if (event.key === "?" && help) {
      event.preventDefault();
      showHelp();
    }
  });

  document.addEventListener("click", (event) => {
    if (event.target === help || event.target.closest("[data-dialog-close]")) event.target.closest("dialog")?.close();
  });
})();
