// Fields of the cards: entries as chips, inputs with completion, providers by name.

import { get } from "../../api.js";
import { cloud } from "../../model/cloud.js";
import { names } from "../../model/provider_names.js";
import { ProviderLink } from "../../parts/values.js";
import { useStore } from "../../state.js";
import { html, useEffect, useRef, useState } from "../../vendor/preact.js";

const IS_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const SUGGESTIONS_MAX = 12;

/** @typedef {"" | "!" | "in:"} Mode */

/** `!A` as "not A", `in:A,B` as "A or B". @param {string} entry */
function describe(entry) {
	const isNot = entry.startsWith("!");
	const names = entry.replace(/^!?(in:)?/, "").split(",").map((name) => (IS_UUID.test(name) ? name.slice(0, 8) : name));
	return (isNot ? "not " : "") + names.join(isNot ? " nor " : " or ");
}

/**
 * A name or a list that can be taken out.
 * @param {{entry: string, what: string, onRemove: () => void, text?: string}} props
 */
export function Entry({ entry, what, onRemove, text = describe(entry) }) {
	return html`<span class=${`chip entry ${entry.startsWith("!") ? "is-not" : ""}`} title=${entry}>
		<span class="name">${text}</span>
		<button type="button" class="remove" aria-label=${`remove ${what} ${text}`} title="remove" onClick=${onRemove}>✕</button>
	</span>`;
}

/**
 * An input that adds what was typed or picked, and is empty again.
 * @param {{label: string, placeholder: string, list?: string, known?: string[], onAdd: (text: string) => void, id?: string, width?: string}} props
 *   `list`: the id of a datalist; `known`: what is in it
 */
export function AddText({ label, placeholder, list, known = [], onAdd, id, width = "9em" }) {
	const add = (/** @type {HTMLInputElement} */ input) => {
		const text = input.value.trim();
		input.value = "";
		if (text) onAdd(text);
	};
	const typed = (/** @type {InputEvent & {target: HTMLInputElement}} */ event) => {
		// A choice from the list is an input without a key.
		if ((!event.inputType || event.inputType === "insertReplacementText") && known.includes(event.target.value)) add(event.target);
	};
	const pressed = (/** @type {KeyboardEvent & {target: HTMLInputElement}} */ event) => {
		if (event.key !== "Enter") return;
		event.preventDefault();
		add(event.target);
	};
	return html`<input type="text" class="add" id=${id} aria-label=${label} placeholder=${placeholder} list=${list} style=${{ width }}
		autocomplete="off" spellcheck=${false} onInput=${typed} onKeyDown=${pressed} onChange=${(/** @type {any} */ event) => add(event.target)} />`;
}

/**
 * Traits or aggregates: chips, and an input with how the next one counts.
 * @param {{what: string, label: string, entries: string[], list: string, known: string[], modes: [Mode, string][],
 *   onChange: (entries: string[]) => void, id?: string, owner?: string}} props `owner`: of what they are, for who cannot see the card
 */
export function Names({ what, label, entries, list, known, modes, onChange, id, owner = "" }) {
	const whole = owner ? `${what} ${owner}` : what;
	const [mode, setMode] = useState(/** @type {Mode} */ (""));
	const add = (/** @type {string} */ text) => {
		// The forms of the API work, too.
		const entry = /^(!|in:)/.test(text) ? text : mode + text;
		const last = entries.map((each) => each.startsWith("in:")).lastIndexOf(true);
		if (mode === "in:" && entry === mode + text && last >= 0) {
			onChange(entries.map((each, position) => (position === last ? `${each},${text}` : each)));
		} else if (!entries.includes(entry)) onChange([...entries, entry]);
	};
	return html`<div class="field">
		<span class="field-label">${label}</span>
		<span class="field-values">
			${entries.map((entry, position) => html`<${Entry} key=${entry} entry=${entry} what=${whole}
				onRemove=${() => onChange(entries.filter((_, other) => other !== position))} />`)}
			<span class="adding">
				<select aria-label=${`how the next ${whole} counts`} value=${mode} onChange=${(/** @type {any} */ event) => setMode(event.target.value)}>
					${modes.map(([value, text]) => html`<option value=${value}>${text}</option>`)}
				</select>
				<${AddText} label=${`add ${whole}`} placeholder=${`+ ${what}`} list=${list} known=${known} onAdd=${add} id=${id} />
			</span>
		</span>
	</div>`;
}

/**
 * A provider, by name or UUID.
 * @param {{label: string, value: string, onChange: (uuid: string) => void, id: string}} props
 */
export function ProviderField({ label, value, onChange, id }) {
	useStore(names);
	return html`<div class="field">
		<span class="field-label">${label}</span>
		<span class="field-values">
			${value ? html`<span class="chip entry" title=${value}><${ProviderLink} uuid=${value} name=${names.nameOf(value.toLowerCase())} />
				<button type="button" class="remove" aria-label=${`remove ${label}`} title="remove" onClick=${() => onChange("")}>✕</button></span>`
			: html`<${ProviderInput} label=${`${label}: name or UUID of a provider`} onFound=${onChange} id=${id} />`}
		</span>
	</div>`;
}

/**
 * Finds a provider by its name or UUID.
 * @param {{label: string, onFound: (uuid: string) => void, id: string, placeholder?: string}} props
 */
export function ProviderInput({ label, onFound, id, placeholder = "name or UUID" }) {
	const [suggested, setSuggested] = useState(/** @type {string[]} */ ([]));
	const [problem, setProblem] = useState("");
	const isGone = useRef(false);
	useEffect(() => () => void (isGone.current = true), []);
	const find = async (/** @type {string} */ text) => {
		setProblem("");
		if (IS_UUID.test(text)) return onFound(text.toLowerCase());
		try {
			const { resource_providers: found } = await get("/resource_providers", { name: text });
			if (isGone.current) return;
			if (found.length) onFound(found[0].uuid);
			else setProblem(`no provider has the name ${text}`);
		} catch (error) {
			setProblem(error instanceof Error ? error.message : String(error));
		}
	};
	const suggest = (/** @type {any} */ event) => {
		const text = event.target.value.trim();
		setSuggested(text ? cloud.findNames(text, SUGGESTIONS_MAX).map((each) => each.name) : []);
	};
	return html`<span class="find-provider" onInput=${suggest}>
		<${AddText} label=${label} placeholder=${placeholder} list=${`${id}-names`} known=${suggested} onAdd=${find} id=${id} width="16em" />
		<datalist id=${`${id}-names`}>${suggested.map((name) => html`<option value=${name}></option>`)}</datalist>
		${problem && html`<span class="refusal" role="alert">${problem}</span>`}
	</span>`;
}
