// What the page Service reads again and again, while somebody looks at it.

import { ApiError, getOpen, getOpenJson, noAnswerOfRoost } from "../../api.js";
import { log } from "../../model/event_log.js";
import { parseMetrics } from "../../model/metrics.js";
import { Rates } from "../../model/rates.js";
import { useEffect, useState } from "../../vendor/preact.js";

const SECONDS_MAX = 8; // a service that hangs shall not look like one that is slow

/** @typedef {{status: string, checks: Record<string, string>}} Readiness */
/** @typedef {{metrics: import("../../model/metrics.js").Metrics, time: number}} Scrape `time`: of the service, in milliseconds */
/** @typedef {{minimum: string, maximum: string, extensions: string[]}} Versions */

/**
 * Read, and read again so many seconds after each answer. While the page is hidden, it waits. What was read
 * before stays until the next is there.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} read
 * @param {number} seconds
 * @returns {{value: T | null, error: unknown}}
 */
export function usePolling(read, seconds) {
	const [state, setState] = useState(/** @type {{value: T | null, error: unknown}} */ ({ value: null, error: null }));
	useEffect(() => {
		let timer = 0;
		let controller = new AbortController();
		const run = async () => {
			controller = new AbortController();
			const { signal } = controller;
			try {
				const value = await read(AbortSignal.any([signal, AbortSignal.timeout(SECONDS_MAX * 1000)]));
				if (!signal.aborted) setState({ value, error: null });
			} catch (error) {
				const isSlow = error instanceof DOMException && error.name === "TimeoutError";
				const reason = isSlow ? new ApiError(0, `The service did not answer within ${SECONDS_MAX} seconds.`) : error;
				if (!signal.aborted) setState((before) => ({ ...before, error: reason }));
			}
			if (!signal.aborted) timer = setTimeout(run, seconds * 1000);
		};
		const stop = () => (clearTimeout(timer), controller.abort());
		const follow = () => {
			stop();
			if (!document.hidden) run();
		};
		follow();
		document.addEventListener("visibilitychange", follow);
		return () => {
			document.removeEventListener("visibilitychange", follow);
			stop();
		};
	}, []);
	return state;
}

/** Whether the service is ready. @param {AbortSignal} signal @returns {Promise<Readiness>} */
export async function readReadiness(signal) {
	const answer = await getOpenJson("/readyz", {}, { signal });
	if (typeof answer?.checks !== "object" || answer.checks === null) throw noAnswerOfRoost("/readyz", 200);
	return { status: String(answer.status), checks: answer.checks };
}

/** @param {AbortSignal} signal @returns {Promise<Versions>} */
export async function readVersions(signal) {
	const answer = await getOpenJson("/", {}, { signal });
	const [version] = answer.versions ?? [];
	if (!version) throw noAnswerOfRoost("/", 200);
	return { minimum: version.min_version, maximum: version.max_version, extensions: answer.extensions ?? [] };
}

/** Those of this console, so that they are still there when somebody comes back to the page. */
export const rates = new Rates();

/** Reads the metrics, and adds them to the rates. @param {AbortSignal} signal @returns {Promise<Scrape>} */
export async function readMetrics(signal) {
	const answer = await getOpen("/metrics", {}, { signal });
	const metrics = parseMetrics(answer.status === 200 ? answer.text : "");
	if (!metrics.size) throw noAnswerOfRoost("/metrics", answer.status);
	// Clocks of computers are set now and then; this one only goes forward.
	rates.add((performance.timeOrigin + performance.now()) / 1000, metrics, log.count);
	return { metrics, time: answer.time };
}
