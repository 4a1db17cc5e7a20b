/* What shop and account pages load. Each part does nothing where the page lacks what it serves. */
import "./htmx.js";
import "./menus.js";
import "./times.js";
import "./notices.js";
import "./search.js";
import "../shopping/cart/cart.js";
import "./kept_copies.js";
import "./passkeys.js";
import "./printing.js";
import "../shopping/catalogue/deals.js";
import "../shopping/catalogue/sharing.js";
import "../shopping/checkout/checkout.js";
