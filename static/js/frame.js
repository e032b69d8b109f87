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

// --- verdicts that did not reach the server: kept in this browser until they do, shown on every page ----------------
const STORE = "tideline-unsent";
const holder = find("[data-toasts]");
const words = holder?.dataset ?? {};
const kept = () => { try { return JSON.parse(localStorage.getItem(STORE)) ?? []; } catch { return []; } };
const keep = (list) => { try { localStorage.setItem(STORE, JSON.stringify(list)); } catch { /* then the notice is all there is */ } };
const forget = (item) => { keep(kept().filter((other) => other.key !== item.key)); item.notice?.remove(); };
const resend = async (item) => {
  const body = new URLSearchParams(item.body);
  body.set("csrfmiddlewaretoken", find("input[name=csrfmiddlewaretoken]")?.value ?? "");
  try {
    const answer = await fetch(item.action, { method: "POST", body, headers: { "X-Tideline": "script" } });
    if (!(answer.headers.get("content-type") ?? "").includes("json")) return;
    const data = await answer.json();
    if (!data.ok && !data.conflict) return;
    forget(item);
    document.dispatchEvent(new CustomEvent("tideline:answered", { detail: data }));
  } catch { /* still not: the notice stays */ }
};
const noticeOf = (item) => {
  const notice = document.createElement("div");
  notice.className = "notice bad";
  const text = document.createElement("p");
  text.textContent = words.failed.replace("%(page)s", item.title);
  const button = (label, act) => {
    const made = document.createElement("button");
    Object.assign(made, { className: "btn small", type: "button", textContent: label });
    made.addEventListener("click", act);
    return made;
  };
  const open = document.createElement("a");
  Object.assign(open, { className: "btn small quiet", href: item.address, textContent: words.open });
  notice.append(text, button(words.again, () => resend(item)), open, button(words.drop, () => forget(item)));
  item.notice = notice;
  return notice;
};
const mine = () => kept().filter((item) => item.person === words.person);
const told = new Map();
const tell = (item) => {
  if (!holder || told.has(item.key)) return;
  told.set(item.key, item);
  holder.append(noticeOf(item));
};
document.addEventListener("tideline:unsent", ({ detail }) => {
  const item = { ...detail, person: words.person };
  keep([...kept().filter((other) => other.key !== item.key), item]);
  tell(item);
});
document.addEventListener("tideline:answered", ({ detail }) => {
  const toast = document.createElement("template");
  if (detail.toast || detail.conflict) toast.innerHTML = detail.toast || detail.conflict; // our own server's markup
  else {
    const line = document.createElement("div");
    line.className = "toast";
    line.append(Object.assign(document.createElement("span"), { textContent: detail.words }));
    toast.content.append(line);
  }
  for (const old of holder.querySelectorAll(":scope > :not(.bad)")) old.remove();
  holder.append(toast.content);
});
addEventListener("online", () => told.forEach((item) => { if (item.notice?.isConnected) resend(item); }));
mine().forEach(tell);
