// The page on which a person answers one node after another.

import { Refused, Unreachable, get, newRequest, post } from "./api.js";
import { drawLine } from "./charts.js";
import { Colors, onTheme } from "./colors.js";
import { byId, dialogs, element, fill, number, percent, plural, showAttributes, toast } from "./dom.js";
import { Drawing } from "./drawing.js";

const DIGITS = "1234567890";
const SOON = 700; // milliseconds until the next look, while something is being worked out
const LATER = 4000;

const colors = new Colors();
const desk = byId("main");
let drawing = null;
let turn = null; // what the server last said
let unsent = null; // an answer whose reply did not come: sent again as it is
let isBusy = false;
let isHiding = localStorage.getItem("hide-predictions") === "yes";

async function start() {
  dialogs();
  drawing = new Drawing(byId("drawing"), colors, peek);
  listen();
  await look();
}

// --- talking to the server

async function look() {
  try {
    show(await get("/api/turn"));
    if (!unsent) hideAlert();
  } catch (error) {
    complain(error);
  }
}

// Everything that changes something goes through here: the page moves on when the answer is on the disk.
async function send(path, body, button) {
  if (isBusy) return;
  unsent = unsent ?? { path, body: { ...body, request: newRequest() } };
  isBusy = true;
  desk.setAttribute("aria-busy", "true");
  button?.classList.add("pressed");
  try {
    const recorded = await post(unsent.path, unsent.body);
    unsent = null;
    hideAlert();
    show(recorded.turn);
    announce(recorded);
  } catch (error) {
    if (error instanceof Refused && error.status < 500) {
      unsent = null; // sending it again would not help
      toast(error.message);
      if (error.status === 401) complain(error);
      else await look();
    } else complain(error);
  } finally {
    isBusy = false;
    desk.removeAttribute("aria-busy");
    button?.classList.remove("pressed");
  }
}

function complain(error) {
  byId("alert-text").textContent = unsent
    ? `${error.message} Your answer is kept on this page until it is saved.`
    : error.message;
  byId("alert-retry").textContent = error.status === 401 ? "Load the page again" : "Try again";
  byId("alert").dataset.kind = error instanceof Unreachable ? "unreachable" : "refused";
  byId("alert").hidden = false;
}

const hideAlert = () => (byId("alert").hidden = true);

async function retry() {
  if (byId("alert-retry").textContent === "Load the page again") location.reload();
  else if (unsent) await send();
  else await look();
}

function announce(recorded) {
  const name = recorded.name;
  const undoing = { name: "Undo", run: undo };
  if (recorded.kind === "label") toast(`Saved: ${name} is ${recorded.label}`, undoing);
  else if (recorded.kind === "second") toast(`Saved: your opinion of ${name} is ${recorded.label}`, undoing);
  else if (recorded.kind === "skip") toast(`Skipped ${name}`, undoing);
  else if (recorded.kind === "undo") toast(`Undone: ${name} is yours again`);
}

// --- acts

function choose(label, button) {
  if (isReady()) send("/api/answers", { node: turn.node.node, label }, button);
}

function skip() {
  if (isReady()) send("/api/skips", { node: turn.node.node }, byId("skip"));
}

function undo() {
  send("/api/undo", {}, byId("undo"));
}

function askForClass() {
  if (!isReady()) return;
  byId("class-name").value = "";
  byId("class-dialog").showModal();
  byId("class-name").focus();
}

function nameClass() {
  const label = byId("class-name").value.trim();
  if (label) send("/api/answers", { node: turn.node.node, label, new_class: true });
}

async function more() {
  try {
    await post("/api/budget", { more: 20 });
    await look();
  } catch (error) {
    complain(error);
  }
}

function hide() {
  isHiding = !isHiding;
  localStorage.setItem("hide-predictions", isHiding ? "yes" : "no");
  if (turn?.node) show(turn);
}

async function peek(number) {
  if (number === turn?.node?.node) return;
  try {
    const node = await get(`/api/nodes/${number}`);
    byId("peek-name").textContent = node.name;
    byId("peek-overline").textContent = said(node);
    showAttributes(byId("peek-attributes"), node.attributes);
    if (!byId("peek").open) byId("peek").showModal();
  } catch (error) {
    complain(error);
  }
}

