/* The command palette: opens on Ctrl or Cmd and K, moves among its options by arrow keys, follows the chosen one. */
(() => {
  const dialog = document.getElementById("palette");
  if (!dialog) return;
  const input = dialog.querySelector("[role=combobox]");
  const list = dialog.querySelector("[role=listbox]");
  let shownFor = ""; // the words whose options are shown
  let follow = false; // Enter came before the options for what is typed
  const options = () => [...list.querySelectorAll("[role=option]:not([aria-disabled])")];
  const chosen = () => list.querySelector("[aria-selected=true]");

  const choose = (option) => {
    chosen()?.setAttribute("aria-selected", "false");
    if (option) {
      option.setAttribute("aria-selected", "true");
      option.scrollIntoView({ block: "nearest" });
      input.setAttribute("aria-activedescendant", option.id);
    } else {
      input.removeAttribute("aria-activedescendant");
    }
  };

  const open = () => {
    if (dialog.open || document.querySelector("dialog[open]")) return;
    dialog.showModal();
    input.value = "";
    follow = false;
    input.dispatchEvent(new Event("palette-open"));
  };

  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      if (dialog.open) dialog.close();
      else open();
    }
  });
  document.addEventListener("palette", open);
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-palette-open]") && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      open();
    }
    if (event.target === dialog) dialog.close();
  });

  list.addEventListener("htmx:afterSettle", (event) => {
    shownFor = new URL(event.detail.pathInfo.finalRequestPath, location.href).searchParams.get("q") ?? "";
    choose(options()[0]);
    if (!follow || !dialog.open || shownFor !== input.value) return;
    follow = false;
    chosen()?.click();
  });
  input.addEventListener("input", () => { follow = false; });
  input.addEventListener("keydown", (event) => {
    const all = options();
    const place = all.indexOf(chosen());
    const to = {
      ArrowDown: all[(place + 1) % all.length],
      ArrowUp: all[(place - 1 + all.length) % all.length],
    }[event.key];
    if (to) {
      event.preventDefault();
      choose(to);
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (shownFor === input.value) chosen()?.click();
      else follow = true;
    }
  });
})();
