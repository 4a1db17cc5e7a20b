/* Times in the visitor's own zone, and the time left of each deal as it passes. */
(() => {
  const SOON = 48 * 3600 * 1000;
  const UNITS = [
    [86_400_000, "day"],
    [3_600_000, "hour"],
    [60_000, "minute"],
  ];
  const texts = document.getElementById("texts").dataset;
  const language = document.documentElement.lang;
  const inWords = new Intl.DateTimeFormat(language, {
    day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short",
  });

  const left = (milliseconds) => {
    if (milliseconds < 60_000) return texts.momentLeft;
    for (const [size, unit] of UNITS) {
      // The same words as the server's: 36 hours say more than "1 day".
      if (milliseconds >= size * (unit === "minute" ? 1 : 2)) {
        const count = Math.floor(milliseconds / size);
        const long = new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" });
        return texts.left.replace("{}", long.format(count));
      }
    }
  };

  const showZones = (root) => {
    for (const time of root.querySelectorAll("time[data-moment]")) {
      if (time.closest(".frame")) continue; // its forms take times in the zone that the page was made for
      time.title = time.textContent.trim();
      time.textContent = inWords.format(new Date(time.dateTime));
      delete time.dataset.moment;
    }
  };

  const tick = () => {
    for (const time of document.querySelectorAll("time[data-time-left]")) {
      const remaining = new Date(time.dateTime) - Date.now();
      const state = time.closest("[data-state]");
      const text = remaining > 0 ? left(remaining) : texts.expired;
      if (time.textContent !== text) time.textContent = text;
      if (!time.title) time.title = texts.until.replace("{}", inWords.format(new Date(time.dateTime)));
      if (remaining <= 0) {
        state.dataset.state = "expired";
        time.closest("[data-deal]")?.classList.add("over");
        delete time.dataset.timeLeft;
      } else if (remaining <= SOON) {
        state.dataset.state = "ending";
      }
    }
  };

  const start = () => {
    showZones(document);
    tick();
    setInterval(tick, 15_000);
  };

  document.addEventListener("htmx:load", (event) => {
    showZones(event.detail.elt.parentNode ?? document);
    tick();
  });
  start();
})();
