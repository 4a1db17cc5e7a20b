/* What is typed at checkout is kept as it is typed: it survives a reload and detours. */
(() => {
  const form = document.querySelector("form[data-kept-as-typed]");
  if (!form) return;
  let waiting = 0;
  const stop = () => {
    clearTimeout(waiting);
    waiting = 0;
  };
  const keep = () => {
    stop();
    const body = new FormData(form);
    body.set("do", "keep");
    fetch(form.action, { method: "POST", body, keepalive: true }).catch(() => {});
  };
  form.addEventListener("input", () => {
    stop();
    waiting = setTimeout(keep, 300);
  });
  form.addEventListener("submit", stop); // whose answer keeps it
  addEventListener("pagehide", () => waiting && keep());
})();
