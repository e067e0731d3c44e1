// From anywhere into cards, and from cards to a shell or a program.

import { SERVICE_URL } from "../../api.js";
import { readText, writeCommand, writeCurl, writePython } from "../../model/request_text.js";
import { session } from "../../state.js";
import { html, useEffect, useState } from "../../vendor/preact.js";

/** @typedef {import("../../model/request.js").Request} Request */

/**
 * Takes what is pasted, here or anywhere on the page outside of an input.
 * @param {{onRequest: (request: Request) => void}} props
 */
export function PasteBox({ onRequest }) {
	const [problem, setProblem] = useState("");
	const take = (/** @type {string} */ text) => {
		const request = readText(text);
		setProblem(request || !text.trim() ? "" : "there is no request in what was pasted");
		if (request) onRequest(request);
		return request !== null;
	};
	useEffect(() => {
		const paste = (/** @type {ClipboardEvent} */ event) => {
			const isField = event.target instanceof HTMLElement && event.target.matches("input, textarea, [contenteditable]");
			if (!isField && take(event.clipboardData?.getData("text") ?? "")) event.preventDefault();
		};
		document.addEventListener("paste", paste);
		return () => document.removeEventListener("paste", paste);
	}, [onRequest]);
	// A line of text: what is pasted keeps its lines only if it is taken before the input joins them.
	const pasted = (/** @type {ClipboardEvent & {target: HTMLInputElement}} */ event) => {
		if (!take(event.clipboardData?.getData("text") ?? "")) return;
		event.preventDefault();
		event.target.value = "";
	};
	const typed = (/** @type {Event & {target: HTMLInputElement}} */ event) => {
		if (take(event.target.value)) event.target.value = "";
	};
	return html`<span class="paste">
		<input type="text" id="ask-paste" aria-label="paste a query, a URL, a line of nova's log, or JSON" autocomplete="off" spellcheck=${false}
			placeholder="paste a query, a URL, a line of nova's log, or JSON" onPaste=${pasted} onChange=${typed} />
		${problem && html`<span class="refusal" role="alert">${problem}</span>`}
	</span>`;
}

/** @param {{request: Request, fits: boolean}} props */
export function CopyAs({ request, fits }) {
	const [copied, setCopied] = useState("");
	// A token that somebody logged in with is not put on the clipboard.
	const token = session.service?.auth === "noauth2" ? "admin" : null;
	const forms = /** @type {[string, string, () => string][]} */ ([
		["curl", "the search, for a shell", () => writeCurl(request, { url: SERVICE_URL, token })],
		["roost", "for a shell: roost candidates if it fits, roost explain if it does not", () => writeCommand(request, fits ? "candidates" : "explain")],
		["Python", "with roost.client", () => writePython(request, { url: SERVICE_URL })],
	]);
	const copy = async (/** @type {string} */ name, /** @type {string} */ text) => {
		await navigator.clipboard?.writeText(text).catch(() => undefined);
		setCopied(name);
		setTimeout(() => setCopied(""), 1500);
	};
	return html`<span class="copy-as"><span class="quiet small">copy as</span>
		${forms.map(([name, title, write]) => html`<button type="button" title=${title} onClick=${() => copy(name, write())}>${copied === name ? "copied" : name}</button>`)}
		<span class="unseen" role="status">${copied && `copied as ${copied}`}</span>
	</span>`;
}
