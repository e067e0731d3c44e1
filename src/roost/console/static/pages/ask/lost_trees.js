// The trees that a rule of the funnel lost, each with its first reason.
//
// The service explains one tree at a time, and names the five nearest ones. Further trees are found by
// two searches, one with the rules before this one and one with this one too: who is in the first
// answer alone may have been lost here. The service then says of each of them whether that is so, and why.

import { get } from "../../api.js";
import { hasResources } from "../../model/request.js";
import { without } from "../../model/request_rules.js";
import { SHARING_TRAIT } from "../../model/tree.js";
import { explain, search } from "./answers.js";

/**
 * @typedef {import("../../model/request.js").Request} Request
 * @typedef {import("./answers.js").Explanation} Explanation
 * @typedef {import("./answers.js").TreeReason} TreeReason
 * @typedef {import("./answers.js").Candidate} Candidate
 * @typedef {import("./answers.js").Summary} Summary
 * @typedef {{roots: string[], until: string | null}} Roots `until`: those up to this UUID are all there; null: all are
 */

const CANDIDATES_PAGE = 500;
const CANDIDATE_PAGES_MAX = 4;
const PROVIDERS_PAGE = 1000;
const PROVIDER_PAGES_MAX = 10;
const EXPLAINED_AT_ONCE = 3;

/**
 * The root of the tree that a candidate belongs to; what it takes from a provider that shares belongs to another.
 * @param {Candidate} candidate
 * @param {Record<string, Summary>} summaries
 */
export function rootOf(candidate, summaries) {
	const uuids = Object.keys(candidate.allocations);
	const own = uuids.find((uuid) => !summaries[uuid]?.traits.includes(SHARING_TRAIT)) ?? uuids[0];
	return summaries[own]?.root_provider_uuid ?? own;
}

/**
 * UUIDs of trees that may have been lost at a stage.
 * @param {Request} request
 * @param {Explanation} explanation
 * @param {number} number of the stage
 * @param {AbortSignal} signal
 */
export async function guessLost(request, explanation, number, signal) {
	const rules = explanation.stages.map((stage) => stage.rule);
	const { trees } = explanation.stages[number];
	const [came, stayed] = await Promise.all([
		findRoots(without(request, rules.slice(number)), signal),
		trees.out ? findRoots(without(request, rules.slice(number + 1)), signal) : { roots: [], until: null },
	]);
	const isLeft = new Set(stayed.roots);
	return came.roots.filter((uuid) => !isLeft.has(uuid) && (stayed.until === null || uuid <= stayed.until));
}

/** @param {Request} request @param {AbortSignal} signal @returns {Promise<Roots>} */
function findRoots(request, signal) {
	return hasResources(request) ? rootsByCandidates(request, signal) : rootsByRules(request, signal);
}

/** @param {Request} request @param {AbortSignal} signal @returns {Promise<Roots>} */
async function rootsByCandidates(request, signal) {
	const ordered = { ...request, order: "root", limit: "", others: [] };
	/** @type {Set<string>} */
	const roots = new Set();
	let after;
	for (let page = 0; page < CANDIDATE_PAGES_MAX; page += 1) {
		const answer = await search("/allocation_candidates", ordered, { limit: CANDIDATES_PAGE, ...(after ? { after } : {}) }, signal);
		for (const candidate of answer.allocation_requests) {
			const root = rootOf(candidate, answer.provider_summaries);
			// Trees take turns: when one comes again, all have been there.
			if (roots.has(root)) return { roots: [...roots], until: null };
			roots.add(root);
		}
		after = answer.next;
		if (!after) return { roots: [...roots], until: null };
	}
	const all = [...roots];
	return { roots: all, until: all[all.length - 1] };
}

/** A request without resources has rules about roots alone. @param {Request} request @param {AbortSignal} signal @returns {Promise<Roots>} */
async function rootsByRules(request, signal) {
	const single = request.rootRequired.filter((each) => !each.startsWith("in:")).join(",");
	const required = [single, ...request.rootRequired.filter((each) => each.startsWith("in:"))].filter(Boolean);
	const roots = [];
	let after;
	for (let page = 0; page < PROVIDER_PAGES_MAX; page += 1) {
		const parameters = { required, member_of: request.rootMemberOf, limit: PROVIDERS_PAGE, after };
		const answer = await get("/resource_providers", parameters, { signal });
		for (const each of answer.resource_providers) if (each.uuid === each.root_provider_uuid) roots.push(each.uuid);
		after = answer.next;
		if (!after) break;
	}
	return { roots, until: null };
}

/**
 * Ask why each of these trees was lost, a few at a time, until so many have been lost at this stage.
 * @param {Request} request
 * @param {string[]} guesses
 * @param {number} number of the stage
 * @param {number} most
 * @param {AbortSignal} signal
 * @returns {Promise<{reasons: TreeReason[], rest: string[]}>} `rest`: of which was not asked
 */
export async function explainLost(request, guesses, number, most, signal) {
	/** @type {TreeReason[]} */
	const reasons = [];
	let asked = 0;
	while (asked < guesses.length && reasons.length < most && asked < 4 * most) {
		const batch = guesses.slice(asked, asked + EXPLAINED_AT_ONCE);
		asked += batch.length;
		const answers = await Promise.all(batch.map((uuid) => explain(request, signal, uuid)));
		for (const { tree } of answers) if (tree?.stage === number) reasons.push(tree);
	}
	return { reasons, rest: guesses.slice(asked) };
}
