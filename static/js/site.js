/* What shop and account pages load. Each part does nothing where the page lacks what it serves. */
import "./shared.js";
import "./search.js";
import "../shopping/cart/cart.js";
import "../shopping/catalogue/deals.js";
import "../shopping/catalogue/sharing.js";
import "../shopping/checkout/checkout.js";
