/* The list of featured deals: moved by dragging, by its buttons and by its numbers, without a round trip.
   Nothing is saved before Save is pressed; without script every button sends the whole form instead. */
(() => {
  const PART = "featured";
  const part = () => document.getElementById(PART);
  const list = () => part().querySelector("[data-list]");
  const rows = () => [...(list()?.children ?? [])];

  const say = (text) => {
    part().querySelector("[data-status]").textContent = `${text} Not saved yet.`;
    document.dispatchEvent(new CustomEvent("announce", { detail: { text } }));
  };

  const renumber = () => {
    rows().forEach((row, index) => { row.querySelector('[name="position"]').value = index + 1; });
    part().querySelector("[data-count]").textContent = rows().length;
    part().querySelector("[data-empty]").hidden = rows().length > 0;
  };

  const tellPlace = (row) => {
    renumber();
    say(`“${row.dataset.title}” is now at position ${rows().indexOf(row) + 1} of ${rows().length}.`);
  };

  const place = (row, index) => {
    const others = rows().filter((other) => other !== row);
    const target = Math.min(Math.max(index, 0), others.length);
    list().insertBefore(row, others[target] ?? null);
    tellPlace(row);
  };

  const moveBy = (button, row, step) => {
    const index = rows().indexOf(row) + step;
    if (index < 0 || index >= rows().length) {
      say(`“${row.dataset.title}” is at the ${step < 0 ? "top" : "bottom"} already.`);
    } else {
      place(row, index);
    }
    button.focus(); // a moved element loses the focus
  };

  const takeOut = (row) => {
    const next = row.nextElementSibling ?? row.previousElementSibling;
    const picked = document.getElementById(`pick-${row.querySelector('[name="deal"]').value}`);
    row.remove();
    renumber();
    (next?.querySelector('[value^="remove:"]') ?? document.getElementById("pasted")).focus();
    say(`“${row.dataset.title}” is taken out.`);
    if (picked) send("order"); // brings the deals to choose from up to date
  };

  // What needs the server is sent by htmx: it answers with the whole part, and the focus is kept by the button's id.
  const send = (value) => {
    const values = Object.fromEntries([["do", value]]);
    htmx.ajax("POST", part().action, { source: part(), target: `#${PART}`, swap: "outerHTML", values });
  };

  document.addEventListener("submit", (event) => {
    if (event.target.id !== PART) return;
    const button = event.submitter;
    const [action] = (button?.value ?? "order").split(":");
    if (action === "save") return;
    event.preventDefault();
    const row = button?.closest("[data-row]");
    if (row && action === "up") moveBy(button, row, -1);
    else if (row && action === "down") moveBy(button, row, 1);
    else if (row && action === "remove") takeOut(row);
    else send(button?.value ?? "order");
  });

  document.addEventListener("change", (event) => {
    if (event.target.name !== "position" || !event.target.closest(`#${PART}`)) return;
    const row = event.target.closest("[data-row]");
    const number = Number.parseInt(event.target.value, 10);
    if (Number.isNaN(number)) {
      renumber();
      say(`That is no position; “${row.dataset.title}” stays where it was.`);
      return;
    }
    const hadFocus = document.activeElement === event.target;
    place(row, number - 1);
    if (hadFocus) event.target.focus();
  });

  // Enter in a field does what the button beside it does.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.target.closest?.(`#${PART}`)) return;
    if (event.target.dataset.enter) {
      event.preventDefault();
      document.getElementById(event.target.dataset.enter).click();
    } else if (event.target.name === "position") {
      event.preventDefault();
      event.target.dispatchEvent(new Event("change", { bubbles: true }));
    }
  });

  const start = () => {
    const apply = part().querySelector("[data-order]");
    apply.hidden = true; // a number takes effect as soon as it is typed
    if (!list()) return;
    for (const grip of part().querySelectorAll("[data-grip]")) grip.hidden = false;
    Sortable.create(list(), {
      handle: "[data-grip]",
      animation: matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 150,
      onEnd: (event) => { if (event.oldIndex !== event.newIndex) tellPlace(event.item); },
    });
  };

  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id !== PART) return;
    start();
    const text = part().dataset.said;
    if (text) document.dispatchEvent(new CustomEvent("announce", { detail: { text } }));
  });
  start();
})();
