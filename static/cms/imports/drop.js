/* A file can be dropped onto a form (data-drop) with one file input; it is sent at once. */
(() => {
  for (const form of document.querySelectorAll("form[data-drop]")) {
    const input = form.querySelector("input[type=file]");
    const mark = (over) => form.toggleAttribute("data-over", over);
    for (const hint of form.querySelectorAll("[data-drop-hint]")) hint.hidden = false;
    form.addEventListener("dragover", (event) => {
      if (![...event.dataTransfer.types].includes("Files")) return;
      event.preventDefault();
      mark(true);
    });
    form.addEventListener("dragleave", (event) => {
      if (!form.contains(event.relatedTarget)) mark(false);
    });
    form.addEventListener("drop", (event) => {
      if (!event.dataTransfer.files.length) return;
      event.preventDefault();
      mark(false);
      const one = new DataTransfer();
      one.items.add(event.dataTransfer.files[0]);
      input.files = one.files;
      form.requestSubmit();
    });
  }
})();
