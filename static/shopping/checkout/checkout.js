/* What is typed at checkout stays in its tab, whatever one looks at meanwhile, until it is ordered. */
(() => {
  const NAME = "checkout";
  const form = document.querySelector("form[data-typed-by]");
  if (!form) {
    sessionStorage.removeItem(NAME);
    return;
  }
  const by = form.dataset.typedBy;
  const names = [...new FormData(form).keys()].filter((name) => form.elements[name].type !== "hidden");
  const kept = JSON.parse(sessionStorage.getItem(NAME));
  if (kept?.by === by) {
    for (const name of names) form.elements[name].value = kept.typed[name] ?? form.elements[name].value;
  }
  form.addEventListener("input", () => {
    const typed = Object.fromEntries(names.map((name) => [name, form.elements[name].value]));
    sessionStorage.setItem(NAME, JSON.stringify({ by, typed }));
  });
})();
