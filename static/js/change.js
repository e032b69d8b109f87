// The change page: places that every pane follows, and verdicts that don't wait for the network.
const find = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const calm = matchMedia("(prefers-reduced-motion: reduce)");
let painted = performance.now();
let at = 0;

// --- places ------------------------------------------------------------------------------------------------
const places = () => all("[data-place]");
const follow = () => {
  const place = places()[at];
  if (!place) return;
  for (const frame of all("iframe[data-follow]")) {
    const to = `${frame.src.split("#")[0]}#${place.id}`;
    try { frame.contentWindow.location.replace(to); } catch { frame.src = to; }
  }
};
const go = (index, { focus = true, smooth = true } = {}) => {
  const list = places();
  if (!list.length) return;
  at = (index + list.length) % list.length;
  list.forEach((place, i) => { place.classList.toggle("now", i === at); place.classList.remove("landed"); });
  all("[data-place-n]").forEach((n) => { n.textContent = at + 1; });
  list[at].scrollIntoView({ block: "center", behavior: smooth && !calm.matches ? "smooth" : "instant" });
  if (focus) list[at].focus({ preventScroll: true });
  follow();
};
const begin = () => {
  at = 0;
  painted = performance.now();
  stay();
  const list = places();
  const wanted = list.findIndex((place) => `#${place.id}` === location.hash);
  if (wanted >= 0) return go(wanted, { smooth: false });
  const first = list[0];
  if (!first) return;
  first.classList.add("now");
  const box = first.getBoundingClientRect();
  if (box.bottom > innerHeight - 90) reveal(first, box);
  // The page put the focus here, nobody's key did: the tint says so, the outline waits for a key.
  first.classList.add("landed");
  first.addEventListener("blur", () => first.classList.remove("landed"), { once: true });
  first.focus({ preventScroll: true });
  for (const frame of all("iframe[data-follow]")) frame.addEventListener("load", follow, { once: true });
};
// As little as brings the place (or the beginning of a long one) into view: what stands above it stays readable.
const reveal = (place, box) => {
  const bars = 48 + 56 + 24;
  const room = innerHeight - 90 - bars;
  scrollBy({ top: box.height < room ? box.bottom - (innerHeight - 90) : box.top - bars, behavior: "instant" });
};
document.addEventListener("click", (event) => {
  const step = event.target.closest("[data-go]");
  if (step) go(at + Number(step.dataset.go));
  const to = event.target.closest("[data-go-to]");
  if (to) { event.preventDefault(); go(Number(to.dataset.goTo) - 1); }
  const link = event.target.closest("[data-copy-link]");
  if (link && navigator.clipboard) { event.preventDefault(); copy(link.href, toasts().dataset.link); }
  const quote = event.target.closest("[data-quote]");
  if (quote && navigator.clipboard) {
    event.preventDefault();
    fetch(quote.href).then((answer) => answer.text()).then((text) => copy(text, toasts().dataset.quoted)).catch(() => location.assign(quote.href));
  }
});
const copy = async (text, words) => { await navigator.clipboard.writeText(text); say(words); };

// --- who else looks: a heartbeat while the page is seen --------------------------------------------------------------
const stay = async () => {
  const line = find("[data-here]");
  const token = find("#decide input[name=csrfmiddlewaretoken]")?.value;
  if (!line || !token || document.hidden) return;
  const body = new URLSearchParams({ csrfmiddlewaretoken: token, diff_hash: find("#decide input[name=diff_hash]").value });
  try {
    const answer = await fetch(line.dataset.here, { method: "POST", body, headers: { "X-Tideline": "script" } });
    if (!answer.ok || !line.isConnected) return;
    const { here, moved } = await answer.json();
    line.hidden = !here;
    find("[data-here-words]", line).textContent = here;
    const notice = find("[data-moved]");
    if (notice && moved) { notice.hidden = false; notice.classList.add("warn"); find("[data-moved-words]", notice).textContent = moved; }
  } catch { /* offline: the next beat tells */ }
};
setInterval(stay, 20_000);
document.addEventListener("visibilitychange", stay);

// --- the next change, fetched ahead --------------------------------------------------------------------------
let ahead = { address: "", page: null, at: 0 };
const FRESH_MS = 600_000;
const load = async (address) => {
  const answer = await fetch(address, { headers: { Accept: "text/html", "X-Tideline": "ahead" } });
  if (!answer.ok || answer.redirected) throw new Error("not a change");
  return new DOMParser().parseFromString(await answer.text(), "text/html");
};
const prefetch = () => {
  const address = find("[data-decide]")?.dataset.next;
  if (!address || (ahead.address === address && performance.now() - ahead.at < FRESH_MS)) return;
  ahead = { address, page: load(address).catch(() => null), at: performance.now() };
};
const swap = (page, address, { push = true } = {}) => {
  for (const selector of ["#main", "#decide"]) {
    const [old, fresh] = [find(selector), find(selector, page)];
    if (old && fresh) old.replaceWith(document.adoptNode(fresh));
    else old?.remove();
  }
  document.title = page.title;
  if (push) history.pushState({ change: true }, "", address);
  scrollTo(0, 0);
  begin();
  prefetch();
};
const show = async (address) => {
  let page = null;
  if (ahead.address === address && performance.now() - ahead.at < FRESH_MS) page = await ahead.page;
  page ??= await load(address).catch(() => null);
  if (!page || !find("#decide", page)) return location.assign(address);
  swap(page, address);
};
addEventListener("popstate", () => location.reload());

