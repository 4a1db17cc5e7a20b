/* Helps to write Markdown in a textarea with data-markdown: buttons above it (data-markdown-tool), Ctrl+B and Ctrl+I, and
   what a document pastes, which the address in data-markdown turns into Markdown. All of it can be undone. */
(() => {
  const MOST = 60000; // characters that are turned; of more, only the words are pasted

  const type = (area, text) => {
    area.focus();
    if (!document.execCommand("insertText", false, text)) area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
  };

  const replace = (area, from, to, text) => {
    area.setSelectionRange(from, to);
    type(area, text);
  };

  const mark = (area, sign) => {
    const [from, to] = [area.selectionStart, area.selectionEnd];
    const around = area.value.slice(from - sign.length, from) === sign && area.value.slice(to, to + sign.length) === sign;
    const other = sign === "*" && area.value[from - 2] === "*" && area.value[from - 3] !== "*"; // of bold words
    if (around && !other) {
      const words = area.value.slice(from, to);
      replace(area, from - sign.length, to + sign.length, words);
      area.setSelectionRange(from - sign.length, to - sign.length);
      return;
    }
    const [, before, words, after] = area.value.slice(from, to).match(/^(\s*)([^]*?)(\s*)$/);
    type(area, before + sign + words + sign + after);
    const start = from + before.length + sign.length;
    area.setSelectionRange(start, start + words.length);
  };

  const list = (area, begin) => {
    const { value, selectionStart, selectionEnd } = area;
    const from = value.lastIndexOf("\n", selectionStart - 1) + 1;
    const end = value.indexOf("\n", selectionEnd);
    const to = end < 0 ? value.length : end;
    const lines = value.slice(from, to).split("\n");
    const bare = lines.map((line) => line.replace(/^(- |\d+\. )/, ""));
    const made = bare.map((line, number) => begin(number) + line);
    const text = (made.join("\n") === lines.join("\n") ? bare : made).join("\n");
    replace(area, from, to, text);
    area.setSelectionRange(lines.length > 1 ? from : from + text.length, from + text.length);
  };

  const link = (area) => {
    const from = area.selectionStart;
    const words = area.value.slice(from, area.selectionEnd).trim();
    const isAddress = /^https?:\/\/\S+$/.test(words);
    const address = isAddress ? words : "https://";
    const text = isAddress ? "" : words;
    type(area, `[${text}](${address})`);
    const at = text ? from + text.length + 3 : from + 1;
    area.setSelectionRange(at, text ? at + address.length : at);
  };

  const pasted = async (area, html, plain) => {
    const body = html.replace(/^[^]*<body[^>]*>|<\/body>[^]*$|<style[^]*?<\/style>|<!--[^]*?-->/gi, "");
    const csrfmiddlewaretoken = area.form.elements.csrfmiddlewaretoken.value;
    try {
      if (body.length > MOST) return plain;
      const answer = await fetch(area.dataset.markdown, {
        method: "POST",
        body: new URLSearchParams({ csrfmiddlewaretoken, html: body }),
        headers: { "HX-Request": "true" },
      });
      return answer.ok ? await answer.text() : plain;
    } catch {
      return plain;
    }
  };

  const TOOLS = {
    bold: (area) => mark(area, "**"),
    italic: (area) => mark(area, "*"),
    link,
    list: (area) => list(area, () => "- "),
    "list-ordered": (area) => list(area, (number) => `${number + 1}. `),
  };
  const KEYS = { b: "bold", i: "italic" };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-markdown-tool]");
    if (!button) return;
    TOOLS[button.dataset.markdownTool](document.getElementById(button.closest("[data-markdown-tools]").dataset.markdownTools));
  });

  // The buttons are one tab stop; arrow keys move among them.
  document.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const button = step && event.target.closest("[data-markdown-tool]");
    if (!button) return;
    const all = [...button.parentElement.children];
    const next = all[(all.indexOf(button) + step + all.length) % all.length];
    button.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });

  document.addEventListener("keydown", (event) => {
    const tool = TOOLS[KEYS[event.key.toLowerCase()]];
    if (!tool || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || !event.target.matches("textarea[data-markdown]")) return;
    event.preventDefault();
    tool(event.target);
  });

  document.addEventListener("paste", async (event) => {
    const area = event.target;
    const html = event.clipboardData?.getData("text/html");
    if (!html || !area.matches("textarea[data-markdown]")) return;
    event.preventDefault();
    type(area, await pasted(area, html, event.clipboardData.getData("text/plain")));
  });

  for (const tools of document.querySelectorAll("[data-markdown-tools]")) tools.hidden = false;
})();