function said(node) {
  if (node.label !== null) return `Labeled ${node.label}`;
  if (node.skipped) return "Skipped";
  const best = [...node.guesses].sort((a, b) => b.probability - a.probability)[0];
  if (!best || !best.probability || isHiding) return "Not labeled yet";
  return `Not labeled; predicted ${best.label}, ${percent(best.probability)}`;
}

const isReady = () => turn?.status === "ready" && !isBusy && !unsent;

// --- showing

function show(next) {
  const before = turn?.node?.node;
  turn = next;
  colors.learn(turn.state.classes.map((cls) => cls.name));
  if (desk.dataset.state !== turn.status) desk.dataset.state = turn.status; // each change restyles the page
  if (turn.status === "ready") showNode(before !== turn.node.node);
  else if (turn.status === "finished") showFinished();
  else if (turn.reading) {
    byId("loading-text").textContent = `Learning from ${plural(turn.reading, "answer")}, then choosing the next nodes…`;
  } else byId("loading-text").textContent = turn.state.labels ? "Choosing the next nodes…" : "Choosing the first nodes…";
  afterPaint(showRest);
  if (turn.state.trouble) {
    complain(new Error(`No new nodes are being chosen: ${turn.state.trouble} Answers are still saved.`));
  }
}

// The node and its buttons come first; what stands beside them is drawn once they are on the screen.
let waiting = 0;

function afterPaint(run) {
  cancelAnimationFrame(waiting);
  if (document.hidden) run();
  else waiting = requestAnimationFrame(() => setTimeout(run));
}

function showRest() {
  showState(turn.state);
  if (turn.status !== "ready") return;
  const { shown, neighbors, nodes } = turn.node.neighborhood;
  drawing.show(turn.node.neighborhood, isHiding);
  byId("legend-count").textContent = shown < neighbors ? `· ${shown} of ${number(neighbors)} neighbors` : `· ${plural(neighbors, "neighbor")}`;
  fill(byId("neighbors"), ...nodes.filter((other) => other.distance === 1).map(neighborItem));
  showReasons();
}

function showNode(isNew = true) {
  const { node } = turn;
  byId("overline").textContent = turn.second ? "Somebody has answered this one. What do you say?" : "Which class is this?";
  if (isNew) {
    byId("node-name").textContent = node.name;
    document.title = `${node.name} · gcbr`;
    showAttributes(byId("attributes"), node.attributes);
    byId("filter").value = "";
  }
  desk.classList.toggle("hiding", isHiding);
  byId("predictions").setAttribute("aria-pressed", String(!isHiding));
  showClasses();
}

function neighborItem(other) {
  const cls = other.label ?? (isHiding ? null : other.predicted);
  const words = other.label !== null ? other.label : cls ? `${cls}? ${percent(other.probability)}` : "not labeled";
  return element(
    "li",
    {},
    element(
      "button",
      { type: "button", class: "neighbor", "data-label": other.name, onclick: () => peek(other.node) },
      element("span", { class: `dot ${other.label !== null ? "filled" : "ring"}`, "--color": colors.of(cls) }),
      element("span", { class: "neighbor-name" }, other.name),
      element("span", { class: "muted" }, words),
    ),
  );
}

// By position, but classes that are called 0 to 9 have their own digits.
function keysOf(labels) {
  const isDigit = (label) => label.length === 1 && DIGITS.includes(label);
  return labels.every(isDigit) ? labels : [...DIGITS];
}

