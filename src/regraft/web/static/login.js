// Asks for a token once; the browser then has a cookie that no script can read.
import { html, useState } from "./html.js";
import { ask, set } from "./api.js";

export function LogIn() {
  const [token, type] = useState(""), [fault, fail] = useState("");
  const enter = async (event) => {
    event.preventDefault();
    try {
      set({ who: await ask("session", "POST", { token: token.trim() }) });
      set({ who: await ask("session") });
    } catch (no) {
      fail(no.message);
    }
  };
  return html`<main class="login"><form class="card" onSubmit=${enter}><h1><img src="icon.svg" alt="" width="30" height="30" /> Regraft</h1>
    <label>Token<input type="password" autocomplete="current-password" required autofocus value=${token} onInput=${(event) => type(event.target.value)} /></label>
    ${fault && html`<p class="no" role="alert">${fault}</p>`}<button type="submit" class="primary">Log in</button></form></main>`;
}
