/* What the form of a deal does by itself: it says what publishing lacks, reads a link that is pasted,
   puts its end off, and publishes at a time. */
(() => {
  const form = document.getElementById("edit-form");
  if (!form) return;
  const needed = [...form.querySelectorAll("[data-needed]")];
  const count = form.querySelector("[data-needed-count]");
  const publishing = [...document.querySelectorAll("[data-publish]")];
  const [publish] = publishing;
  const now = { label: publish.textContent, verb: publish.value };
  const field = (name) => form.elements.namedItem(name);

  // A brand that is neither known nor to be created is no brand yet: the page says so, and combobox.js.
  const isThere = ({ name, value, ariaInvalid }) => value.trim() && !(name === "brand" && ariaInvalid === "true");

  const show = () => {
    for (const row of needed) {
      const done = row.dataset.needed.split(" ").some((name) => isThere(field(name)));
      row.toggleAttribute("data-done", done);
    }
    const shown = needed.filter((row) => row.getClientRects().length);
    if (count) count.textContent = `${shown.filter((row) => "done" in row.dataset).length} / ${shown.length}`;
    const scheduled = field("publish_at")?.value;
    for (const button of publishing) button.value = button.value.replace(/^\w+/, scheduled ? "schedule" : now.verb);
    publish.textContent = scheduled ? publish.dataset.scheduled : now.label;
  };

  const DAY = 86_400_000;
  const ends = form.querySelector("[data-ends]");
  ends.hidden = false;
  ends.addEventListener("click", (event) => {
    const { later } = event.target.dataset;
    if (later === undefined) return; // beside the buttons
    const end = field("expires_at");
    // Days by the clock: what the field holds has no time zone.
    const from = Date.parse(`${end.value || ends.dataset.now}Z`);
    end.value = later ? new Date(from + Number(later) * DAY).toISOString().slice(0, 16) : "";
    end.dispatchEvent(new Event("input", { bubbles: true }));
    end.dispatchEvent(new Event("change", { bubbles: true }));
  });

  // A whole link that is pasted where there is none, or into a title that is empty, is read at once.
  const reader = form.querySelector("[data-read]");
  form.addEventListener("paste", (event) => {
    const link = event.clipboardData.getData("text/plain").trim();
    const places = [field("link"), field("title")];
    if (reader?.dataset.read !== "pasted" || !places.includes(event.target)) return;
    if (!/^https?:\/\/\S+\.\S+$/i.test(link) || event.target.value || field("link").value) return;
    event.preventDefault();
    field("link").value = link;
    form.requestSubmit(reader);
  });
  form.addEventListener("submit", ({ submitter }) => {
    if (submitter && submitter === reader) reader.textContent = reader.dataset.reading;
  });

  form.querySelector("[data-schedule]")?.remove();
  form.addEventListener("input", show);
  form.addEventListener("change", show);
  form.addEventListener("focusout", show);
  show();
})();
