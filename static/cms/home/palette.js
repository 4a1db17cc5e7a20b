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

  // What can be done on the page and with what is ticked there: its own links and buttons, pressed from here.
  const verbs = () => [...document.querySelectorAll(".bar-actions :is(a, button), .selection button")]
    .filter((element) => element.getClientRects().length && !element.disabled && element.tabIndex >= 0 && element.textContent.trim());
  const fits = (name, words) => {
    const known = name.toLowerCase().split(/\s+/);
    return words.toLowerCase().split(/\s+/).every((word) => known.some((one) => one.startsWith(word)));
  };
  const addVerbs = (words) => {
    const group = document.createElement("div");
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", list.dataset.here);
    const title = document.createElement("div");
    title.className = "palette-group";
    title.setAttribute("role", "presentation");
    title.textContent = list.dataset.here;
    group.append(title);
    verbs().forEach((element, number) => {
      const name = element.textContent.trim().replace(/\s+/g, " ");
      if (words && !fits(name, words)) return;
      const option = document.createElement("div");
      option.className = "palette-choice";
      option.id = `palette-here-${number}`;
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      const icon = element.querySelector(".icon");
      if (icon) option.append(icon.cloneNode(true));
      option.append(name);
      option.addEventListener("click", () => {
        dialog.close();
        element.click();
      });
      group.append(option);
    });
    if (group.children.length > 1) {
      list.querySelector("[aria-disabled]")?.remove();
      list[words ? "prepend" : "append"](group);
    }
  };

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
    addVerbs(shownFor.replace(/^>/, "").trim());
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
