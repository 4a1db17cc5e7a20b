/* What forms of the CMS kept in this browser (cms/deals/autosave.js) goes when its user signs out, when another user
   opens a page of the CMS, and after 30 days. */
(() => {
  const LONGEST = 30 * 86_400_000; // milliseconds
  const user = document.querySelector("[data-user]")?.dataset.user;

  const drop = (isOver) => {
    try {
      for (const key of Object.keys(localStorage)) {
        if (key.startsWith("kept:") && isOver(key)) localStorage.removeItem(key);
      }
    } catch {
      // Where storage is forbidden nothing was kept.
    }
  };
  const isOld = (key) => Date.now() - Date.parse(JSON.parse(localStorage.getItem(key)).at) > LONGEST;

  drop((key) => isOld(key) || (user && !key.startsWith(`kept:${user}:`)));
  document.addEventListener("submit", (event) => {
    if (event.target.matches("[data-sign-out]")) drop(() => true);
  });
})();
