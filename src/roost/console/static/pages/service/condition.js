// How the service is: readiness, versions, processes and the database.

import { ApiError } from "../../api.js";
import { byLabel, total } from "../../model/metrics.js";
import { Chip, formatAge, formatNumber } from "../../parts/values.js";
import { session } from "../../state.js";
import { html } from "../../vendor/preact.js";
import { rates } from "./polling.js";

/** @typedef {import("./polling.js").Readiness} Readiness */
/** @typedef {import("./polling.js").Scrape} Scrape */
/** @typedef {import("./polling.js").Versions} Versions */

/** @template T @typedef {{value: T | null, error: unknown}} Polled */

const CHECKS = /** @type {Record<string, string>} */ ({
	database: "whether the database answers",
	writes: "whether the database takes writes; not on a standby, for example",
	index: "whether the index has caught up with the database",
});

/** What could not be read, without hiding the rest of the page. @param {{error: unknown}} props */
export function Trouble({ error }) {
	if (!error) return null;
	return html`<p class="trouble said">${error instanceof ApiError ? error.detail : String(error)}</p>`;
}

/**
 * @param {{readiness: Polled<Readiness>, versions: Polled<Versions>, scrape: Polled<Scrape>}} props
 */
export function Condition({ readiness, versions, scrape }) {
	const { value, error } = readiness;
	const isReady = value?.status === "ready" && !error;
	const word = error ? "unknown" : value ? value.status : "asking";
	const build = scrape.value?.metrics.get("roost_build_info")?.[0]?.labels;
	const started = scrape.value && Math.min(...byLabel(scrape.value.metrics, "process_start_time_seconds", "process").values());
	return html`<section aria-label="condition" class="condition">
		<dl>
			<div class=${`ready ${isReady ? "is-good" : value || error ? "is-bad" : ""}`}><dt>service</dt><dd><span role="status">${word}</span></dd></div>
			${Object.entries(value?.checks ?? {}).map(([name, said]) => html`<div key=${name} class=${error ? "is-old" : said === "ok" ? "is-good" : "is-bad"} title=${CHECKS[name]}><dt>${name}</dt><dd>${String(said)}</dd></div>`)}
			<div><dt>version</dt><dd>${build?.version ?? session.service?.version ?? "–"}</dd></div>
			${build?.python && html`<div><dt>Python</dt><dd>${build.python}</dd></div>`}
			<div title="microversions of the API"><dt>API</dt><dd>${versions.value ? `${versions.value.minimum} to ${versions.value.maximum}` : "–"}</dd></div>
			<div title="who checks tokens"><dt>authentication</dt><dd>${session.service?.auth ?? "–"}</dd></div>
			${scrape.value && Number.isFinite(started) && html`<div title=${`since ${new Date(1000 * Number(started)).toLocaleString()}`}><dt>up for</dt><dd>${formatAge(scrape.value.time - 1000 * Number(started))}</dd></div>`}
		</dl>
		<${Trouble} error=${error} />
		<${Trouble} error=${versions.error} />
	</section>`;
}

