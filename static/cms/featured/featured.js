/* The list of featured deals: moved by dragging, by its buttons and by its numbers, without a round trip.
   Nothing is saved before Save is pressed; without script every button sends the whole form instead. */
(() => {
  const PART = "featured";
  const part = () => document.getElementById(PART);
  const list = () => part().querySelector("[data-list]");
  const status = () => part().querySelector("[data-status]");
  const texts = () => status().dataset;
  const rows = () => [...(list()?.children ?? [])];

  const idOf = (row) => row.querySelector('[name="deal"]').value;

  const say = (text) => {
    status().textContent = texts().note.replace("{}", text);
    document.dispatchEvent(new CustomEvent("announce", { detail: { text } }));
  };

  const renumber = () => {
    rows().forEach((row, index) => { row.querySelector('[name="position"]').value = index + 1; });
    part().querySelector("[data-count]").textContent = rows().length;
    part().querySelector("[data-empty]").hidden = rows().length > 0;
  };

  const tellPlace = (row) => {
    renumber();
    const place = rows().indexOf(row) + 1;
    const words = texts().placed.replace("{place}", place).replace("{all}", rows().length);
    say(words.replace("{title}", row.dataset.title));
  };

  const place = (row, index) => {
    const others = rows().filter((other) => other !== row);
    const target = Math.min(Math.max(index, 0), others.length);
    list().insertBefore(row, others[target] ?? null);
    tellPlace(row);
  };

  const moveBy = (row, step, buttonId) => {
    const index = rows().indexOf(row) + step;
    if (index < 0 || index >= rows().length) {
      say((step < 0 ? texts().top : texts().bottom).replace("{}", row.dataset.title));
    } else {
      place(row, index);
    }
    document.getElementById(buttonId).focus(); // a moved element loses the focus
  };

  const takeOut = (row) => {
    const next = row.nextElementSibling ?? row.previousElementSibling;
    const hadFocus = row.contains(document.activeElement);
    const picked = document.getElementById(`pick-${idOf(row)}`);
    row.remove();
    renumber();
    if (hadFocus) (next?.querySelector('[value^="remove:"]') ?? document.getElementById("pasted")).focus();
    say(texts().out.replace("{}", row.dataset.title));
    return picked && send("order", "picker"); // brings the deals to choose from up to date
  };

  // What needs the server is sent by htmx: it answers with the whole part, and the focus is kept by the button's id.
  const send = (value, id = PART) => {
    const values = Object.fromEntries([["do", value]]);
    return htmx.ajax("POST", part().action, { source: part(), target: `#${id}`, swap: "outerHTML", values });
  };

  let saving = false;
  const act = (value, buttonId) => {
    const [action, id] = value.split(":");
    const row = rows().find((each) => idOf(each) === id);
    if (row && action === "up") return moveBy(row, -1, buttonId);
    if (row && action === "down") return moveBy(row, 1, buttonId);
    if (row && action === "remove") return takeOut(row);
    if (action !== "save" && action !== "plan") return send(value);
    saving = true;
    return part().requestSubmit(part().querySelector(`[name="do"][value="${action}"]`));
  };

  const placeByNumber = (fieldId, typed, hadFocus) => {
    const field = document.getElementById(fieldId);
    const row = field.closest("[data-row]");
    const number = Number.parseInt(typed, 10);
    if (Number.isNaN(number)) {
      renumber();
      say(texts().noPosition.replace("{}", row.dataset.title));
      return;
    }
    place(row, number - 1);
    if (hadFocus) field.focus();
  };

  // One after the other: an answer still on its way would undo what is done meanwhile.
  let waiting = 0;
  let turn = Promise.resolve();
  const inTurn = (todo) => {
    waiting += 1;
    turn = turn.then(todo).catch(() => {}).then(() => { waiting -= 1; });
  };

  document.addEventListener("submit", (event) => {
    if (event.target.id !== PART || event.submitter?.hasAttribute("formaction")) return;
    const { value = "order", id = "" } = event.submitter ?? {};
    if ((value === "save" || value === "plan") && (saving || !waiting)) return;
    event.preventDefault();
    inTurn(() => act(value, id));
  });

  document.addEventListener("change", (event) => {
    if (event.target.name !== "position" || !event.target.closest(`#${PART}`)) return;
    const { id, value } = event.target;
    const hadFocus = document.activeElement === event.target;
    inTurn(() => placeByNumber(id, value, hadFocus));
  });

  // Enter in a field does what the button beside it does.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.defaultPrevented || !event.target.closest?.(`#${PART}`)) return;
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