function showClasses() {
  const guesses = turn.node.guesses;
  const keys = keysOf(guesses.map((guess) => guess.label));
  const isGuessing = guesses.some((guess) => guess.probability > 0) && !isHiding;
  const best = Math.max(...guesses.map((guess) => guess.probability));
  const wanted = byId("filter").value.trim().toLowerCase();
  byId("filter-box").hidden = guesses.length <= DIGITS.length;
  byId("no-classes").hidden = guesses.length > 0;
  byId("new-class").classList.toggle("primary", guesses.length === 0);
  byId("classes").classList.toggle("many", guesses.length > 5);
  fill(
    byId("classes"),
    ...guesses.map((guess, rank) => {
      const key = keys[rank];
      const share = isGuessing ? `, predicted ${percent(guess.probability)}` : "";
      return element(
        "button",
        {
          type: "button",
          class: `class-button ${isGuessing && guess.probability === best ? "likeliest" : ""}`,
          "aria-keyshortcuts": key,
          "aria-label": `${guess.label}${share}${key ? `, key ${key}` : ""}`,
          "data-label": guess.label,
          hidden: wanted !== "" && !guess.label.toLowerCase().includes(wanted),
          onclick: (event) => choose(guess.label, event.currentTarget),
          "--color": colors.of(guess.label),
          "--share": isGuessing ? guess.probability : 0,
        },
        key ? element("kbd", {}, key) : null,
        element("span", { class: "dot filled" }),
        element("span", { class: "class-name" }, guess.label),
        isGuessing ? element("span", { class: "share" }, percent(guess.probability)) : null,
      );
    }),
  );
}

function showReasons() {
  const { reasons } = turn;
  byId("why").classList.toggle("pending", !reasons);
  if (!reasons) {
    byId("why-sentence").textContent = turn.second
      ? "Some nodes are given to two people, to see how far they agree."
      : "Working out the reasons…";
    fill(byId("columns"));
    return;
  }
  byId("why-sentence").textContent = reasons.sentence;
  fill(
    byId("columns"),
    ...reasons.columns.map((column) =>
      element(
        "div",
        { class: "column", title: `${column.name.replaceAll("_", " ")}: ${column.value.toPrecision(3)}` },
        element("dt", {}, column.title),
        element(
          "dd",
          {},
          element("span", { class: "meter", "--share": column.percentile / 100, "aria-hidden": "true" }),
          element("span", { class: "percentile" }, String(Math.round(column.percentile))),
          element("span", { class: "visually-hidden" }, " of 100, as a percentile of all nodes"),
        ),
      ),
    ),
  );
}

function showState(state) {
  byId("spent-bar").style.setProperty("--share", Math.min(1, state.labels / state.budget));
  byId("labels-given").textContent = number(state.labels);
  byId("labels-budget").textContent = ` of ${plural(state.budget, "label")}`;
  byId("skipped").textContent = state.skipped ? `${plural(state.skipped, "node")} skipped` : "";
  const most = Math.max(1, ...state.classes.map((cls) => Math.max(cls.count, cls.target)));
  fill(byId("counts"), ...state.classes.map((cls) => countBar(cls, most)));
  const target = state.classes.length ? state.classes[0].target : 0;
  byId("target-note").textContent = state.classes.length > 1 ? `The line is an equal share, ${target.toFixed(target < 10 ? 1 : 0)} each.` : "";
  showCharts(state);
  byId("hint").textContent = state.labels && state.hint ? state.hint.sentence : "";
  byId("hint").classList.toggle("advice", Boolean(state.hint?.advice));
  fill(byId("queue"), ...state.queue.filter((one) => one.node !== turn?.node?.node).map(queueItem));
  byId("queue-note").textContent = state.queue.length ? "" : "Nothing yet.";
  byId("behind").hidden = !state.behind || turn?.status !== "ready";
  byId("behind").textContent = `Choices are ${plural(state.behind, "answer")} behind`;
  const { nodes, agreed, disputes } = state.agreement;
  byId("agreement").hidden = !nodes;
  if (nodes) {
    fill(
      byId("agreement-text"),
      `${percent(agreed / nodes)} agreement on ${plural(nodes, "node")} answered twice. `,
      disputes ? element("a", { href: "/labels#disputes" }, `${plural(disputes, "dispute")} to settle`) : null,
    );
  }
}

function countBar(cls, most) {
  return element(
    "div",
    { class: "count", role: "listitem", "--color": colors.of(cls.name), "--share": cls.count / most, "--target": cls.target / most },
    element("span", { class: "count-name" }, cls.name),
    element("span", { class: "count-number" }, number(cls.count)),
    element("span", { class: "count-bar", "aria-hidden": "true" }),
  );
}

function showCharts(state) {
  const points = state.moments;
  byId("rho").textContent = state.labels ? state.rho.toFixed(2) : "–";
  drawLine(byId("chart-rho"), points.map((m, x) => ({ x, y: m.rho })), "Balance of the classes");
  const kept = points.filter((m) => m.stability !== null);
  byId("stability").textContent = kept.length ? percent(kept.at(-1).stability) : "–";
  drawLine(
    byId("chart-stability"),
    kept.map((m, x) => ({ x, y: m.stability, marked: m.stop })),
    "Share of predictions that an answer left as they were; marked where stopping was advised",
  );
}

