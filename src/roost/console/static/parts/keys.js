// Keys, and the list of them.

import { go, nextTheme } from "../state.js";
import { html, useEffect, useRef, useState } from "../vendor/preact.js";

/** What `g` and another key go to. */
const GOES_TO = /** @type {Record<string, string>} */ ({ c: "cloud", a: "ask", o: "consumers", e: "events", s: "service" });

const KEYS = [
	["/", "jump to a provider, consumer, trait or class"],
	["g c", "Cloud"],
	["g a", "Ask"],
	["g o", "Consumers"],
	["g e", "Events"],
	["g s", "Service"],
	["t", "light, dark, or as the system has it"],
	["Esc", "close the details"],
	["← ↑ → ↓", "Cloud: the next cell; Tree: fold and unfold"],
	["+ − 0", "Cloud: larger, smaller, all"],
	["p", "Events: pause, and go on"],
	["Ctrl V", "Ask: paste a query, a URL, a line of a log or JSON, anywhere on the page"],
	["Enter", "open what has the focus"],
	["?", "this list"],
];

/** @param {EventTarget | null} target */
function isTyping(target) {
	return target instanceof HTMLElement && (target.matches("input, select, textarea") || target.isContentEditable);
}

/** Listens to keys, and shows what they do. */
export function Keys() {
	const [isOpen, setOpen] = useState(false);
	const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
	useEffect(() => {
		let waitsForPage = false;
		const press = (/** @type {KeyboardEvent} */ event) => {
			if (isTyping(event.target) || event.metaKey || event.ctrlKey || event.altKey) return;
			if (waitsForPage && GOES_TO[event.key]) go(GOES_TO[event.key]);
			else if (event.key === "/") {
				event.preventDefault();
				document.getElementById("jump")?.focus();
			} else if (event.key === "?") setOpen(true);
			else if (event.key === "t") nextTheme();
			waitsForPage = event.key === "g";
		};
		addEventListener("keydown", press);
		return () => removeEventListener("keydown", press);
	}, []);
	useEffect(() => {
		if (isOpen) dialog.current?.showModal();
	}, [isOpen]);
	return html`
		<button type="button" class="icon" title="keys (?)" aria-label="list of keys" onClick=${() => setOpen(true)}>?</button>
		${isOpen && html`<dialog ref=${dialog} class="keys" aria-label="keys" onClose=${() => setOpen(false)}>
			<h2>Keys</h2>
			<dl>${KEYS.map(([key, text]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${text}</dd></div>`)}</dl>
			<form method="dialog"><button>close</button></form>
		</dialog>`}`;
}
