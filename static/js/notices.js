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

  // A conflict is swapped in like a success, where it is a form with its errors; a whole error page is not.
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    if (detail.xhr.status < 400 || !detail.serverResponse.includes(' id="error"')) return;
    detail.target = noticeText;
    detail.selectOverride = "#error";
    detail.swapOverride = "innerHTML";
    detail.isError = true;
  });
  document.addEventListener("htmx:responseError", () => { notice.hidden = false; });
  for (const failure of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(failure, () => {
      noticeText.replaceChildren(document.getElementById("no-connection").content.cloneNode(true));
      notice.hidden = false;
    });
  }
  document.addEventListener("htmx:afterRequest", (event) => { if (event.detail.successful) close(); });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-notice-close]")) close();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !notice.hidden) close();
  });
})();
