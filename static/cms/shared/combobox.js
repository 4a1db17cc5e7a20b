/* Fields that offer options while one types: a text field those that the site answers with, a select its own. */
/*! combobox-nav, Copyright (c) 2018 GitHub, MIT License */
import Combobox from "@github/combobox-nav";

const made = (tag, properties) => Object.assign(document.createElement(tag), properties);

const say = (field) => {
  for (const type of ["input", "change"]) field.dispatchEvent(new Event(type, { bubbles: true }));
};

// Puts a list below a text field. `ask` returns its rows, or has the site send them; `take` gets the row that is taken.
const combobox = (input, { ask, take, leave }) => {
  const box = made("div", { className: "combobox" });
  const ariaLabel = input.labels[0].firstChild.textContent.trim();
  const list = made("div", { className: "combobox-list", id: `${input.id}-options`, role: "listbox", ariaLabel, hidden: true });
  input.classList.replace("input", "select");
  input.before(box);
  box.append(input, list);
  const moves = new Combobox(input, list, { tabInsertsSuggestions: false });
  let wanted = false;

  const show = () => {
    moves.stop();
    list.hidden = !wanted || !list.childElementCount;
    if (!list.hidden) moves.start();
  };
  const open = (typed) => {
    wanted = true;
    const rows = ask(typed);
    if (!rows) return;
    list.replaceChildren(...rows);
    moves.firstOptionSelectionMode = typed && input.value ? "selected" : "none";
    show();
  };
  const close = () => {
    wanted = false;
    show();
  };

  input.addEventListener("input", (event) => { if (event.isTrusted) open(true); });
  input.addEventListener("click", () => { if (list.hidden) open(false); });
  input.addEventListener("focus", () => { if (input.value && input.ariaInvalid === "true") open(false); });
  input.addEventListener("blur", () => {
    close();
    leave(list);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" && list.hidden) open(false);
    else if (event.key === "Escape" && !list.hidden) close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  list.addEventListener("mousedown", (event) => event.preventDefault()); // the field keeps the focus
  list.addEventListener("htmx:afterSettle", show);
  list.addEventListener("combobox-commit", ({ target }) => {
    close();
    take(target);
  });
  if (input.autofocus) input.focus(); // which it lost by being moved
};

// Where a brand may be created, the last option ticks the box that says so.
const forBrand = (input) => {
  const box = input.form.elements.namedItem("brand_new");
  const create = (wanted) => {
    if (!box) return;
    box.closest(".field").hidden = true;
    box.checked = wanted;
    document.querySelector("[data-brand-new]").hidden = !wanted;
  };
  create(box?.checked);
  combobox(input, {
    ask: (typed) => {
      if (typed) create(false);
      input.dispatchEvent(new Event("combobox"));
    },
    take: ({ dataset }) => {
      input.value = dataset.value;
      create("create" in dataset);
      say(input);
    },
    leave: (list) => {
      const isUnknown = list.querySelector("[data-create]")?.dataset.value === input.value.trim();
      if (box && list.childElementCount) input.ariaInvalid = String(isUnknown && !box.checked);
    },
  });
};

// A select stays what is sent. A text field stands for it, and goes back to its value where it names no option.
const forSelect = (select) => {
  const [{ text: placeholder }, ...options] = select.options;
  const input = made("input", { placeholder });
  for (const { name, value } of select.attributes) if (name !== "name") input.setAttribute(name, value);
  const plain = (text) => text.trim().toLowerCase();
  const reset = () => { input.value = select.value && select.selectedOptions[0].text; };
  const choose = (typed) => {
    const option = options.find(({ text }) => plain(text) === plain(typed)) ?? select;
    const value = typed && option.value;
    if (select.value === value) return reset();
    select.value = value;
    say(select);
  };
  select.removeAttribute("id");
  select.hidden = true;
  select.before(input);
  for (const type of ["input", "change"]) select.addEventListener(type, reset);
  reset();
  combobox(input, {
    ask: (typed) => options
      .filter(({ text }) => !typed || plain(text).includes(plain(input.value)))
      .map(({ text }) => made("div", { role: "option", textContent: text })),
    take: ({ textContent }) => choose(textContent),
    leave: () => choose(input.value),
  });
};

htmx.onLoad((part) => {
  for (const field of part.querySelectorAll("[data-combobox]")) (field.matches("select") ? forSelect : forBrand)(field);
});
