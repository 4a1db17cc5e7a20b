/* Passkeys: a button has one made, or has one sign, and sends what came of it with its form.

Without this script, or in a browser without passkeys, the buttons stay hidden, and codes work. */
(() => {
  if (!window.PublicKeyCredential?.parseRequestOptionsFromJSON) return;

  for (const part of document.querySelectorAll("[data-passkey], [data-needs-passkeys]")) part.hidden = false;
  for (const part of document.querySelectorAll("[data-without-passkeys]")) part.hidden = true;

  const sign = async (part) => {
    const answer = await fetch(part.dataset.passkey, { cache: "no-store", credentials: "same-origin" });
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(await answer.json());
    return navigator.credentials.get({ publicKey });
  };

  const make = (part) => {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(JSON.parse(part.dataset.options));
    return navigator.credentials.create({ publicKey });
  };

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-passkey] button");
    if (!button) return;
    const part = button.closest("[data-passkey]");
    const trouble = part.querySelector("[role=alert]");
    trouble.hidden = button.disabled = true;
    try {
      const credential = await (part.dataset.options ? make(part) : sign(part));
      const form = button.closest("form");
      form.querySelector("input[name$=passkey], input[name=made]").value = JSON.stringify(credential.toJSON());
      form.requestSubmit();
    } catch {
      trouble.hidden = button.disabled = false;
      button.focus();
    }
  });
})();