function queueItem(one) {
  const cls = isHiding ? null : one.predicted;
  return element(
    "li",
    {},
    element("span", { class: "dot ring", "--color": colors.of(cls), "aria-hidden": "true" }),
    element("span", { class: "queue-name" }, one.name),
    cls ? element("span", { class: "muted small" }, `${cls}?`) : null,
  );
}

function showFinished() {
  const { state } = turn;
  byId("finished-title").textContent = `${plural(state.labels, "label")} given`;
  byId("finished-text").textContent =
    state.labels >= state.budget
      ? "The budget is spent. Export what there is, or go on with a few more."
      : "Every node that may be asked is labeled or skipped.";
  const most = Math.max(1, ...state.classes.map((cls) => Math.max(cls.count, cls.target)));
  fill(byId("finished-counts"), ...state.classes.map((cls) => countBar(cls, most)));
  byId("more").hidden = state.labels + state.skipped >= state.nodes;
}

// --- keys and clicks

function listen() {
  byId("skip").addEventListener("click", skip);
  byId("undo").addEventListener("click", undo);
  byId("undo-finished").addEventListener("click", undo);
  byId("new-class").addEventListener("click", askForClass);
  byId("predictions").addEventListener("click", hide);
  byId("help").addEventListener("click", () => byId("keys").showModal());
  byId("more").addEventListener("click", more);
  byId("alert-retry").addEventListener("click", retry);
  byId("zoom-in").addEventListener("click", () => drawing.zoom(1.4));
  byId("zoom-out").addEventListener("click", () => drawing.zoom(1 / 1.4));
  byId("zoom-fit").addEventListener("click", () => drawing.fit());
  byId("class-form").addEventListener("submit", nameClass);
  byId("filter").addEventListener("input", showClasses);
  byId("filter").addEventListener("keydown", (event) => {
    if (event.key === "Enter") document.querySelector("#classes button:not([hidden])")?.click();
    if (event.key === "Enter" || event.key === "Escape") byId("filter").blur();
  });
  document.addEventListener("keydown", press);
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && look());
  onTheme(() => turn && show(turn));
  watch();
}

function press(event) {
  if (event.repeat && event.target.closest("#classes")) event.preventDefault(); // Enter held down is one answer
  const isTyping = event.target.closest("input, textarea, select");
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTyping || document.querySelector("dialog[open]")) return;
  const key = event.key.toLowerCase();
  const button = DIGITS.includes(key) ? document.querySelector(`#classes [aria-keyshortcuts="${key}"]`) : null;
  const act = { s: skip, u: undo, n: askForClass, p: hide, "?": () => byId("keys").showModal(), "/": () => byId("filter").focus() }[key];
  if (!button && !act) return;
  event.preventDefault();
  if (button) choose(button.dataset.label, button);
  else act();
}

// Looks again by itself: soon while something is being worked out, else now and then. It also keeps the node ours.
function watch() {
  const isWorking = turn && (turn.status !== "ready" || turn.state.behind > 0 || (!turn.reasons && !turn.second));
  setTimeout(async () => {
    if (document.visibilityState === "visible" && !isBusy && !unsent && turn?.status !== "finished") await glance();
    watch();
  }, !turn || isWorking ? SOON : LATER);
}

async function glance() {
  const seen = turn;
  // An answer given meanwhile makes the reply old news, and one that was not saved keeps its alert.
  const isOld = () => turn !== seen || isBusy || unsent;
  try {
    if (!turn || turn.status !== "ready" || (!turn.reasons && !turn.second)) {
      const next = await get("/api/turn");
      if (isOld()) return;
      show(next);
    } else {
      const state = await get("/api/state");
      if (isOld()) return;
      turn = { ...turn, state };
      colors.learn(state.classes.map((cls) => cls.name));
      showState(state);
    }
    if (!turn.state.trouble) hideAlert();
  } catch (error) {
    if (!isOld()) complain(error);
  }
}

start();
