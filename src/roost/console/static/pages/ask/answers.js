// What the service answers to a request: where it fits, why or why not, and how many more of it.

import { ApiError, get, post } from "../../api.js";
import { followEvents } from "../../model/live.js";
import { writeParameters, writeQuery } from "../../model/request.js";
import { queryLength, writeBody } from "../../model/request_text.js";
import { useReading } from "../../parts/conditions.js";
import { useEffect, useRef, useState } from "../../vendor/preact.js";

/**
 * @typedef {import("../../model/request.js").Request} Request
 * @typedef {import("../../model/request_rules.js").Rule} Rule
 * @typedef {import("../../model/request_rules.js").Relaxation} Relaxation
 * @typedef {{rule: Rule, text: string, trees: {in: number, out: number}, providers: {in: number, out: number}}} Stage
 * @typedef {{asked: number, free: number, used: number, capacity: number, min_unit: number, max_unit: number, step_size: number}} Numbers
 * @typedef {{uuid: string, name: string, broken: string[], text: string, inventory?: Numbers, gives?: number}} Miss
 * @typedef {{uuid: string, name: string, stage: number | null, rule: Rule | null, reason: string | null, text: string,
 *   providers: Miss[], providers_more: number}} TreeReason
 * @typedef {{verdict: "fits" | "not now" | "never" | "unknown", summary: string, trees: number, providers: number, stages: Stage[],
 *   tree: TreeReason | null, nearest: TreeReason[], relaxations: Relaxation[], complete: boolean}} Explanation
 * @typedef {{allocations: Record<string, {resources: Record<string, number>}>, mappings: Record<string, string[]>}} Candidate
 * @typedef {{resources: Record<string, {capacity: number, used: number}>, traits: string[], root_provider_uuid: string}} Summary
 * @typedef {{candidates: Candidate[], summaries: Record<string, Summary>, hasMore: boolean, isComplete: boolean}} Candidates
 * @typedef {{count: number, complete: boolean}} Capacity
 */
/**
 * @template T
 * @typedef {{value: T | null, error: unknown, isLoading: boolean, reload: () => void}} Reading
 */

export const CANDIDATES_STEP = 20;
// Counting stops there, so that it is quick.
const CAPACITY_MAX = 1000;
const PAGE_MAX = 100;
const URL_LENGTH_MAX = 4000;
const TYPING_MILLISECONDS = 250;
// While events arrive, answers are renewed so often.
const RENEW_MILLISECONDS = 3000;

/**
 * Send a request to one of the paths that take one, by GET if it fits into a URL.
 * @param {string} path
 * @param {Request} request
 * @param {Record<string, string | number>} more parameters besides those of the request
 * @param {AbortSignal} [signal]
 */
export function search(path, request, more, signal) {
	if (queryLength(request) > URL_LENGTH_MAX) return post(path, { ...writeBody(request), ...more }, { signal });
	const query = writeParameters(request);
	for (const [name, value] of Object.entries(more)) query.set(name, String(value));
	return get(path, query, { signal });
}

/**
 * @param {Request} request
 * @param {AbortSignal} [signal]
 * @param {string} [tree] the UUID of a provider: about its tree alone
 * @returns {Promise<Explanation>}
 */
export function explain(request, signal, tree) {
	return search("/allocation_candidates/explain", request, tree ? { tree } : {}, signal);
}

/**
 * The first candidates. An ordered answer has pages; of others more can only be had by asking for more at once.
 * @param {Request} request
 * @param {number} count
 * @param {AbortSignal} [signal]
 * @returns {Promise<Candidates>}
 */
export async function findCandidates(request, count, signal) {
	const most = Math.min(count, Number(request.limit) || Infinity);
	/** @type {Candidates} */
	const found = { candidates: [], summaries: {}, hasMore: false, isComplete: true };
	let after;
	do {
		// A limit that is none is for the service to refuse.
		const isNumber = /^[1-9]\d*$/.test(request.limit || "1");
		/** @type {Record<string, string | number>} */
		const more = after ? { after } : {};
		if (isNumber) more.limit = request.order ? Math.min(most - found.candidates.length, PAGE_MAX) : most;
		const answer = await search("/allocation_candidates", request, more, signal);
		found.candidates.push(...answer.allocation_requests);
		Object.assign(found.summaries, answer.provider_summaries);
		found.isComplete &&= answer.complete !== false;
		after = answer.next;
	} while (after && found.candidates.length < most);
	const isFull = found.candidates.length >= most && found.candidates.length < (Number(request.limit) || Infinity);
	found.hasMore = request.order ? Boolean(after) && isFull : isFull;
	return found;
}

/**
 * All answers to a request, renewed when it or the cloud changes. Older ones are given up.
 * @param {Request} request
 * @param {number} candidatesCount
 * @param {boolean} isAsked false: there is nothing to ask yet
 */
export function useAnswers(request, candidatesCount, isAsked) {
	const query = isAsked ? writeQuery(request) : "";
	const [settled, setSettled] = useState({ query, request });
	const [round, setRound] = useState(0);
	useEffect(() => {
		const timer = setTimeout(() => setSettled({ query, request }), TYPING_MILLISECONDS);
		return () => clearTimeout(timer);
	}, [query]);
	useRenewal(() => setRound((before) => before + 1));
	const keys = [settled.query, round];
	const ask = (/** @type {(signal: AbortSignal) => Promise<any>} */ read) => (settled.query ? read : () => Promise.resolve(null));
	/** @type {Reading<Explanation>} */
	const explanation = useReading(ask((signal) => explain(settled.request, signal)), keys);
	/** @type {Reading<Capacity>} */
	const capacity = useReading(ask((signal) => search("/capacity", settled.request, { limit: CAPACITY_MAX }, signal)), keys);
	/** @type {Reading<Candidates>} */
	const candidates = useReading(ask((signal) => findCandidates(settled.request, candidatesCount, signal)), [...keys, candidatesCount]);
	const refused = [candidates.error, explanation.error].find((error) => error instanceof ApiError && error.status === 400);
	const askNow = () => {
		setSettled({ query, request });
		setRound(round + 1);
	};
	const isOld = query !== settled.query || explanation.isLoading;
	return { explanation, capacity, candidates, refusal: refused instanceof ApiError ? refused : null, isOld, askNow };
}

/** Call when the cloud has changed, not more often than every few seconds. @param {() => void} renew */
function useRenewal(renew) {
	const latest = useRef(renew);
	latest.current = renew;
	useEffect(() => {
		let timer = 0;
		const schedule = () => {
			timer ||= setTimeout(() => {
				timer = 0;
				latest.current();
			}, RENEW_MILLISECONDS);
		};
		const end = followEvents({ events: schedule, reset: schedule });
		return () => (clearTimeout(timer), end());
	}, []);
}
