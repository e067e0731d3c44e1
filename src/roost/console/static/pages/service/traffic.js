// What the service does: rates and latencies as small plots, and a table of its routes.

import { Plot } from "../../draw/plot.js";
import { formatNumber } from "../../parts/values.js";
import { change } from "../../state.js";
import { html } from "../../vendor/preact.js";
import { rates } from "./polling.js";

/** @typedef {import("../../model/rates.js").RouteNumbers} RouteNumbers */

/** @param {number} value */
export function formatRate(value) {
	if (value === 0 || value >= 10) return formatNumber(Math.round(value));
	return value >= 0.1 ? value.toFixed(1) : value.toFixed(2);
}

/** @param {number} seconds */
export function formatSeconds(seconds) {
	if (seconds === 0) return "0";
	if (seconds < 0.00995) return `${(1000 * seconds).toFixed(1)} ms`;
	if (seconds < 1) return `${Math.round(1000 * seconds)} ms`;
	return `${seconds < 10 ? Number(seconds.toFixed(1)) : Math.round(seconds)} s`;
}

/** Small plots of the last five minutes. */
export function Plots() {
	const { times, lines } = rates;
	/** @typedef {import("../../model/rates.js").Line} Line */
	const rate = (/** @type {Line} */ line) => ({ name: "/s", variable: "--used", points: lines[line], isFilled: true });
	const trouble = (/** @type {string} */ name, /** @type {Line} */ line, /** @type {string} */ variable) => ({ name, variable, points: lines[line], isTrouble: true });
	const latency = (/** @type {Line} */ half, /** @type {Line} */ most) =>
		[{ name: "p50", variable: "--used", points: lines[half] }, { name: "p95", variable: "--mark", points: lines[most] }];
	return html`<div class="plots">
		<${Plot} title="requests" explanation="requests answered a second, without probes and files of the console, and those of them answered with 5xx"
			times=${times} format=${formatRate} lines=${[rate("requests"), trouble("5xx", "errors", "--over")]} />
		<${Plot} title="claims" explanation="writes of allocations and placements that succeeded, a second; and requests refused with 409"
			times=${times} format=${formatRate} lines=${[rate("claims"), trouble("conflicts", "conflicts", "--mark")]} />
		<${Plot} title="searches" explanation="searches for candidates a second" times=${times} format=${formatRate} lines=${[rate("searches")]} />
		<${Plot} title="events" explanation="changes a second, as this page received them" times=${times} format=${formatRate} lines=${[rate("events")]} />
		<${Plot} title="time to answer" explanation="half of the answers, and 95 of 100, took no longer than that; over ten seconds each"
			times=${times} format=${formatSeconds} lines=${latency("p50", "p95")} />
		<${Plot} title="time to search" explanation="the same, for candidates, explain, capacity and placements"
			times=${times} format=${formatSeconds} lines=${latency("searchP50", "searchP95")} />
	</div>`;
}

const COLUMNS = /** @type {[keyof RouteNumbers, string, string][]} */ ([
	["rate", "/s", "requests a second, over the last half minute"],
	["count", "requests", "since the service started"],
	["p50", "p50", "half of the answers took no longer; over the last half minute, or grey: since the service started"],
	["p95", "p95", "95 of 100 answers took no longer; over the last half minute, or grey: since the service started"],
	["refused", "4xx", "answers that refuse a request, since the service started"],
	["failed", "5xx", "answers that say that the service failed, since it started"],
]);

/** @param {{sort: string}} props */
export function Routes({ sort }) {
	const column = COLUMNS.find(([key]) => key === sort)?.[0] ?? "rate";
	const routes = rates.routes().sort((first, second) => Number(second[column] ?? -1) - Number(first[column] ?? -1) || second.count - first.count);
	return html`<table class="numbers routes">
		<thead><tr>
			<th>route</th>
			${COLUMNS.map(([key, name, meaning]) => html`<th key=${key} class="number" title=${meaning} aria-sort=${key === column ? "descending" : undefined}>
				<button type="button" onClick=${() => change({ sort: key === "rate" ? null : key }, { replace: true })}>${name}${key === column ? " ↓" : ""}</button>
			</th>`)}
		</tr></thead>
		<tbody>${routes.map((route) => html`<tr key=${`${route.method} ${route.route}`}>
			<th scope="row"><span class="method">${route.method}</span> <span class="mono">${route.route}</span></th>
			<td class="number">${route.rate === null ? "–" : formatRate(route.rate)}</td>
			<td class="number">${formatNumber(route.count)}</td>
			<td class=${`number ${route.isRecent ? "" : "quiet"}`}>${route.p50 === null ? "–" : formatSeconds(route.p50)}</td>
			<td class=${`number ${route.isRecent ? "" : "quiet"}`}>${route.p95 === null ? "–" : formatSeconds(route.p95)}</td>
			<td class="number">${route.refused ? formatNumber(route.refused) : html`<span class="quiet">0</span>`}</td>
			<td class=${`number ${route.failed ? "over" : ""}`}>${route.failed ? formatNumber(route.failed) : html`<span class="quiet">0</span>`}</td>
		</tr>`)}</tbody>
	</table>`;
}
