/* The editor of questions: Ctrl and Enter ask, a column's name goes where the cursor is, an answer is announced. */
(() => {
  const form = document.querySelector("[data-ask]");
  const editor = form?.querySelector("textarea[name=sql]");
  if (!editor) return;

  form.querySelector("[data-key-hint]").hidden = false;
  editor.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      form.requestSubmit(form.querySelector("button[type=submit]:not([formaction]):not([disabled])"));
    }
  });

  for (const name of document.querySelectorAll("[data-insert]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name.dataset.insert;
    button.title = form.dataset.insertTitle;
    button.addEventListener("click", () => {
      editor.setRangeText(name.dataset.insert, editor.selectionStart, editor.selectionEnd, "end");
      editor.focus();
    });
    name.replaceChildren(button);
  }

  document.addEventListener("htmx:load", (event) => {
    const text = event.detail.elt.dataset?.answered;
    if (text) document.dispatchEvent(new CustomEvent("announce", { detail: { text } }));
  });
})();
