// Requests to our own server, and nothing else. What comes back is data: it is shown as text, never as HTML.

const csrf = document.querySelector('meta[name="csrf"]').content;

export class Refused extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export class Unreachable extends Error {}

export async function call(method, path, body) {
  let reply;
  try {
    reply = await fetch(path, {
      method,
      headers: { "X-CSRF-Token": csrf, ...(body ? { "Content-Type": "application/json" } : {}) },
      body: body ? JSON.stringify(body) : undefined,
      credentials: "same-origin",
    });
  } catch {
    throw new Unreachable("The server does not answer. Is gcbr label still running?");
  }
  const document = await reply.json().catch(() => ({ detail: `The server replied with ${reply.status}.` }));
  if (!reply.ok) throw new Refused(reply.status, document.detail);
  return document;
}

export const get = (path) => call("GET", path);
export const post = (path, body) => call("POST", path, body);

// Names one change. Sent again after a lost reply, it is not made twice.
export function newRequest() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
