/* Where two editors' texts stand side by side, the chosen one stands in the field, and typing in it chooses one's own. */
(() => {
  const PICTURE = '[data-difference="picture_kept"]';
  const controlOf = (row) => row.closest("form").elements.namedItem(row.dataset.difference);
  const hasControl = (row) => row.querySelector("[data-result]") !== null;

  const read = (control) => (control.type === "checkbox" && !control.checked ? "" : control.value);
  const write = (control, text) => {
    if (control.type === "checkbox") control.checked = text !== "";
    else control.value = text;
    control.dispatchEvent?.(new Event("change", { bubbles: true })); // several radio buttons have none
  };

  const choose = ({ target }) => {
    const ofPicture = target.closest("#picture-now, [data-picture-drop]") && document.querySelector(PICTURE);
    const row = target.closest("[data-difference]") ?? ofPicture;
    if (!row) return;
    if (!target.name.startsWith("choice_")) {
      row.querySelector('[name^="choice_"][value="mine"]').checked = true;
    } else if (hasControl(row)) {
      const control = controlOf(row);
      if (target.value === "theirs") row.dataset.mine = read(control);
      write(control, row.dataset[target.value]);
    }
  };

  document.addEventListener("input", choose);
  document.addEventListener("picture-chosen", choose);
  document.addEventListener("click", ({ target }) => {
    const all = target.closest("[data-choose-all]");
    if (!all) return;
    const chosen = `[name^="choice_"][value="${all.value}"]`;
    for (const radio of all.closest("[data-conflict]").querySelectorAll(chosen)) radio.click();
  });

  for (const row of document.querySelectorAll('[data-difference]:has([name^="choice_"][value="theirs"]:checked)')) {
    if (hasControl(row)) write(controlOf(row), row.dataset.theirs);
  }
})();
