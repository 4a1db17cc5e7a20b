/* Ticks in a list: all of the page at once, with Shift all in between, and how many there are. */
(() => {
  const boxes = () => [...document.querySelectorAll("td.column-tick input")];

  const show = () => {
    const count = document.querySelector("[data-ticks]");
    if (!count) return;
    const { elements } = count.form ?? count.closest("form");
    const whole = document.querySelector("[data-ticks-page]");
    const all = Boolean(elements.all?.checked); // all that match, also on other pages
    const ticked = boxes().filter((box) => box.checked).length;
    const { ticks, ticksOne = ticks, ticksMore = 0 } = count.dataset; // of a button: what is on no row, too
    const number = ticked + Number(ticksMore);
    const words = number === 1 ? ticksOne : ticks;
    const text = all ? count.dataset.all : words.replace("{n}", number.toLocaleString(document.documentElement.lang));
    if (count.textContent !== text) count.textContent = text;
    count.hidden = false;
    for (const box of boxes()) box.disabled = all;
    if (whole) {
      whole.closest("label").hidden = false;
      whole.disabled = all;
      whole.checked = ticked > 0 && ticked === boxes().length;
      whole.indeterminate = ticked > 0 && !whole.checked;
    }
  };

  let last = null; // the box ticked last: with Shift, all up to the next one follow it
  document.addEventListener("click", (event) => {
    const box = event.target;
    const list = boxes();
    if (!list.includes(box)) return;
    if (event.shiftKey && list.includes(last)) {
      const [from, to] = [list.indexOf(last), list.indexOf(box)].sort((one, other) => one - other);
      for (const between of list.slice(from, to + 1)) between.checked = box.checked;
    }
    last = box;
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-ticks-page]")) for (const box of boxes()) box.checked = event.target.checked;
    if (event.target.matches(".column-tick input, .selection *")) show();
  });
  document.addEventListener("reset", () => setTimeout(show)); // boxes are still ticked while it is told
  document.addEventListener("htmx:load", show); // rows may have come
  window.addEventListener("pageshow", show); // Back brings ticks along
  show();
})();
