// The page Events: what changes, as it changes.

import { live } from "../model/live.js";
import { Command, Empty, Failed, Forbidden, useReading } from "../parts/conditions.js";
import { Page, TextChoice } from "../parts/page.js";
import { ProviderLink, Word, formatAmount, formatNumber } from "../parts/values.js";
import { change, link, useStore } from "../state.js";
import { html, useEffect, useReducer, useRef, useState } from "../vendor/preact.js";
import { KINDS, followLog, log, matches } from "../model/event_log.js";
import { findTree, names } from "../model/provider_names.js";

const ROWS_AT_ONCE = 200;
const SUMMARY_MILLISECONDS = 10_000;

/** @typedef {import("../model/event_log.js").Entry} Entry */
/** @typedef {import("../model/event_log.js").Filter} Filter */

const MEANINGS = /** @type {Record<string, string>} */ ({
	allocations: "a consumer took or gave back resources of a provider",
	inventories: "what a provider has was changed",
	traits: "traits of a provider were changed",
	aggregates: "aggregates of a provider were changed",
	provider: "a provider was created, deleted, renamed or moved",
	catalog: "a custom resource class or trait was created or deleted",
});

/** @param {{parameters: URLSearchParams}} props */
export function EventsPage({ parameters }) {
	const [, redraw] = useReducer((/** @type {number} */ count) => count + 1, 0);
	useEffect(() => followLog(() => redraw(undefined)), []);
	const { rule } = useStore(live);
	const tree = parameters.get("tree") ?? "";
	const kinds = (parameters.get("kind") ?? "").split(",").filter(Boolean);
	const found = useReading((signal) => (tree ? findTree(tree, signal).then((trees) => ({ tree, trees })) : Promise.resolve(null)), [tree]);
	// Until the tree is known, nothing matches.
	const trees = tree ? (found.value?.tree === tree ? found.value.trees : []) : null;
	const filter = { kinds, trees };
	const { entries, waiting, isPaused, togglePause } = usePause(parameters, filter);
	const nobody = Boolean(tree) && found.value?.tree === tree && !found.value.trees.length;
	return html`<${Page} title="Events" filters=${html`<${Filters} tree=${tree} kinds=${kinds} waiting=${waiting} isPaused=${isPaused} onPause=${togglePause} />`}>
		<${Summary} filter=${filter} />
		${rule && html`<${Forbidden} rule=${rule} />`}
		${tree && found.error && html`<${Failed} error=${found.error} retry=${found.reload} />`}
		${nobody && html`<${Empty} title="Nobody has this name">There is no provider <code>${tree}</code>. Names are compared exactly.</${Empty}>`}
		${!rule && !nobody && !found.error && html`<${EventList} entries=${entries} isFiltered=${Boolean(tree || kinds.length)} waiting=${waiting} key=${`${tree} ${kinds}`} />`}
	</${Page}>`;
}

/**
 * While it is paused, what was shown stays, even after the log has dropped it.
 * @param {URLSearchParams} parameters
 * @param {Filter} filter
 */
function usePause(parameters, filter) {
	const isPaused = parameters.get("paused") === "1";
	const frozen = useRef(/** @type {{number: number, entries: Entry[]} | null} */ (null));
	if (!isPaused) frozen.current = null;
	else if (!frozen.current) frozen.current = { number: log.count, entries: log.matching({ kinds: [], trees: null }) };
	const togglePause = () => change({ paused: isPaused ? null : "1" }, { replace: true });
	useEffect(() => {
		const press = (/** @type {KeyboardEvent} */ event) => {
			const isTyping = event.target instanceof HTMLElement && event.target.matches("input, select, textarea");
			if (event.key === "p" && !isTyping && !event.metaKey && !event.ctrlKey && !event.altKey) togglePause();
		};
		addEventListener("keydown", press);
		return () => removeEventListener("keydown", press);
	}, [isPaused]);
	const entries = frozen.current ? frozen.current.entries.filter((entry) => matches(entry, filter)) : log.matching(filter);
	return { entries, waiting: frozen.current ? log.countAfter(filter, frozen.current.number) : 0, isPaused, togglePause };
}

/**
 * @param {{tree: string, kinds: string[], waiting: number, isPaused: boolean, onPause: () => void}} props
 */
function Filters({ tree, kinds, waiting, isPaused, onPause }) {
	const toggle = (/** @type {string} */ kind) => {
		const next = kinds.includes(kind) ? kinds.filter((each) => each !== kind) : [...kinds, kind];
		change({ kind: next.length === KINDS.length ? null : next.join(",") });
	};
	return html`
		<${TextChoice} label="tree" value=${tree} placeholder="name or UUID of a provider" width="16em" onChange=${(/** @type {string} */ text) => change({ tree: text })} />
		${tree && html`<button type="button" class="icon" title="events of all trees" aria-label="events of all trees" onClick=${() => change({ tree: null })}>✕</button>`}
		<span class="kinds" role="group" aria-label="kinds of events">
			${KINDS.map((kind) => html`<button type="button" key=${kind} aria-pressed=${kinds.includes(kind)} title=${MEANINGS[kind]} onClick=${() => toggle(kind)}>${kind}</button>`)}
		</span>
		<span class="flow">
			<${Rate} />
			<button type="button" class="pause" aria-pressed=${isPaused} title=${isPaused ? "show what waits, and go on (p)" : "let the list stand still (p)"} onClick=${onPause}>
				${isPaused ? `resume${waiting ? `: ${formatNumber(waiting)} wait` : ""}` : "pause"}
			</button>
		</span>`;
}

