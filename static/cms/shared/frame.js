/* The frame of a page: the menu's width, and what was just done, which goes after 8 s unless one is at it. */
(() => {
  const STAYS = 8000;
  const frame = document.querySelector(".frame");
  const messages = () => document.getElementById("messages"); // a part of a page may bring new ones

  // At once, without waiting for the site, which keeps it for the next page.
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-menu-form]")) return;
    const button = event.target.querySelector("button");
    frame.dataset.menu = button.value === "yes" ? "small" : "";
    setTimeout(() => { button.value = button.value === "yes" ? "no" : "yes"; });
  });

  // A row of tabs shows the one that is open; the page stays where it is.
  for (const tab of document.querySelectorAll(".tabs-row [aria-current]")) {
    const row = tab.closest(".tabs-row");
    row.scrollLeft += Math.max(0, tab.getBoundingClientRect().right - row.getBoundingClientRect().right + 16);
  }

  const isWanted = (message) => message.matches(":hover, :focus-within");
  const leave = (message) => setTimeout(() => {
    if (isWanted(message)) leave(message);
    else message.remove();
  }, STAYS);
  const begin = () => {
    for (const message of messages().querySelectorAll(".alert:not([data-begun])")) {
      message.dataset.begun = "";
      if (message.matches(".alert-error, .alert-warning")) message.querySelector("[data-message-close]").hidden = false;
      else leave(message);
    }
  };

  // A live region is heard when it changes, so what came with the page is put there a moment later.
  const came = [...messages().children];
  if (came.length) {
    messages().replaceChildren();
    setTimeout(() => {
      messages().append(...came);
      begin();
    }, 50);
  }
  document.addEventListener("htmx:afterSettle", begin);
  document.addEventListener("click", (event) => event.target.closest("[data-message-close]")?.closest(".alert").remove());
})();
