// The frame of a page: one row of choices, the thing itself, and the details of what is selected.

import { html, useEffect, useLayoutEffect } from "../vendor/preact.js";
import { useTyped } from "./typed.js";

/**
 * @param {{title: string, filters?: any, details?: any, onClose?: () => void, children?: any}} props
 *   `details`: nothing is selected if it is absent; `onClose`: what closes the drawer
 */
export function Page({ title, filters, details, onClose, children }) {
	useEffect(() => void (document.title = `${title} · roost`), [title]);
	// As soon as the drawer is drawn: whoever sees it may press the key.
	useLayoutEffect(() => {
		const close = (/** @type {KeyboardEvent} */ event) => {
			if (event.key === "Escape" && details && onClose && !event.defaultPrevented) onClose();
		};
		addEventListener("keydown", close);
		return () => removeEventListener("keydown", close);
	}, [Boolean(details), onClose]);
	return html`
		<h1 class="unseen">${title}</h1>
		${filters && html`<div class="filters" role="toolbar" aria-label="choices of this page">${filters}</div>`}
		<div class=${`columns ${details ? "with-details" : ""}`}>
			<div class="content">${children}</div>
			${details && html`<aside class="details" aria-label="details">
				${onClose && html`<button type="button" class="close" title="close (Esc)" aria-label="close the details" onClick=${onClose}>✕</button>`}
				${details}
			</aside>`}
		</div>`;
}

/**
 * A choice among a few values.
 * @param {{label: string, value: string, options: [string, string][], onChange: (value: string) => void}} props
 */
export function Choice({ label, value, options, onChange }) {
	return html`<label class="choice">${label}
		<select value=${value} onChange=${(/** @type {any} */ event) => onChange(event.target.value)}>
			${options.map(([key, text]) => html`<option value=${key} selected=${key === value}>${text}</option>`)}
		</select>
	</label>`;
}

/**
 * A text with completion from a list. `onChange` is called when it is confirmed, or cleared.
 * @param {{label: string, value: string, list?: string[], placeholder?: string, onChange: (value: string) => void, width?: string, id?: string}} props
 */
export function TextChoice({ label, value, list = [], placeholder = "", onChange, width = "14em", id }) {
	const name = id ?? `choice-${label.replaceAll(" ", "-")}`;
	const typed = useTyped(value, onChange);
	return html`<label class="choice">${label}
		<input type="text" id=${name} ...${typed} placeholder=${placeholder} list=${list.length ? `${name}-list` : undefined} style=${{ width }}
			autocomplete="off" spellcheck=${false} />
		${list.length > 0 && html`<datalist id=${`${name}-list`}>${list.map((each) => html`<option value=${each}></option>`)}</datalist>`}
	</label>`;
}
