// Rates and latencies over the last minutes, from one reading of the metrics after the other.

import { bucketGrowth, growth, hasRestarted, quantile, total } from "./metrics.js";

/** @typedef {import("./metrics.js").Metrics} Metrics */
/** @typedef {import("./metrics.js").Where} Where */
/** @typedef {{time: number, metrics: Metrics}} Reading `time` in seconds */
/** @typedef {"requests" | "claims" | "searches" | "conflicts" | "errors" | "events" | "p50" | "p95" | "searchP50" | "searchP95"} Line */
/**
 * `rate`: over the last half minute; null if there are not two readings yet. `isRecent`: whether the latencies are
 * of that time, too, or of all the time since the service began.
 * @typedef {{method: string, route: string, count: number, rate: number | null, p50: number | null, p95: number | null,
 *   isRecent: boolean, refused: number, failed: number}} RouteNumbers
 */

const POINTS_MAX = 150; // five minutes, at one every two seconds
const READINGS_MAX = 15; // half a minute: what the table of routes is made from
const LATENCY_READINGS = 5; // in a shorter time there are often no requests at all
const GAP_SECONDS = 10; // nobody looked for so long: no rate can be told

const REQUESTS = "roost_http_requests_total";
const SECONDS = "roost_http_request_seconds";

/** Requests of probes, collectors and browsers that load pages are no work. @type {Where} */
const isWork = ({ route }) => !/^\/(metrics|readyz|livez|openapi\.json|console.*)$/.test(route);

/** How long the answer to `/events` takes is up to the client. @type {Where} */
const isTimed = (labels) => isWork(labels) && labels.route !== "/events";

/** @type {Where} */
const isSearch = ({ route }) => /^\/(allocation_candidates(\/explain)?|capacity|placements)$/.test(route);

/** @type {Where} */
const isClaim = ({ route, method, status }) =>
	status?.[0] === "2" && ((method === "PUT" && route === "/allocations/{consumer_uuid}") || (method === "POST" && /^\/(allocations|placements)$/.test(route)));

/** @type {Where} */
const isFailure = (labels) => labels.status?.[0] === "5" && isWork(labels);

export class Rates {
	constructor() {
		/** @type {number[]} seconds */
		this.times = [];
		/** @type {Record<Line, (number | null)[]>} */
		this.lines = { requests: [], claims: [], searches: [], conflicts: [], errors: [], events: [], p50: [], p95: [], searchP50: [], searchP95: [] };
		/** @type {Reading[]} the last ones, oldest first */
		this._readings = [];
		this._events = 0;
	}

	/**
	 * @param {number} time seconds
	 * @param {Metrics} metrics
	 * @param {number} events how many were counted so far
	 */
	add(time, metrics, events) {
		const before = this._readings[this._readings.length - 1];
		if (before && time <= before.time) return;
		if (before && time - before.time > GAP_SECONDS) {
			this._append(before.time + 1, null);
			this._readings = [];
		} else if (before && hasRestarted(before.metrics, metrics)) {
			this._append(time, null);
			this._readings = [];
		} else if (before) {
			const perSecond = (/** @type {number} */ amount) => amount / (time - before.time);
			const grown = (/** @type {string} */ name, /** @type {Where | undefined} */ where) => perSecond(growth(before.metrics, metrics, name, where));
			const earlier = this._readings[Math.max(0, this._readings.length - LATENCY_READINGS)].metrics;
			const all = bucketGrowth(earlier, metrics, SECONDS, isTimed);
			const searches = bucketGrowth(earlier, metrics, SECONDS, isSearch);
			this._append(time, {
				requests: grown(REQUESTS, isWork),
				claims: grown(REQUESTS, isClaim),
				searches: grown("roost_search_candidates_count", undefined),
				conflicts: grown("roost_conflicts_total", undefined),
				errors: grown(REQUESTS, isFailure),
				events: perSecond(events - this._events),
				p50: quantile(0.5, all),
				p95: quantile(0.95, all),
				searchP50: quantile(0.5, searches),
				searchP95: quantile(0.95, searches),
			});
		}
		this._events = events;
		this._readings.push({ time, metrics });
		if (this._readings.length > READINGS_MAX) this._readings.shift();
	}

	/**
	 * @param {number} time
	 * @param {Record<Line, number | null> | null} values null: nothing is known
	 */
	_append(time, values) {
		this.times.push(time);
		for (const line of /** @type {Line[]} */ (Object.keys(this.lines))) this.lines[line].push(values ? values[line] : null);
		if (this.times.length <= POINTS_MAX) return;
		this.times.shift();
		for (const points of Object.values(this.lines)) points.shift();
	}

	/** @returns {RouteNumbers[]} */
	routes() {
		const [first, last] = [this._readings[0], this._readings[this._readings.length - 1]];
		if (!last) return [];
		const seconds = last.time - first.time;
		/** @type {Map<string, [string, string]>} */
		const known = new Map();
		for (const { labels } of last.metrics.get(REQUESTS) ?? []) known.set(`${labels.method} ${labels.route}`, [labels.method ?? "", labels.route ?? ""]);
		return [...known.values()].map(([method, route]) => {
			const where = (/** @type {Record<string, string>} */ labels) => labels.method === method && labels.route === route;
			const answers = (/** @type {string} */ digit) => total(last.metrics, REQUESTS, (labels) => where(labels) && labels.status?.[0] === digit) ?? 0;
			const recent = bucketGrowth(first.metrics, last.metrics, SECONDS, where);
			const isRecent = quantile(0.5, recent) !== null;
			const buckets = isRecent ? recent : bucketGrowth(null, last.metrics, SECONDS, where);
			return {
				method,
				route,
				count: total(last.metrics, REQUESTS, where) ?? 0,
				rate: seconds > 0 ? growth(first.metrics, last.metrics, REQUESTS, where) / seconds : null,
				p50: quantile(0.5, buckets),
				p95: quantile(0.95, buckets),
				isRecent,
				refused: answers("4"),
				failed: answers("5"),
			};
		});
	}

	/** The growth of a counter a second, over the last half minute. @param {string} name @param {Where} [where] */
	rateOf(name, where) {
		const [first, last] = [this._readings[0], this._readings[this._readings.length - 1]];
		return last && last !== first ? growth(first.metrics, last.metrics, name, where) / (last.time - first.time) : null;
	}
}
