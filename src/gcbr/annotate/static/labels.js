// The page of all answers: search, correct, withdraw, settle, export.

import { get, newRequest, post } from "./api.js";
import { Colors } from "./colors.js";
import { byId, dialogs, element, fill, number, percent, plural, toast } from "./dom.js";

const PAGE = 50;
const NEW = ""; // no class can be called this

const colors = new Colors();
let classes = [];
let offset = 0;
let correcting = null; // the node whose new class is being named

async function start() {
  dialogs();
  for (const id of ["by-class", "by-annotator", "by-status"]) byId(id).addEventListener("change", () => refresh(0));
  byId("tools").addEventListener("submit", (event) => event.preventDefault());
  byId("search").addEventListener("input", later(() => refresh(0), 150));
  byId("newer").addEventListener("click", () => refresh(Math.max(0, offset - PAGE)));
  byId("older").addEventListener("click", () => refresh(offset + PAGE));
  byId("class-form").addEventListener("submit", () => correct(correcting, byId("class-name").value.trim(), true));
  for (const button of document.querySelectorAll("[data-format]")) {
    button.addEventListener("click", () => order(button.dataset.format));
  }
  await Promise.all([refresh(0), showFiles()]);
}

function later(run, milliseconds) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(run, milliseconds);
  };
}

async function attempt(run) {
  try {
    const result = await run();
    byId("alert").hidden = true;
    return result;
  } catch (error) {
    byId("alert-text").textContent = error.message;
    byId("alert").hidden = false;
    byId("alert").scrollIntoView({ block: "nearest" });
    return null;
  }
}

// --- the answers

async function refresh(from = offset) {
  await attempt(async () => {
    offset = from;
    const wanted = new URLSearchParams({ search: byId("search").value, status: byId("by-status").value, offset, limit: PAGE });
    if (byId("by-class").value) wanted.set("label", byId("by-class").value);
    if (byId("by-annotator").value) wanted.set("annotator", byId("by-annotator").value);
    const [state, page, agreement] = await Promise.all([get("/api/state"), get(`/api/labels?${wanted}`), get("/api/agreement")]);
    classes = state.classes.map((cls) => cls.name);
    colors.learn(classes);
    byId("summary").textContent = [
      `${number(state.labels)} of ${plural(state.budget, "label")}`,
      `balance ρ ${state.rho.toFixed(2)}`,
      state.skipped ? `${number(state.skipped)} skipped` : "",
      agreement.nodes ? `${percent(agreement.agreed / agreement.nodes)} agreement on ${plural(agreement.nodes, "node")} answered twice` : "",
    ].filter(Boolean).join(" · ");
    options("by-class", classes);
    options("by-annotator", page.annotators.filter(Boolean));
    showRows(page, state.labels + state.skipped === 0);
    showDisputes(agreement);
  });
}

function options(id, names) {
  const chosen = byId(id).value;
  fill(byId(id), element("option", { value: "" }, "All"), ...names.map((name) => element("option", { value: name, selected: name === chosen }, name)));
}

function showRows(page, isNothing) {
  const has = page.rows.length > 0;
  byId("table").hidden = !has;
  byId("empty").hidden = has;
  byId("tools").hidden = isNothing;
  byId("empty-title").textContent = isNothing ? "No labels yet" : "Nothing found";
  byId("empty-text").textContent = isNothing
    ? "What you answer appears here, to be searched, corrected and exported."
    : "No answer fits the search and the filters.";
  byId("empty-act").hidden = !isNothing;
  fill(byId("rows"), ...page.rows.map(row));
  byId("pager").hidden = page.total <= PAGE;
  byId("newer").disabled = offset === 0;
  byId("older").disabled = offset + PAGE >= page.total;
  byId("range").textContent = `${number(offset + 1)} to ${number(Math.min(offset + PAGE, page.total))} of ${number(page.total)}`;
}

