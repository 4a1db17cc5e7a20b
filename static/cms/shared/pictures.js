/* A picture is sent as soon as it is chosen, dropped or pasted, and its focal point is set on it. Without this script
   the file goes along with its form, and the focal point is two numbers. */
(() => {
  const fields = () => document.querySelector("[data-picture]");
  const inputOf = (box) => box.querySelector('input[type="file"]');
  const errorOf = (box) => box.querySelector("#picture-error");
  const say = (text) => document.dispatchEvent(new CustomEvent("announce", { detail: { text } }));
  const changed = (element) => element.dispatchEvent(new Event("input", { bubbles: true }));

  // ---- sending ----
  const carriesFiles = (transfer) => [...(transfer?.types ?? [])].includes("Files");

  const fail = (box, text) => { errorOf(box).textContent = text; };

  const send = (box, file) => {
    const drop = box.querySelector("[data-picture-drop]");
    errorOf(box).replaceChildren();
    if (file.size > Number(drop.dataset.max)) {
      inputOf(box).value = "";
      fail(box, drop.dataset.tooLarge);
      return;
    }
    htmx.trigger(inputOf(box), "picture-chosen");
  };

  // What comes by another way than the button goes into the input first: there the form has it, whatever happens.
  const take = (box, file) => {
    const files = new DataTransfer();
    files.items.add(file);
    inputOf(box).files = files.files;
    box.querySelector("[data-picture-drop]").scrollIntoView({ block: "nearest" });
    send(box, file);
  };

  const pictureIn = (list) => [...list].find((file) => file.type.startsWith("image/"));

  document.addEventListener("change", (event) => {
    const box = event.target.closest("[data-picture]");
    if (box && event.target === inputOf(box) && event.target.files.length) send(box, event.target.files[0]);
  });

  // A file that misses its place must not take the browser away from a half-written form.
  document.addEventListener("dragover", (event) => {
    const box = fields();
    if (!box || !carriesFiles(event.dataTransfer)) return;
    event.preventDefault();
    const over = event.target.closest?.("[data-picture-drop]");
    event.dataTransfer.dropEffect = over ? "copy" : "none";
    box.querySelector("[data-picture-drop]").toggleAttribute("data-over", Boolean(over));
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) fields()?.querySelector("[data-picture-drop]").removeAttribute("data-over");
  });
  document.addEventListener("drop", (event) => {
    const box = fields();
    if (!box || !carriesFiles(event.dataTransfer)) return;
    event.preventDefault();
    box.querySelector("[data-picture-drop]").removeAttribute("data-over");
    const file = event.dataTransfer.files[0];
    if (file && event.target.closest?.("[data-picture-drop]")) take(box, pictureIn(event.dataTransfer.files) ?? file);
  });

  // Spreadsheets and word processors put a picture of the text beside the text: that is not what is meant.
  document.addEventListener("paste", (event) => {
    const box = fields();
    const file = pictureIn(event.clipboardData?.files ?? []);
    if (!box || !file || event.clipboardData.types.includes("text/plain")) return;
    event.preventDefault();
    take(box, file);
  });

  const progressOf = (element) => element.closest("[data-picture]").querySelector("[data-picture-progress]");
  const isUpload = (event) => event.target.matches?.('[data-picture] input[type="file"]');

  document.addEventListener("htmx:beforeRequest", (event) => {
    if (!isUpload(event)) return;
    const progress = progressOf(event.target);
    progress.value = 0;
    progress.hidden = false;
  });
  document.addEventListener("htmx:xhr:progress", (event) => {
    const { loaded, total } = event.detail;
    if (isUpload(event) && total) progressOf(event.target).value = (100 * loaded) / total;
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    if (!isUpload(event)) return;
    progressOf(event.target).hidden = true;
    const box = event.target.closest("[data-picture]");
    const { xhr } = event.detail;
    if (xhr.status === 200 || xhr.status === 422) event.target.value = "";
    else fail(box, box.querySelector("[data-picture-drop]").dataset.notSent);
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target.id !== "picture-now") return;
    const box = event.target.closest("[data-picture]");
    show(box);
    say(box.querySelector("[data-picture-drop]").dataset.stored);
    changed(document.getElementById("picture-kept"));
  });

  // ---- the focal point ----
  const percent = (part, whole) => Math.min(100, Math.max(0, Math.round((100 * part) / whole)));
  const inputs = (focal) => [focal.querySelector('[name="picture_x"]'), focal.querySelector('[name="picture_y"]')];

  const draw = (focal) => {
    for (const [input, name] of inputs(focal).map((input, at) => [input, at ? "--focal-y" : "--focal-x"])) {
      focal.style.setProperty(name, `${percent(Number(input.value), 100)}%`);
    }
  };

  const move = (focal, x, y) => {
    const [left, top] = inputs(focal);
    left.value = percent(x, 100);
    top.value = percent(y, 100);
    draw(focal);
  };

  const done = (focal) => {
    const [left, top] = inputs(focal);
    say(focal.dataset.said.replace("{x}", left.value).replace("{y}", top.value));
    changed(left);
    changed(top);
  };

  const show = (root) => {
    for (const focal of root.querySelectorAll("[data-focal]")) {
      focal.querySelector("[data-focal-mark]").hidden = false;
      draw(focal);
    }
  };

  const point = (event, frame) => {
    const { left, top, width, height } = frame.getBoundingClientRect();
    move(frame.closest("[data-focal]"), (100 * (event.clientX - left)) / width, (100 * (event.clientY - top)) / height);
  };
  document.addEventListener("pointerdown", (event) => {
    const frame = event.target.closest("[data-focal-picture]");
    if (!frame || event.button) return;
    event.preventDefault();
    frame.setPointerCapture(event.pointerId);
    frame.querySelector("[data-focal-mark]").focus();
    point(event, frame);
  });
  document.addEventListener("pointermove", (event) => {
    const frame = event.target.closest?.("[data-focal-picture]");
    if (frame?.hasPointerCapture(event.pointerId)) point(event, frame);
  });
  document.addEventListener("pointerup", (event) => {
    const frame = event.target.closest?.("[data-focal-picture]");
    if (frame?.hasPointerCapture(event.pointerId)) done(frame.closest("[data-focal]"));
  });
  const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  document.addEventListener("keydown", (event) => {
    const way = event.target.matches?.("[data-focal-mark]") && WAYS[event.key];
    if (!way) return;
    event.preventDefault();
    const focal = event.target.closest("[data-focal]");
    const [left, top] = inputs(focal);
    const step = event.shiftKey ? 10 : 1;
    move(focal, Number(left.value) + way[0] * step, Number(top.value) + way[1] * step);
    done(focal);
  });
  document.addEventListener("input", (event) => {
    const focal = event.target.closest?.("[data-focal]");
    if (focal && inputs(focal).includes(event.target)) draw(focal);
  });

  for (const box of document.querySelectorAll("[data-picture]")) {
    box.querySelector("[data-picture-ways]").hidden = false;
    show(box);
  }
})();
