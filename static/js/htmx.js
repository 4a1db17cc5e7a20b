/* htmx, under its name for all other scripts. */
import htmx from "htmx.org";

window.htmx = htmx;
