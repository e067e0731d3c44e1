// Who is asking: a token is pasted, or name and password are exchanged for one.

import { ApiError, post } from "../api.js";
import { session, useStore } from "../state.js";
import { html, useState } from "../vendor/preact.js";

/** Asks for a token. It stays in the memory of this page and is gone with it. */
export function Login() {
	useStore(session);
	const [failure, setFailure] = useState("");
	const [isBusy, setBusy] = useState(false);
	const isKeystone = session.service?.auth === "keystone";
	const useToken = (/** @type {SubmitEvent} */ event) => {
		event.preventDefault();
		const token = new FormData(/** @type {HTMLFormElement} */ (event.target)).get("token");
		if (token) session.accept(String(token).trim());
	};
	const logIn = async (/** @type {SubmitEvent} */ event) => {
		event.preventDefault();
		const fields = Object.fromEntries([...new FormData(/** @type {HTMLFormElement} */ (event.target))].filter(([, value]) => value));
		setBusy(true);
		setFailure("");
		try {
			session.accept((await post("/console/token", fields)).token);
		} catch (error) {
			setFailure(error instanceof ApiError ? error.detail : String(error));
			setBusy(false);
		}
	};
	return html`<main class="login" id="main">
		<h1>roost</h1>
		<p class="quiet">${isKeystone ? "This service asks Keystone who you are." : "This service does not check who you are, but the console is not on its machine: a token names a user, such as admin."}
			What you enter stays in the memory of this page.</p>
		${(failure || session.refusal) && html`<p class="said" role="alert">${failure || session.refusal}</p>`}
		${session.service?.login && html`<form onSubmit=${logIn} aria-label="name and password">
			<label>user <input name="username" autocomplete="username" required /></label>
			<label>password <input name="password" type="password" autocomplete="current-password" required /></label>
			<label>project <input name="project" /></label>
			<label>user's domain <input name="user_domain" placeholder="Default" /></label>
			<label>project's domain <input name="project_domain" placeholder="Default" /></label>
			<button type="submit" disabled=${isBusy}>log in</button>
		</form>`}
		<form onSubmit=${useToken} aria-label="a token">
			<label>token <input name="token" type="password" autocomplete="off" required /></label>
			<button type="submit">use this token</button>
			${isKeystone && html`<p class="quiet">For example from <code>openstack token issue -f value -c id</code></p>`}
		</form>
	</main>`;
}
