/* The other tabs of a check know which of its rows are not ticked. */
document.addEventListener("change", ({ target }) => {
  if (!target.matches(".check-table input")) return;
  const boxes = [...document.querySelectorAll(".check-table [name=keep]:not(:checked)")];
  for (const tab of document.querySelectorAll("#import-tabs a")) {
    const address = new URL(tab.href);
    address.searchParams.set("without", boxes.map((box) => box.value));
    tab.href = address;
  }
});
