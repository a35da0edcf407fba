// The two small forms before the work: a name, a password.

import { post } from "./api.js";
import { byId } from "./dom.js";

function answer(form, send) {
  form?.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await send();
      location.reload();
    } catch (error) {
      byId("error").textContent = error.message;
      byId("error").hidden = false;
    }
  });
}

const join = byId("join-form");
answer(join, async () => {
  const name = byId("name").value;
  await post("/api/session", { name });
  localStorage.setItem("annotator", name);
});
answer(byId("login-form"), () => post("/api/login", { password: byId("password").value }));

if (join) {
  byId("name").value = localStorage.getItem("annotator") ?? "";
  byId("name").select();
  for (const button of document.querySelectorAll("[data-name]")) {
    button.addEventListener("click", () => {
      byId("name").value = button.dataset.name;
      join.requestSubmit();
    });
  }
}