/** How many events come in, in all. */
function Rate() {
	const [, tick] = useReducer((/** @type {number} */ count) => count + 1, 0);
	useEffect(() => {
		const timer = setInterval(() => tick(undefined), 1000);
		return () => clearInterval(timer);
	}, []);
	const { rate } = log;
	const shown = rate === 0 || rate >= 10 ? formatNumber(Math.round(rate)) : rate.toFixed(1);
	return html`<span class="rate" title="events a second of all kinds and trees, over the last ten seconds"><span class="number">${shown}</span> /s</span>`;
}

/** For those who hear the page: how much happened, once in a while, instead of every line. @param {{filter: Filter}} props */
function Summary({ filter }) {
	const [text, setText] = useState("");
	const current = useRef(filter);
	current.current = filter;
	useEffect(() => {
		let seen = log.count;
		const timer = setInterval(() => {
			const count = log.countAfter(current.current, seen);
			if (count) setText(`${formatNumber(count)} new ${count === 1 ? "event" : "events"} until ${formatTime(Date.now())}`);
			seen = log.count;
		}, SUMMARY_MILLISECONDS);
		return () => clearInterval(timer);
	}, []);
	return html`<p class="unseen" role="status" aria-live="polite">${text}</p>`;
}

/**
 * @param {{entries: Entry[], isFiltered: boolean, waiting: number}} props
 */
function EventList({ entries, isFiltered, waiting }) {
	const [rows, setRows] = useState(ROWS_AT_ONCE);
	useStore(names);
	if (!entries.length) return html`<${Nothing} isFiltered=${isFiltered} waiting=${waiting} />`;
	return html`
		<table class="events">
			<thead><tr><th>time</th><th>kind</th><th><${Word}>provider</${Word}></th><th>change</th><th class="number"><${Word}>generation</${Word}></th></tr></thead>
			<tbody>${entries.slice(0, rows).map((entry) => (entry.event ? html`<${EventRow} key=${entry.number} entry=${entry} />` : html`<${Gap} key=${entry.number} entry=${entry} />`))}</tbody>
		</table>
		${entries.length > rows
			? html`<button type="button" onClick=${() => setRows(rows + ROWS_AT_ONCE)}>${formatNumber(Math.min(ROWS_AT_ONCE, entries.length - rows))} more of ${formatNumber(entries.length - rows)}</button>`
			: html`<p class="quiet small">What happened before ${formatTime(log.oldest)} is not known here.</p>`}`;
}

/** @param {{isFiltered: boolean, waiting: number}} props */
function Nothing({ isFiltered, waiting }) {
	const since = formatTime(log.since).slice(0, 5);
	if (waiting) return html`<${Empty} title="Paused">Nothing was shown when this page was paused. ${formatNumber(waiting)} wait.</${Empty}>`;
	if (isFiltered) return html`<${Empty} title=${`Nothing that matches has changed since ${since}`}>Changes appear here as they happen, of the kinds and the tree that are chosen above.</${Empty}>`;
	return html`<div class="empty">
		<h2>Nothing has changed since ${since}</h2>
		<p>That is when this console was opened. Changes appear here as they happen: claims, inventories, traits, aggregates, providers. This makes some:</p>
		<${Command} text="roost demo --live" />
	</div>`;
}

/** @param {{entry: Entry}} props */
function Gap({ entry }) {
	return html`<tr class="gap"><td class="number">${formatTime(entry.time)}</td><td colspan="4">events were missed here: the service has forgotten what happened in between</td></tr>`;
}

/** @param {{entry: Entry}} props */
function EventRow({ entry }) {
	const event = /** @type {import("../api.js").CloudEvent} */ (entry.event);
	const { resource_provider: uuid, tree: root } = event;
	return html`<tr class="event">
		<td class="number" title=${new Date(entry.time).toISOString()}>${formatTime(entry.time)}</td>
		<td title=${MEANINGS[event.kind]}>${event.kind}</td>
		<td class="provider">
			${uuid && (event.deleted
				? html`<span class="name" title=${uuid}>${names.nameOf(uuid) || uuid.slice(0, 8)}</span>`
				: html`<${ProviderLink} uuid=${uuid} name=${names.nameOf(uuid)} />`)}
			${root && root !== uuid && html`<span class="quiet"> in </span><${ProviderLink} uuid=${root} name=${names.nameOf(root)} />`}
			${root && !(event.deleted && root === uuid) && html`<a class="only" href=${link("events", { tree: root })} title="only events of this tree" aria-label=${`only events of the tree ${names.nameOf(root) || root}`}>only</a>`}
		</td>
		<td class="change"><${Change} event=${event} /></td>
		<td class="number">${event.generation === undefined ? "" : formatNumber(event.generation)}</td>
	</tr>`;
}

/** What an event says about the amounts that are used. @param {{event: import("../api.js").CloudEvent}} props */
function Change({ event }) {
	if (event.deleted) return html`<span class="deleted">deleted</span>`;
	if (event.kind !== "allocations") return null;
	if (!event.usage) return html`<span class="quiet">usages changed</span>`;
	const differences = Object.entries(event.usage).filter(([, amount]) => amount !== 0);
	if (!differences.length) return html`<span class="quiet">as much as before</span>`;
	return differences.map(([name, amount]) => html`<span class=${`difference ${amount > 0 ? "more" : "less"}`} key=${name} title=${`${amount > 0 ? "+" : "−"}${formatNumber(Math.abs(amount))} ${name}`}
		><span class="mono">${amount > 0 ? "+" : "−"}${formatAmount(name, Math.abs(amount))}</span> <span class="quiet small">${name}</span></span>`);
}

/** @param {number} milliseconds */
function formatTime(milliseconds) {
	const time = new Date(milliseconds);
	return [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
}
