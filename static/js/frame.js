// The frame around every page: theme, keys, menus, toasts. Enhancement only: each action is also a link or a form.
const root = document.documentElement;
const find = (selector, within = document) => within.querySelector(selector);

find("[data-theme-form]")?.addEventListener("submit", (event) => {
  event.preventDefault();
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  const body = new FormData(event.target);
  body.set("theme", root.dataset.theme);
  fetch(event.target.action, { method: "POST", body, keepalive: true, redirect: "manual" }).catch(() => {});
});

document.addEventListener("click", (event) => {
  const close = event.target.closest("[data-close]");
  if (close) close.closest(".toast, .notice")?.remove();
  if (event.target.closest("[data-help]")) find("dialog.help")?.showModal();
  // One open menu at a time; a click elsewhere closes it.
  for (const menu of document.querySelectorAll("details:is(.menu, .f-menu, .pop)[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

const typing = (target) => target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]");
const keyOf = (event) => (event.key === "Process" ? event.code.replace(/^(Key|Digit)/, "").toLowerCase() : event.key);

addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    for (const menu of document.querySelectorAll("details:is(.menu, .f-menu, .pop)[open]")) {
      menu.open = false;
      find("summary", menu)?.focus();
    }
    return;
  }
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches?.("textarea")) {
    event.preventDefault();
    event.target.form?.requestSubmit();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || root.dataset.keys === "off") return;
  if (event.defaultPrevented || typing(event.target) || find("dialog[open]")) return;
  const key = keyOf(event);
  if (key === "?") {
    event.preventDefault();
    find("dialog.help")?.showModal();
  } else if (key === "/") {
    event.preventDefault();
    find("input[type=search]")?.focus();
  } else if (/^[a-z]$/.test(key)) {
    const button = find(`[data-key="${key}"]`);
    if (!button || event.repeat) return;
    event.preventDefault();
    button.click();
    const field = button.closest("details[open]") && find("textarea", button.closest("details"));
    field?.focus(); // at once: the next key may follow within milliseconds, and belongs to the note
  }
});
