/* The keyboard's cursor in a list: j and k move it, x ticks its row, other keys press what says so in the row (data-key).

The rows are one stop for Tab; from the row on, Tab leads through what is in it. */
(() => {
  const on = document.querySelector("[data-shortcuts]")?.dataset.shortcuts === "on";
  const rows = () => [...document.querySelectorAll("[data-rows] tbody tr")];
  const controls = (row) => row.querySelectorAll("a, button, input, select, textarea, summary");
  const isTyping = (element) => element.matches("select, textarea, input:not([type=checkbox], [type=radio], [type=submit])");

  let here = ""; // the id of the cursor's row, which may come anew after its edit
  const put = (row, { shown = true } = {}) => {
    if (shown) here = row.id;
    for (const other of rows()) {
      const isHere = other === row;
      other.toggleAttribute("data-cursor", isHere && shown);
      other.tabIndex = isHere ? 0 : -1;
      for (const control of controls(other)) control.tabIndex = isHere ? 0 : -1;
    }
  };
  const go = (row) => {
    put(row);
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  };

  let held = false; // whether the focus was in a row itself, which nothing gives back to one that comes anew
  document.addEventListener("htmx:beforeSwap", () => {
    held = rows().includes(document.activeElement);
  });

  const begin = () => {
    const all = rows();
    if (!all.length || all.some((row) => row.hasAttribute("data-cursor"))) return;
    const again = all.find((row) => row.id === here);
    put(again ?? all[0], { shown: Boolean(again) });
    if (again && held) again.focus({ preventScroll: true });
  };

  document.addEventListener("keydown", (event) => {
    if (!on || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector("dialog[open], details[data-popup][open]")) return;
    const all = rows();
    if (!all.length) return;
    const row = all.find((one) => one.contains(document.activeElement)) ?? all.find((one) => one.hasAttribute("data-cursor"));
    if (event.key === "j" || event.key === "k") {
      const to = row ? all[all.indexOf(row) + (event.key === "j" ? 1 : -1)] : all[0];
      if (to) go(to);
    } else if (row && event.key === "x") {
      row.querySelector("input[type=checkbox]")?.click();
    } else if (row && (event.key !== "Enter" || event.target === row)) {
      const control = [...row.querySelectorAll("[data-key]")].find((one) => one.dataset.key.split(" ").includes(event.key));
      if (!control) return;
      control.click();
    } else {
      return;
    }
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);

  document.addEventListener("focusin", (event) => {
    const row = event.target.closest("[data-rows] tbody tr");
    if (row && !row.hasAttribute("data-cursor")) put(row);
  });
  document.addEventListener("htmx:afterSettle", begin); // until then htmx gives back the attributes of before
  begin();
})();
