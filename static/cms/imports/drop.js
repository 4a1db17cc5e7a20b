/*
 * A file can be dropped onto a form (data-drop) with one file input; it is sent at once. One that is larger than the
 * input says (data-most-bytes) is not sent: the server would refuse it unread.
 */
(() => {
  for (const form of document.querySelectorAll("form[data-drop]")) {
    const input = form.querySelector("input[type=file]");
    const note = form.querySelector("[data-too-large]");
    const mark = (over) => form.toggleAttribute("data-over", over);
    const isTooLarge = () => [...input.files].some((file) => file.size > Number(input.dataset.mostBytes));
    const help = input.getAttribute("aria-describedby") ?? "";
    const look = () => {
      note.hidden = !isTooLarge();
      input.setAttribute("aria-invalid", String(!note.hidden));
      input.setAttribute("aria-describedby", note.hidden ? help : `${help} ${note.id}`.trim());
    };
    for (const hint of form.querySelectorAll("[data-drop-hint]")) hint.hidden = false;
    input.addEventListener("change", look);
    form.addEventListener("submit", (event) => {
      look();
      if (note.hidden) return;
      event.preventDefault();
      input.focus();
    });
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
