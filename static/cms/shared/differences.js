/* Where two editors' texts stand side by side, typing in one's own chooses it. */
(() => {
  document.addEventListener("input", (event) => {
    const mine = event.target.closest("[data-mine]");
    if (!mine) return;
    mine.closest("[data-difference]").querySelector('input[type="radio"][value="mine"]').checked = true;
  });
})();
