/* Ticks in the list of deals: all of the page at once, how many there are, and the value beside the change that needs it. */
(() => {
  const boxes = () => [...document.querySelectorAll('input[form="bulk"][name="deal"]')];

  const show = () => {
    const form = document.querySelector("[data-bulk]");
    if (!form) return;
    const count = form.querySelector("[data-bulk-count]");
    const whole = document.querySelector("[data-bulk-page]");
    const all = form.elements.all.checked;
    const ticked = boxes().filter((box) => box.checked).length;
    const { none, some, all: everything } = count.dataset;
    const text = all ? everything : ticked ? some.replace("{n}", ticked) : none;
    if (count.textContent !== text) count.textContent = text;
    count.hidden = false;
    form.querySelector("[data-bulk-do]").hidden = !all && !ticked;
    for (const box of boxes()) box.disabled = all;
    if (whole) {
      whole.closest("label").hidden = false;
      whole.disabled = all;
      whole.checked = ticked > 0 && ticked === boxes().length;
      whole.indeterminate = ticked > 0 && !whole.checked;
    }
    for (const part of form.querySelectorAll("[data-bulk-value]")) {
      const wanted = part.dataset.bulkValue.split(" ").includes(form.elements.action.value);
      part.hidden = !wanted;
      for (const control of part.querySelectorAll("input, select")) control.disabled = !wanted;
    }
  };

  let last = null; // the box ticked last: with Shift, all up to the next one follow it
  document.addEventListener("click", (event) => {
    const box = event.target;
    if (!box.matches?.('input[form="bulk"][name="deal"]')) return;
    const list = boxes();
    if (event.shiftKey && last && list.includes(last)) {
      const [from, to] = [list.indexOf(last), list.indexOf(box)].sort((one, other) => one - other);
      for (const between of list.slice(from, to + 1)) between.checked = box.checked;
    }
    last = box;
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-bulk-page]")) for (const box of boxes()) box.checked = event.target.checked;
    if (event.target.matches('[data-bulk-page], [form="bulk"], #bulk *')) show();
  });
  document.addEventListener("htmx:load", show); // rows may have come
  window.addEventListener("pageshow", show); // Back brings ticks along
  show();
})();
