// Building the page from text. Nothing here parses HTML.

export const byId = (id) => document.getElementById(id);

export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) made.style.setProperty(name, value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// What is shown is built anew. Whoever goes by keyboard stays on the button that is the same as before.
export function fill(parent, ...children) {
  const held = parent.contains(document.activeElement) ? nameOf(document.activeElement) : null;
  parent.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
  if (held) [...parent.querySelectorAll("button, select, a")].find((one) => nameOf(one) === held)?.focus({ preventScroll: true });
}

const nameOf = (one) => one.dataset.label ?? one.getAttribute("aria-label") ?? one.textContent;

export const percent = (share) => `${Math.round(100 * share)}%`;
export const number = (value) => value.toLocaleString("en-US");
export const plural = (count, thing) => `${number(count)} ${thing}${count === 1 ? "" : "s"}`;

// Attributes of a node: short numbers side by side, texts one below the other, vectors as a grid of shades.
export function showAttributes(parent, attributes) {
  const list = element("dl", { class: "attribute-list" });
  for (const attribute of attributes) {
    const isShort = attribute.kind === "number" || (attribute.kind === "text" && attribute.text.length <= 24);
    const value = element("dd", {}, attribute.kind === "grid" ? grid(attribute) : attribute.text);
    const kind = attribute.kind === "grid" ? "grid" : isShort ? "short" : "long";
    list.append(element("div", { class: `attribute ${kind}` }, element("dt", {}, attribute.name), value));
  }
  if (!attributes.length) list.append(element("p", { class: "hollow" }, "Nothing but its neighbors is known of this node."));
  fill(parent, list);
  requestAnimationFrame(() => (parent.scrollTop = 0)); // at once it would lay the page out twice
}

function grid(attribute) {
  const cells = attribute.values.map((value) => element("i", { "--shade": value }));
  return element("span", { class: "shades", role: "img", "aria-label": attribute.text, "--width": attribute.width }, ...cells);
}

let toastTimer = 0;

export function toast(text, act) {
  const box = byId("toast");
  fill(box, element("span", {}, text), act ? element("button", { type: "button", class: "toast-act", onclick: act.run }, act.name) : null);
  box.hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => (box.hidden = true), 6000);
}

export function dialogs() {
  for (const button of document.querySelectorAll("[data-close]")) {
    button.addEventListener("click", () => button.closest("dialog").close());
  }
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  }
}
