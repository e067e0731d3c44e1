// What the page Tree reads: the tree, who shares with it, and who holds something of it.

import { ApiError, get } from "../../api.js";
import { followEvents, live } from "../../model/live.js";
import { SHARING_TRAIT } from "../../model/tree.js";
import { useStore } from "../../state.js";
import { useEffect, useRef } from "../../vendor/preact.js";

/** @typedef {import("../../model/tree.js").Provider} Provider */
/** @typedef {import("../../model/consumers.js").Consumer} Consumer */
/** @typedef {{uuid: string, name: string}} Named */

export const PARTS = "inventories,usages,traits,aggregates";
const LENDERS_MAX = 50;
const BORROWERS_MAX = 200;
/** A URL has room for so many aggregates. */
const AGGREGATES_MAX = 100;
const NAMES_MAX = 20;
const EVENTS_WAIT_MS = 300;

/**
 * A tree by any of its members. If that member is gone, by the root that the tree had.
 * @param {string} uuid
 * @param {string} rootBefore empty if the tree was not read before
 * @param {AbortSignal} signal
 * @returns {Promise<Provider[]>}
 */
export async function readTree(uuid, rootBefore, signal) {
	const read = async (/** @type {string} */ tree) => (await get("/resource_providers", { tree, include: PARTS }, { signal })).resource_providers;
	try {
		return await read(uuid);
	} catch (error) {
		const isGone = error instanceof ApiError && error.status === 400;
		if (!isGone || !rootBefore || rootBefore === uuid) throw error;
		return read(rootBefore);
	}
}

/**
 * Providers of other trees that lend to this one.
 * @param {Provider[]} providers
 * @param {AbortSignal} signal
 * @returns {Promise<Provider[]>}
 */
export async function readLenders(providers, signal) {
	const aggregates = [...new Set(providers.flatMap((each) => each.aggregates))].slice(0, AGGREGATES_MAX);
	if (!aggregates.length) return [];
	const parameters = { required: SHARING_TRAIT, member_of: `in:${aggregates.join(",")}`, include: PARTS, limit: LENDERS_MAX };
	/** @type {{resource_providers: Provider[]}} */
	const answer = await get("/resource_providers", parameters, { signal });
	return answer.resource_providers.filter((each) => each.root_provider_uuid !== providers[0].root_provider_uuid);
}

/**
 * The trees to which the sharing providers of this one lend.
 * @param {Provider[]} providers
 * @param {AbortSignal} signal
 * @returns {Promise<{roots: Named[], aggregates: string[], isAll: boolean} | null>} null: no provider of this tree shares
 */
export async function readBorrowers(providers, signal) {
	const sharing = providers.filter((each) => each.traits.includes(SHARING_TRAIT));
	const aggregates = [...new Set(sharing.flatMap((each) => each.aggregates))].slice(0, AGGREGATES_MAX);
	if (!sharing.length) return null;
	if (!aggregates.length) return { roots: [], aggregates, isAll: true };
	/** @type {{resource_providers: Provider[], next?: string}} */
	const answer = await get("/resource_providers", { member_of: `in:${aggregates.join(",")}`, limit: BORROWERS_MAX }, { signal });
	const names = new Map(answer.resource_providers.map((each) => [each.uuid, each.name]));
	const uuids = [...new Set(answer.resource_providers.map((each) => each.root_provider_uuid))].filter((each) => each !== providers[0].root_provider_uuid);
	const unnamed = await readNames(uuids.filter((each) => !names.has(each)), signal);
	for (const each of unnamed) names.set(each.uuid, each.name);
	return { roots: uuids.map((uuid) => ({ uuid, name: names.get(uuid) ?? "" })), aggregates, isAll: !answer.next };
}

/**
 * The names of a few providers; those that cannot be read are left out.
 * @param {string[]} uuids
 * @param {AbortSignal} signal
 * @returns {Promise<(Named & {root_provider_uuid: string})[]>}
 */
export async function readNames(uuids, signal) {
	const answers = await Promise.all(uuids.slice(0, NAMES_MAX).map((uuid) => get("/resource_providers", { uuid }, { signal }).catch(() => null)));
	return answers.flatMap((answer) => answer?.resource_providers ?? []);
}

/**
 * Consumers, page after page, until there are `count`.
 * @param {import("../../api.js").Parameters} filters
 * @param {number} count
 * @param {number} step how many a page has
 * @param {AbortSignal} signal
 * @returns {Promise<{consumers: Consumer[], hasMore: boolean}>}
 */
export async function readConsumers(filters, count, step, signal) {
	/** @type {Consumer[]} */
	const consumers = [];
	let after;
	do {
		const answer = await get("/allocations", { ...filters, limit: Math.min(step, count - consumers.length), after }, { signal });
		consumers.push(...answer.consumers);
		after = answer.next;
	} while (after && consumers.length < count);
	return { consumers, hasMore: Boolean(after) };
}

/**
 * Call `reload` soon after events that `concerns` accepts, and when events flow again after the service was away.
 * @param {(event: import("../../api.js").CloudEvent) => boolean} concerns
 * @param {() => void} reload
 * @param {number} [wait] milliseconds, in which further events cause no further reading
 */
export function useReloading(concerns, reload, wait = EVENTS_WAIT_MS) {
	const current = useRef({ concerns, reload });
	current.current = { concerns, reload };
	const { isOpen } = useStore(live);
	const wasOpen = useRef(isOpen);
	useEffect(() => {
		if (isOpen && !wasOpen.current) current.current.reload();
		wasOpen.current = isOpen;
	}, [isOpen]);
	useEffect(() => {
		/** @type {ReturnType<typeof setTimeout> | undefined} */
		let timer;
		// The first event starts the clock and later ones do not move it: a busy tree is read again, too.
		const soon = () => (timer ??= setTimeout(() => ((timer = undefined), current.current.reload()), wait));
		const end = followEvents({
			events: (events) => {
				if (events.some((event) => current.current.concerns(event))) soon();
			},
			reset: soon,
		});
		return () => (clearTimeout(timer), end());
	}, [wait]);
}
