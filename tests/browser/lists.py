"""What lists of the CMS are held to: where their rows begin, and how many of them one sees."""

from playwright.sync_api import Page


def measures(page: Page) -> tuple[float, int]:
    """Return where the first row begins, in pixels, and how many whole rows stand above the foot."""
    top, number = page.evaluate(
        """() => {
          const rows = [...document.querySelectorAll("[data-rows] tbody tr")].map((row) => row.getBoundingClientRect());
          const foot = document.querySelector(".page-foot").getBoundingClientRect().top;
          return [rows[0].top, rows.filter((row) => row.bottom <= foot).length];
        }"""
    )
    return top, number
