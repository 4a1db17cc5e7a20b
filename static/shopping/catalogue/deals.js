/*
 * Further deals as one scrolls, on top of the plain Next link. After some pages the visitor has to ask for more, so
 * that the foot of the page can be reached. The address follows the page of deals in view, and Back from a deal
 * returns to its card, also where the browser has not kept the page.
 */
(() => {
  const AHEAD = "800px";
  const PAGES_BY_THEMSELVES = 4;
  const list = document.getElementById("deal-list");
  if (!list) return;
  const texts = document.getElementById("texts").dataset;

  const pages = [{ first: list.firstElementChild, address: location.href }];
  let asked = false;
  let shownBefore = list.children.length;

  const nextLink = () => document.querySelector("#pager [data-next]");
  const announce = (text) => document.dispatchEvent(new CustomEvent("announce", { detail: { text } }));
  const loadMore = () => {
    const link = nextLink();
    if (link && window.htmx) window.htmx.trigger(link, "more");
  };

  const nearEnd = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting) && pages.length < PAGES_BY_THEMSELVES) loadMore();
  }, { rootMargin: `0px 0px ${AHEAD} 0px` });
  const watchEnd = () => {
    nearEnd.disconnect();
    if (nextLink()) nearEnd.observe(nextLink());
  };

  document.addEventListener("click", (event) => {
    const link = event.target.closest("#pager [data-next]");
    if (!link || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    asked = true;
    loadMore();
  });

  list.addEventListener("htmx:beforeSwap", () => { shownBefore = list.children.length; });

  document.addEventListener("htmx:afterSwap", (event) => {
    const added = list.children.length - shownBefore;
    const first = list.children[shownBefore];
    // htmx says it once for each part that it put in.
    if (event.detail.target !== list || pages.at(-1).first === first) return;
    if (first) pages.push({ first, address: new URL(event.detail.pathInfo.requestPath, location.href).href });
    announce([added && texts.more.replace("{}", added), !nextLink() && texts.all].filter(Boolean).join(" "));
    if (asked) first?.querySelector(".offer-link").focus();
    asked = false;
  });

  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.target !== list) return;
    // What it leads to stands above already.
    document.querySelector("#pager [data-previous]")?.remove();
    watchEnd();
  });

  const pageOf = (card) => pages.findLast(({ first }) =>
    first === card || first.compareDocumentPosition(card) & Node.DOCUMENT_POSITION_FOLLOWING);

  const follow = (page, state = history.state) => {
    if (page && (page.address !== location.href || state !== history.state)) {
      history.replaceState(state, "", page.address);
    }
  };

  let waiting = false;
  document.addEventListener("scroll", () => {
    if (waiting || pages.length === 1) return;
    waiting = true;
    setTimeout(() => {
      waiting = false;
      follow(pages.findLast(({ first }) => first.getBoundingClientRect().top < innerHeight / 2) ?? pages[0]);
    }, 200);
  }, { passive: true });

  list.addEventListener("click", (event) => {
    const card = event.target.closest("li");
    if (!card || !event.target.closest("a")) return;
    follow(pageOf(card), { ...history.state, deal: card.querySelector("[data-deal]").dataset.deal });
    history.scrollRestoration = "manual";
  });

  const cameFrom = history.state?.deal;
  const card = cameFrom && list.querySelector(`[data-deal="${CSS.escape(cameFrom)}"]`);
  const showCard = () => card?.scrollIntoView({ block: "center", behavior: "instant" });
  if (cameFrom) {
    showCard();
    card?.querySelector(".offer-link").focus({ preventScroll: true });
    history.replaceState({ ...history.state, deal: undefined }, "");
  }
  // Not before the browser had its turn, or it would scroll to where the longer page once stood.
  window.addEventListener("load", () => {
    showCard(); // what loaded late may have moved it
    setTimeout(() => { history.scrollRestoration = "auto"; showCard(); }, 500);
  });
  watchEnd();
})();
