// The search box: jumps to a provider, a consumer, a trait or a class by name or UUID.

import { get } from "../api.js";
import { catalog, loadCatalog } from "../model/catalog.js";
import { cloud } from "../model/cloud.js";
import { go, link } from "../state.js";
import { html, useEffect, useRef, useState } from "../vendor/preact.js";

const RESULTS_MAX = 12;
const IS_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** @typedef {{kind: string, text: string, page: string, parameters: Record<string, string>}} Result */

/**
 * @param {string} text
 * @param {AbortSignal} signal
 * @returns {Promise<Result[]>}
 */
async function find(text, signal) {
	/** @type {Result[]} */
	const found = [];
	const provider = (/** @type {{uuid: string, name: string}} */ each) =>
		({ kind: "provider", text: each.name, page: "tree", parameters: { uuid: each.uuid } });
	if (IS_UUID.test(text)) {
		const uuid = text.toLowerCase();
		const [providers, consumer] = await Promise.all([
			get("/resource_providers", { uuid }, { signal }).catch(() => ({ resource_providers: [] })),
			get(`/allocations/${uuid}`, {}, { signal }).catch(() => ({ allocations: {} })),
		]);
		found.push(...providers.resource_providers.map(provider));
		if (Object.keys(consumer.allocations).length) {
			found.push({ kind: "consumer", text: uuid, page: "consumers", parameters: { consumer: uuid } });
		}
		if (catalog.value.aggregates.includes(uuid)) {
			found.push({ kind: "aggregate", text: uuid, page: "cloud", parameters: { filter: uuid } });
		}
		return found;
	}
	const known = cloud.findNames(text, RESULTS_MAX);
	found.push(...known.map(provider));
	if (!known.some((each) => each.name === text)) {
		const named = await get("/resource_providers", { name: text }, { signal }).catch(() => ({ resource_providers: [] }));
		found.unshift(...named.resource_providers.filter((/** @type {{uuid: string}} */ each) => !known.some((other) => other.uuid === each.uuid)).map(provider));
	}
	const upper = text.toUpperCase();
	for (const name of catalog.value.classes.filter((each) => each.includes(upper)).slice(0, 4)) {
		found.push({ kind: "class", text: name, page: "cloud", parameters: { class: name } });
	}
	for (const name of catalog.value.traits.filter((each) => each.includes(upper)).slice(0, 6)) {
		found.push({ kind: "trait", text: name, page: "cloud", parameters: { filter: name } });
	}
	return found.slice(0, RESULTS_MAX);
}

/** The box in the header. `/` puts the cursor into it. */
export function Jump() {
	const input = useRef(/** @type {HTMLInputElement | null} */ (null));
	const [text, setText] = useState("");
	const [results, setResults] = useState(/** @type {Result[] | null} */ (null));
	const [chosen, setChosen] = useState(0);
	useEffect(() => {
		if (!text.trim()) return setResults(null);
		const controller = new AbortController();
		const timer = setTimeout(async () => {
			await loadCatalog();
			const found = await find(text.trim(), controller.signal);
			if (controller.signal.aborted) return;
			setResults(found);
			setChosen(0);
		}, 120);
		return () => (clearTimeout(timer), controller.abort());
	}, [text]);
	const close = () => (setText(""), setResults(null));
	const open = (/** @type {Result} */ result) => {
		close();
		input.current?.blur();
		go(result.page, result.parameters);
	};
	const press = (/** @type {KeyboardEvent} */ event) => {
		if (event.key === "Escape") {
			event.preventDefault();
			close();
			input.current?.blur();
		} else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
			event.preventDefault();
			const step = event.key === "ArrowDown" ? 1 : -1;
			setChosen((before) => Math.min(Math.max(before + step, 0), (results?.length ?? 1) - 1));
		} else if (event.key === "Enter" && results?.[chosen]) {
			open(results[chosen]);
		}
	};
	return html`<div class="jump" role="search">
		<input ref=${input} id="jump" type="search" value=${text} placeholder="/  search" aria-label="jump to a provider, consumer, trait or class" autocomplete="off" spellcheck=${false}
			role="combobox" aria-expanded=${results !== null} aria-controls="jump-results" aria-activedescendant=${results?.length ? `jump-${chosen}` : undefined}
			onInput=${(/** @type {any} */ event) => setText(event.target.value)} onKeyDown=${press} onBlur=${() => setTimeout(() => setResults(null), 200)} />
		<ul id="jump-results" role="listbox" aria-label="results" hidden=${results === null}>
			${(results ?? []).map((result, number) => html`
				<li key=${result.kind + result.text} id=${`jump-${number}`} role="option" aria-selected=${number === chosen} onMouseDown=${() => open(result)}>
					<span class="quiet">${result.kind}</span> <span title=${link(result.page, result.parameters)}>${result.text}</span>
				</li>`)}
			${results?.length === 0 && html`<li class="quiet" role="option" aria-selected="false">nothing has this name or UUID</li>`}
		</ul>
	</div>`;
}
