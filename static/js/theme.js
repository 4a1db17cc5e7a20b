/* Light or dark: the system's wish, until the visitor chooses otherwise. Runs before the first paint. */
(() => {
  const root = document.documentElement;
  const systemDark = window.matchMedia("(prefers-color-scheme: dark)");
  const systemTheme = () => (systemDark.matches ? "evening" : "daylight");

  const remembered = () => {
    try {
      const theme = localStorage.getItem("theme");
      return theme === "daylight" || theme === "evening" ? theme : null;
    } catch {
      return null; // storage may be forbidden
    }
  };

  const remember = (theme) => {
    try {
      if (theme) localStorage.setItem("theme", theme);
      else localStorage.removeItem("theme");
    } catch {
      // The choice then lasts for this page.
    }
  };

  const show = (theme) => {
    if (theme) root.dataset.theme = theme;
    else delete root.dataset.theme;
    const dark = (theme ?? systemTheme()) === "evening";
    for (const button of document.querySelectorAll("[data-theme-toggle]")) {
      button.hidden = false;
      button.setAttribute("aria-pressed", String(dark));
      for (const icon of button.querySelectorAll("[data-theme-icon]")) {
        icon.hidden = (icon.dataset.themeIcon === "evening") === dark;
      }
    }
    for (const group of document.querySelectorAll("[data-theme-choices]")) {
      group.hidden = false;
      for (const choice of group.querySelectorAll("[data-theme-choice]")) {
        choice.setAttribute("aria-pressed", String(choice.dataset.themeChoice === (theme ?? "")));
      }
    }
  };

  show(remembered());
  document.addEventListener("DOMContentLoaded", () => show(remembered()));
  systemDark.addEventListener("change", () => show(remembered()));
  window.addEventListener("storage", () => show(remembered()));
  document.addEventListener("click", (event) => {
    const choice = event.target.closest("[data-theme-choice]");
    let theme = choice?.dataset.themeChoice || null;
    if (event.target.closest("[data-theme-toggle]")) {
      // A choice that equals the system's is no choice: the page follows the system again.
      theme = (root.dataset.theme ?? systemTheme()) === "evening" ? "daylight" : "evening";
      if (theme === systemTheme()) theme = null;
    } else if (!choice) {
      return;
    }
    remember(theme);
    show(theme);
  });
})();