/** @param {{scrape: Scrape}} props */
export function Processes({ scrape: { metrics, time } }) {
	const columns = /** @type {const} */ ([
		"roost_index_providers", "roost_index_rows", "roost_index_caught_up_timestamp_seconds", "process_resident_memory_bytes",
		"process_open_fds", "process_max_fds", "process_start_time_seconds",
	]);
	const [providers, rows, caughtUp, memory, files, filesMax, started] = columns.map((name) => byLabel(metrics, name, "process"));
	const all = [...new Set([...providers.keys(), ...memory.keys()])].sort((first, second) => Number(providers.has(second)) - Number(providers.has(first)) || Number(first) - Number(second));
	const number = (/** @type {number | undefined} */ value) => (value === undefined ? "–" : formatNumber(value));
	const age = (/** @type {number | undefined} */ seconds) => (seconds === undefined ? "–" : formatAge(time - 1000 * seconds));
	if (!all.length) return html`<p class="quiet">The metrics name no processes.</p>`;
	return html`<table class="numbers">
		<thead><tr>
			<th>process</th>
			<th class="number" title="providers in the index">providers</th>
			<th class="number" title="rows of the index: providers, and unused rows of former ones">rows</th>
			<th class="number" title="how long ago the index caught up with the database. It does so before each answer, so this grows while a process has nothing to do">caught up</th>
			<th class="number" title="processor time, over the last half minute">CPU</th>
			<th class="number" title="memory that is really used (resident)">memory</th>
			<th class="number" title="open files, of so many that are allowed">files</th>
			<th class="number">up for</th>
		</tr></thead>
		<tbody>${all.map((process) => {
			const processor = rates.rateOf("process_cpu_seconds_total", (labels) => labels.process === process);
			return html`<tr key=${process}>
				<th scope="row" class="mono">${process}${!providers.has(process) && html` <span class="quiet" title="it has no index and answers no requests: the parent of the others">parent</span>`}</th>
				<td class="number">${number(providers.get(process))}</td>
				<td class="number">${number(rows.get(process))}</td>
				<td class="number">${caughtUp.has(process) ? `${age(caughtUp.get(process))} ago` : "–"}</td>
				<td class="number">${processor === null ? "–" : `${Math.max(0, Math.round(100 * processor))} %`}</td>
				<td class="number">${memory.has(process) ? `${formatNumber(Math.round(Number(memory.get(process)) / 2 ** 20))} MB` : "–"}</td>
				<td class="number" title=${filesMax.has(process) ? `of ${number(filesMax.get(process))}` : undefined}>${number(files.get(process))}</td>
				<td class="number">${age(started.get(process))}</td>
			</tr>`;
		})}</tbody>
	</table>`;
}

/** What a counter says, and when it is worth a look: [metric, label or "", words, meaning, whether more than 0 is trouble]. */
const COUNTERS = /** @type {[string, string, string, boolean][]} */ ([
	["roost_held_requests_waiting", "claims that wait now", "claims and releases that wait for a hold of their tree to end", false],
	["roost_database_connection_timeouts_total", "timeouts of connections", "requests that got no connection in time and were answered with 503", true],
	["roost_searches_out_of_time_total", "searches out of time", "searches that used up [roost]search_seconds_max", true],
	["roost_transaction_retries_total", "transactions tried again", "the index was out of date, another writer was first, or the connection was lost", false],
]);

/** Connections and what may go wrong with the database. @param {{scrape: Scrape}} props */
export function Database({ scrape: { metrics } }) {
	const used = byLabel(metrics, "roost_database_connections_used", "pool");
	const most = byLabel(metrics, "roost_database_connections_max", "pool");
	const reloads = total(metrics, "roost_index_loads_total", (labels) => labels.reason === "anew");
	return html`<table class="numbers"><tbody>
		${[...used].sort().map(([pool, count]) => {
			const bound = most.get(pool);
			const isFull = bound !== undefined && count >= bound;
			return html`<tr key=${pool} title="connections in use, of so many that may be in use at once">
				<th scope="row">connections to ${pool}</th>
				<td class=${`number ${isFull ? "over" : ""}`}>${formatNumber(count)}${bound !== undefined && html` <span class="quiet">of ${formatNumber(bound)}</span>`}</td>
			</tr>`;
		})}
		${COUNTERS.map(([name, words, meaning, isTrouble]) => {
			const count = total(metrics, name);
			return count === null ? null : html`<tr key=${name} title=${meaning}><th scope="row">${words}</th><td class=${`number ${isTrouble && count > 0 ? "over" : ""}`}>${formatNumber(count)}</td></tr>`;
		})}
		${reloads !== null && html`<tr title="full loads of the index after the first, because the feed had a gap"><th scope="row">index loaded anew</th><td class="number">${formatNumber(reloads)}</td></tr>`}
	</tbody></table>`;
}

/** @param {{versions: Versions}} props */
export function Extensions({ versions }) {
	return html`<p class="extensions">${versions.extensions.map((name) => html`<${Chip} key=${name} text=${name} />`)}</p>`;
}
