/* What screen readers hear of changes on the page, and notes on requests that failed. */
(() => {
  const announcer = document.getElementById("announce");
  const notice = document.querySelector("[data-notice]");
  const noticeText = document.getElementById("notice");

  // Any script says something by this event, so that there is one live region: {detail: {text}}.
  document.addEventListener("announce", (event) => {
    announcer.textContent = "";
    setTimeout(() => { announcer.textContent = event.detail.text; }, 50);
  });

  const close = () => {
    notice.hidden = true;
    noticeText.replaceChildren();
  };

  document.addEventListener("htmx:responseError", () => { notice.hidden = false; });
  for (const failure of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(failure, () => {
      noticeText.replaceChildren(document.getElementById("no-connection").content.cloneNode(true));
      notice.hidden = false;
    });
  }
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-notice-close]")) close();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !notice.hidden) close();
  });
})();