function row(answer) {
  const others = Object.keys(answer.opinions).length > 1 ? Object.entries(answer.opinions).map(([who, what]) => `${who}: ${what}`).join(", ") : "";
  const differs = answer.predicted !== null && answer.label !== null && answer.predicted !== answer.label;
  return element(
    "tr",
    {},
    element("th", { scope: "row", "data-title": "Node" }, answer.name),
    element("td", { "data-title": "Class" }, answer.label === null ? element("span", { class: "muted" }, "skipped") : picker(answer), others ? element("span", { class: "muted small block" }, others) : null),
    element("td", { "data-title": "Predicted", class: differs ? "differs" : "muted" }, answer.predicted === null ? "–" : `${answer.predicted} ${percent(answer.probability)}`),
    element("td", { "data-title": "By" }, answer.annotator || "a file"),
    element("td", { "data-title": "When", class: "muted" }, element("time", { datetime: answer.at }, when(answer.at))),
    element("td", { class: "row-acts" }, element("button", { type: "button", class: "button small", "aria-label": `Withdraw ${answer.name}`, onclick: () => withdraw(answer) }, "Withdraw")),
  );
}

function picker(answer) {
  const select = element(
    "select",
    { class: "picker", "aria-label": `Class of ${answer.name}`, "--color": colors.of(answer.label) },
    ...classes.map((name) => element("option", { value: name, selected: name === answer.label }, name)),
    element("option", { value: NEW }, "New class…"),
  );
  select.addEventListener("change", () => {
    if (select.value !== NEW) return correct(answer.node, select.value, false);
    select.value = answer.label;
    correcting = answer.node;
    byId("class-name").value = "";
    byId("class-dialog").showModal();
  });
  return element("span", { class: "picker-box", "--color": colors.of(answer.label) }, element("span", { class: "dot filled", "aria-hidden": "true" }), select);
}

function when(at) {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" }) : date.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
}

async function change(path, body, words) {
  const recorded = await attempt(() => post(path, { ...body, request: newRequest() }));
  if (recorded) toast(words(recorded), { name: "Undo", run: undo });
  await refresh();
}

const correct = (node, label, isNew) => label && change("/api/corrections", { node, label, new_class: isNew }, (done) => `Corrected: ${done.name} is ${done.label}`);
const withdraw = (answer) => change("/api/withdrawals", { node: answer.node }, (done) => `Withdrawn: ${done.name} can be asked again`);

async function undo() {
  const recorded = await attempt(() => post("/api/undo", { request: newRequest() }));
  if (recorded) toast(`Undone: ${recorded.name} is as before`);
  await refresh();
}

// --- where opinions differ

function showDisputes(agreement) {
  byId("disputes").hidden = agreement.disputes.length === 0;
  byId("disputes-text").textContent = `${plural(agreement.disputes.length, "node")} answered twice, with two answers. The first one counts until somebody decides.`;
  fill(
    byId("dispute-list"),
    ...agreement.disputes.map((dispute) =>
      element(
        "li",
        {},
        element("strong", { class: "dispute-name" }, dispute.name),
        ...Object.entries(dispute.opinions).map(([who, what]) =>
          element(
            "button",
            { type: "button", class: "button opinion", "aria-label": `Decide that ${dispute.name} is ${what}, as ${who} says`, onclick: () => correct(dispute.node, what, false), "--color": colors.of(what) },
            element("span", { class: "dot filled", "aria-hidden": "true" }),
            what,
            element("span", { class: "muted" }, who),
          ),
        ),
      ),
    ),
  );
}

// --- files

async function order(format) {
  await attempt(() => post("/api/exports", { format }));
  await showFiles();
}

async function showFiles() {
  const page = await attempt(() => get("/api/exports"));
  if (!page) return;
  byId("export-folder").textContent = `${page.folder}/`;
  fill(
    byId("files"),
    ...page.pending.map((name) => element("li", { class: "pending" }, element("span", { class: "spinner", "aria-hidden": "true" }), element("span", {}, name), element("span", { class: "muted" }, "being written"))),
    ...page.failed.map((sentence) => element("li", { class: "failed" }, sentence)),
    ...page.files.map((file) => element("li", {}, element("a", { href: `/api/exports/${encodeURIComponent(file.name)}`, download: file.name }, file.name), element("span", { class: "muted" }, size(file.size)))),
  );
  if (page.pending.length) setTimeout(showFiles, 500);
}

function size(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(0)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

start();
