/* What all pages load, the first part of site.js and of desk.js. */
import "./htmx.js";
import "./menus.js";
import "./times.js";
import "./notices.js";
import "./kept_copies.js";
import "./addresses.js";
import "./passkeys.js";
import "./printing.js";
