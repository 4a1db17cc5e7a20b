/* The list of featured deals: moved by dragging, by keys, by its buttons and by its numbers, without a round trip.
   Nothing is saved before Save is pressed; without script every button sends the whole form instead. */
import Sortable from "sortablejs";

(() => {
  const form = document.getElementById("featured");
  if (!form) return;
  const arranged = document.getElementById("arranged"); // what htmx renews
  const changes = document.querySelector("[data-changes]");
  const list = () => form.querySelector("[data-list]");
  const status = () => form.querySelector("[data-status]");
  const texts = () => status().dataset;
  const rows = () => [...list().children];
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;

  const idOf = (row) => row.querySelector('[name="deal"]').value;
  const byId = (id) => rows().find((row) => idOf(row) === id);
  const announce = (text) => document.dispatchEvent(new CustomEvent("announce", { detail: { text } }));

  const say = (text) => {
    status().textContent = text;
    announce(text);
  };

  // Of places in the saved list those that were moved: all but a longest run that still stands in its order, of two such
  // runs one without the deal that was moved last.
  const moved = (places, last) => {
    const isBetter = (run, best) => run.length > best.length || (run.length === best.length && best.includes(last));
    const longest = (runs) => runs.reduce((best, run) => (isBetter(run, best) ? run : best), []);
    const runs = [];
    for (const place of places) runs.push([...longest(runs.filter((run) => run.at(-1) < place)), place]);
    return places.filter((place) => !longest(runs).includes(place));
  };

  let unsaved = 0;
  let lastMoved = "";
  const compare = () => {
    const saved = list().dataset.saved.split(" ").filter(Boolean);
    const places = new Map(rows().map((row) => [row, saved.indexOf(idOf(row))]));
    const there = [...places.values()].filter((place) => place >= 0);
    const others = moved(there, saved.indexOf(lastMoved));
    for (const [row, place] of places) {
      row.querySelector("[data-was]").textContent = others.includes(place) ? texts().was.replace("{}", place + 1) : "";
    }
    unsaved = others.length + (places.size - there.length) + (saved.length - there.length);
    changes.textContent = unsaved === 1 ? changes.dataset.one : changes.dataset.many.replace("{}", unsaved);
    changes.hidden = !unsaved || Boolean(form.querySelector('[name="plan"]'));
  };

  const renumber = () => {
    rows().forEach((row, index) => { row.querySelector('[name="position"]').value = index + 1; });
    form.querySelector("[data-count]").textContent = rows().length;
    form.querySelector("[data-nothing]").hidden = rows().length > 0;
    compare();
    form.dispatchEvent(new Event("change")); // for the preview
  };

  const tellPlace = (row) => {
    lastMoved = idOf(row);
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

  const moveBy = (row, step) => {
    const focused = row.contains(document.activeElement) ? document.activeElement : null;
    const index = rows().indexOf(row) + step;
    if (index < 0 || index >= rows().length) {
      say((step < 0 ? texts().top : texts().bottom).replace("{}", row.dataset.title));
    } else {
      place(row, index);
    }
    focused?.focus(); // a moved element loses the focus
  };

  const takeOut = (row) => {
    const next = row.nextElementSibling ?? row.previousElementSibling;
    const hadFocus = row.contains(document.activeElement);
    const stale = "fault" in row.dataset ? "arranged" : document.getElementById(`pick-${idOf(row)}`) && "choices";
    row.remove();
    renumber();
    if (hadFocus) (next?.querySelector('[value^="remove:"]') ?? document.getElementById("picker-words")).focus();
    say(texts().out.replace("{}", row.dataset.title));
    return stale && send("order", stale); // brings up to date what else tells of it
  };

  // What needs the server is sent by htmx: it answers with the whole part, and the focus is kept by the button's id.
  const send = (value, id = "arranged") => htmx.ajax("POST", form.action, {
    source: form, target: `#${id}`, swap: "innerHTML", values: { do: value },
  });

  let saving = false;
  const act = async (value) => {
    const [action, id] = value.split(":");
    const row = byId(id);
    if (row && action === "up") return moveBy(row, -1);
    if (row && action === "down") return moveBy(row, 1);
    if (row && action === "remove") return takeOut(row);
    if (action !== "save" && action !== "plan") return send(value, action === "page" ? "choices" : "arranged");
    saving = true;
    return form.requestSubmit(document.querySelector(`[form="featured"][name="do"][value="${action}"]`));
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

  // Adds the first deal that the words find; the next words can be typed at once.
  const addFirst = async (field) => {
    await send("pick", "choices");
    const first = form.querySelector('[data-choices] [value^="add:"]');
    if (!first) return;
    await send(first.value);
    document.getElementById(field)?.select();
  };

  // One after the other: an answer still on its way would undo what is done meanwhile.
  let waiting = 0;
  let turn = Promise.resolve();
  const inTurn = (todo) => {
    waiting += 1;
    turn = turn.then(todo).catch(() => {}).then(() => { waiting -= 1; });
  };

  document.addEventListener("submit", (event) => {
    if (event.target !== form || event.submitter?.hasAttribute("formaction")) return;
    const { value = "order" } = event.submitter ?? {};
    if ((value === "save" || value === "plan") && (saving || !waiting)) {
      saving = true;
      return;
    }
    event.preventDefault();
    inTurn(() => act(value));
  });

  addEventListener("beforeunload", (event) => { if (unsaved && !saving && !form.querySelector('[name="plan"]')) event.preventDefault(); });

  form.addEventListener("change", (event) => {
    const { id, name, value } = event.target;
    const hadFocus = document.activeElement === event.target;
    if (name === "position") inTurn(() => placeByNumber(id, value, hadFocus));
    if ("pick" in event.target.dataset) inTurn(() => send("pick", "choices"));
  });

  document.addEventListener("keydown", (event) => {
    const { target, key } = event;
    if (event.defaultPrevented || !(target.form === form || form.contains(target))) return;
    const row = target.closest("[data-row]");
    if (row && event.altKey && (key === "ArrowUp" || key === "ArrowDown")) {
      event.preventDefault();
      inTurn(() => moveBy(row, key === "ArrowUp" ? -1 : 1));
    } else if (row && key === "Delete" && target.name !== "position") {
      event.preventDefault();
      inTurn(() => takeOut(row));
    } else if (key === "Enter" && target.dataset.enter) { // what the button beside it does
      event.preventDefault();
      document.getElementById(target.dataset.enter).click();
    } else if (key === "Enter" && target.name === "at") {
      event.preventDefault();
      document.querySelector('[form="featured"][value="plan"]').click();
    } else if (key === "Enter" && target.name === "words") {
      event.preventDefault();
      if (target.value.trim()) inTurn(() => addFirst(target.id));
    } else if (key === "Enter" && target.name === "position") {
      event.preventDefault();
      target.dispatchEvent(new Event("change", { bubbles: true }));
    }
  });

  const start = () => {
    form.querySelector("[data-drop]").hidden = false;
    form.querySelector("[data-press]").hidden = true;
    for (const grip of form.querySelectorAll("[data-grip]")) grip.hidden = false;
    Sortable.create(list(), {
      group: { name: "featured", pull: false, put: true },
      handle: "[data-grip]",
      animation: calm ? 0 : 150,
      onEnd: (event) => { if (event.oldIndex !== event.newIndex) tellPlace(event.item); },
      onAdd: (event) => {
        const place = event.newIndex + 1;
        event.item.remove();
        inTurn(() => send(`add:${event.item.dataset.id}:${place}`));
      },
    });
    compare();
  };
  const offer = () => {
    const group = { name: "featured", pull: "clone", put: false };
    Sortable.create(form.querySelector("[data-choices]"), { group, sort: false, draggable: "[data-id]", filter: "button", preventOnFilter: false });
  };

  document.addEventListener("htmx:afterSwap", (event) => {
    if (!event.detail.target.matches("#arranged, #choices")) return;
    offer();
    if (event.detail.target !== arranged) return;
    start();
    form.dispatchEvent(new Event("change"));
    const text = texts().said;
    if (text) announce(text);
  });
  start();
  offer();
})();
