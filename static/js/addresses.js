/* What is typed in an address while the fields for another country are on their way is put into those. */
(() => {
  let typed = [];
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    if (!detail.target.matches(".address-fields")) return;
    const sent = detail.requestConfig.formData;
    const fields = [...detail.target.querySelectorAll("[name]")];
    typed = fields.filter(({ name, value }) => value !== (sent.get(name) ?? "")).map(({ id, value }) => ({ id, value }));
  });
  document.addEventListener("htmx:afterSwap", () => {
    for (const { id, value } of typed.splice(0)) {
      const field = document.getElementById(id);
      if (field) field.value = value;
    }
  });
})();
