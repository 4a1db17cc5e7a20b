/*
 * A file that is chosen in a form (data-drop), or dropped onto it, is sent at once. One that is larger than its input
 * says (data-most-bytes) is not sent: the server would refuse it unread.
 */
(() => {
  for (const form of document.querySelectorAll("form[data-drop]")) {
    const input = form.querySelector("input[type=file]");
    const note = form.querySelector("[data-too-large]");
    const mark = (over) => form.toggleAttribute("data-over", over);
    const help = input.getAttribute("aria-describedby") ?? "";
    const send = () => {
      if (!input.files.length) return;
      note.hidden = input.files[0].size <= Number(input.dataset.mostBytes);
      input.setAttribute("aria-invalid", String(!note.hidden));
      input.setAttribute("aria-describedby", note.hidden ? help : `${help} ${note.id}`.trim());
      if (note.hidden) return form.requestSubmit();
      input.value = ""; // the form may still be sent, with rows
      input.focus();
    };
    input.addEventListener("change", send);
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
      send();
    });
  }
})();