// --- toasts ----------------------------------------------------------------------------------------------------
const toasts = () => find("[data-toasts]");
const clear = () => toasts().querySelectorAll(":scope > :not(.bad)").forEach((old) => old.remove()); // what isn't saved stays
const put = (html) => {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  clear();
  toasts().append(holder.content);
};
const say = (words) => {
  const toast = document.createElement("div");
  toast.className = "toast";
  const text = document.createElement("span");
  text.textContent = words;
  toast.append(text);
  clear();
  toasts().append(toast);
};
const waiting = (count) => all("[data-waiting]").forEach((place) => { place.textContent = count; });

// --- verdicts --------------------------------------------------------------------------------------------------
// The frame keeps it, tells it on every page, and sends it again.
const failed = (form, body, title, address) => {
  const kept = new URLSearchParams([...body].filter(([name]) => name !== "csrfmiddlewaretoken"));
  const detail = { key: kept.get("key") || crypto.randomUUID(), action: form.action, body: kept.toString(), title, address };
  document.dispatchEvent(new CustomEvent("tideline:unsent", { detail }));
};
const send = async (form, body) => {
  try {
    const answer = await fetch(form.action, { method: "POST", body, keepalive: true, headers: { "X-Tideline": "script" } });
    if ((answer.headers.get("content-type") ?? "").includes("json")) return await answer.json();
  } catch { /* told below */ }
  return null;
};
const finish = (data) => {
  if (!data) return data;
  if (data.ok) {
    waiting(data.waiting);
    const place = find("[data-position]");
    if (place && data.position && location.href.endsWith(data.next)) place.textContent = data.position;
    if (data.toast) put(data.toast); else say(data.words);
    return data;
  }
  if (data.conflict) put(data.conflict);
  return data;
};
const post = async (form, body, title, here) => {
  const data = await send(form, body);
  if (!data) failed(form, body, title, here);
  return finish(data);
};

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.matches("[data-decide]")) {
    const button = event.submitter;
    const what = button?.value.split(":")[0] ?? "";
    if (!["approve", "dismiss", "snooze", "undo"].includes(what)) return; // assign and the rest: a plain post
    event.preventDefault();
    if (form.dataset.sent) return;
    const body = new FormData(form, button);
    body.set("seconds", ((performance.now() - painted) / 1000).toFixed(2));
    const [title, here] = [form.dataset.title, location.href];
    if (what === "undo") {
      const toast = find("[data-toasts] [data-verdict]");
      if (toast) body.set("verdict", toast.dataset.verdict);
      const data = await post(form, body, title, here);
      if (data?.ok) location.assign(data.next);
      return;
    }
    form.dataset.sent = "1";
    const next = form.dataset.next;
    if (next) {
      // The answer is told after the swap: its toast and its place belong to the page that is shown then.
      const sending = send(form, body);
      await show(next);
      const data = await sending;
      if (data) finish(data);
      else failed(form, body, title, here);
    } else {
      const data = await post(form, body, title, here);
      if (data?.ok) location.assign(data.next);
      else delete form.dataset.sent;
    }
  } else if (form.matches("[data-undo-form]")) {
    event.preventDefault();
    const data = await post(form, new FormData(form, event.submitter), "", location.href);
    if (data?.ok) location.assign(data.next);
  } else if (form.matches("[data-reason-form]")) {
    event.preventDefault();
    await post(form, new FormData(form, event.submitter), "", location.href);
  }
});

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (document.documentElement.dataset.keys === "off" || find("dialog[open]")) return;
  if (event.target.closest?.("input:not([type=checkbox]), textarea, select")) return;
  const key = event.key === "Process" ? event.code.replace(/^(Key|Digit)/, "").toLowerCase() : event.key;
  if (key === ".") { event.preventDefault(); go(at + 1); }
  else if (key === ",") { event.preventDefault(); go(at - 1); }
  else if (key === "v") {
    const links = all("[data-views] a");
    const current = links.findIndex((link) => link.hasAttribute("aria-current"));
    links[(current + 1) % links.length]?.click();
  } else if (/^[1-7]$/.test(key)) {
    // In the open reason list the number decides; after a verdict it changes the reason just given.
    const open = find(`#decide details[open] [data-reason="${key}"]`);
    const button = open ?? find(`[data-toasts] [data-number="${key}"]`);
    if (button) { event.preventDefault(); button.click(); }
  } else if (key === "u" && !find("#decide [data-key=u]")) {
    find("[data-toasts] [data-undo-form] button")?.click();
  }
});

begin();
if (document.readyState === "complete") prefetch(); else addEventListener("load", prefetch);
