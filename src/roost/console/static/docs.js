// The page /docs: the API, for whoever has no token yet.

import { ApiView } from "./api_docs/view.js";
import { applyTheme, followLink, nextTheme, theme, useAddress, useStore } from "./state.js";
import { html, render, useEffect } from "./vendor/preact.js";

function Docs() {
	const { parameters } = useAddress();
	useStore(theme);
	useEffect(() => {
		const press = (/** @type {KeyboardEvent} */ event) => {
			const isTyping = event.target instanceof Element && event.target.matches("input, select, textarea");
			if (isTyping || event.metaKey || event.ctrlKey || event.altKey) return;
			if (event.key === "t") nextTheme();
			if (event.key !== "/") return;
			event.preventDefault();
			document.getElementById("api-filter")?.focus();
		};
		addEventListener("keydown", press);
		return () => removeEventListener("keydown", press);
	}, []);
	return html`
		<a class="skip" href="#main">to the content</a>
		<header>
			<a class="brand" href="docs">roost</a>
			<span class="subject">API</span>
			<button type="button" class="icon" title="light, dark, or as the system has it (t)" aria-label="change the theme" onClick=${nextTheme}>◐</button>
		</header>
		<main id="main" class="page-docs"><${ApiView} page="docs" parameters=${parameters} /></main>`;
}

applyTheme();
document.addEventListener("click", followLink);
const root = /** @type {HTMLElement} */ (document.getElementById("console"));
root.replaceChildren();
render(html`<${Docs} />`, root);
