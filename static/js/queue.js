// The queue: a cursor through the rows, selection, and a count that follows the truth without moving the list.
const find = (selector, within = document) => within.querySelector(selector);
const rows = () => [...document.querySelectorAll(".q-row")];
let at = -1;

const mark = (index) => {
  const list = rows();
  if (!list.length) return;
  at = Math.max(0, Math.min(list.length - 1, index));
  list.forEach((row, i) => row.classList.toggle("cursor", i === at));
  const link = find(".q-title a", list[at]);
  link?.focus();
};

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (document.documentElement.dataset.keys === "off" || find("dialog[open]")) return;
  if (event.target.closest?.("input:not([type=checkbox]), textarea, select, summary, button")) return;
  const key = event.key === "Process" ? event.code.replace("Key", "").toLowerCase() : event.key;
  if (key === "j") mark(at + 1);
  else if (key === "k") mark(at - 1);
  else if (key === "x" && at >= 0) find(".check", rows()[at])?.click();
  else if (key === "Enter" && at < 0 && !event.target.closest?.("a")) find("[data-start]")?.click();
  else return;
  event.preventDefault();
});

const all = find("[data-all]");
const boxes = () => [...document.querySelectorAll("[data-rows] .check")];
const told = find("[data-selected]");
const count = () => {
  const picked = boxes().filter((box) => box.checked);
  boxes().forEach((box) => box.closest(".q-row").classList.toggle("picked", box.checked));
  if (told) told.textContent = told.dataset.one.replace("%(n)s", picked.length);
  // The button offers the reason that the selected rows share.
  const shared = new Set(picked.map((box) => box.dataset.reason));
  const offer = find("[data-bulk-dismiss]");
  if (offer && shared.size === 1) {
    const choice = find(`button[value="dismiss:${[...shared][0]}"][data-words]`);
    if (choice) [offer.value, find("span", offer).textContent] = [choice.value, choice.dataset.words];
  }
  if (all) {
    all.checked = picked.length > 0 && picked.length === boxes().length;
    all.indeterminate = picked.length > 0 && !all.checked;
  }
};
all?.addEventListener("change", () => {
  boxes().forEach((box) => { box.checked = all.checked; });
  count();
});
find("[data-rows]")?.addEventListener("change", count);
if (told) count();

// Live count: asked every 30 s while the page is seen; new rows are announced, the list never moves by itself.
const list = find("[data-queue]");
const arrivals = find("[data-arrivals]");
let known = -1;
const ask = async () => {
  if (document.hidden || !list) return;
  const address = new URL(list.dataset.countUrl, location.href);
  address.searchParams.set("since", list.dataset.since);
  try {
    const answer = await fetch(address, { headers: { Accept: "application/json" } });
    if (!answer.ok) return;
    const { waiting, new: fresh, text, link } = await answer.json();
    for (const place of document.querySelectorAll("[data-waiting]")) place.textContent = waiting;
    if (fresh !== known && arrivals) {
      known = fresh;
      arrivals.replaceChildren();
      if (fresh) {
        const show = document.createElement("a");
        show.href = location.href;
        show.textContent = `${text} ${link}`;
        arrivals.append(show);
      }
    }
  } catch { /* offline: the next round asks again */ }
};
setInterval(ask, 30_000);
document.addEventListener("visibilitychange", ask);
