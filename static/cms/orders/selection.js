/* Boxes to tick in a list: one for all of the page, and how many are ticked. */
(() => {
  const form = document.querySelector("[data-selection]");
  if (!form) return;
  const all = form.querySelector("[data-select-all]");
  const count = form.querySelector("[data-selection-count]");
  const boxes = () => [...form.querySelectorAll("input[type=checkbox][name]")];

  const show = () => {
    const ticked = boxes().filter((box) => box.checked).length;
    count.textContent = ticked ? count.dataset.some.replace("{n}", ticked) : count.dataset.none;
    all.checked = ticked > 0 && ticked === boxes().length;
    all.indeterminate = ticked > 0 && !all.checked;
  };

  form.addEventListener("change", (event) => {
    if (event.target === all) for (const box of boxes()) box.checked = all.checked;
    show();
  });
  document.addEventListener("htmx:load", show); // rows may have come
  window.addEventListener("pageshow", show); // Back brings ticks along
  all.hidden = count.hidden = false;
  show();
})();
