// The names of providers and of their roots, read when somebody looks at them.

import { get } from "../../api.js";
import { Store, useStore } from "../../state.js";
import { useEffect } from "../../vendor/preact.js";

/** @typedef {{name: string, root: string}} Place `root`: the UUID of the root of its tree; empty if that is not known */

const READERS_MAX = 4;

/** What is known by now, by UUID. @type {Store<Map<string, Place>>} */
const places = new Store(new Map());
/** @type {Set<string>} */
const asked = new Set();
/** @type {string[]} */
const queue = [];
let readers = 0;

/**
 * The places of some providers; those that are not known are read, a tree at a time.
 * @param {string[]} uuids
 * @param {boolean} isWanted false: only what is known already
 */
export function usePlaces(uuids, isWanted) {
	const known = useStore(places);
	const missing = isWanted ? uuids.filter((uuid) => !asked.has(uuid)) : [];
	useEffect(() => {
		for (const uuid of missing) {
			asked.add(uuid);
			queue.push(uuid);
		}
		while (readers < READERS_MAX && queue.length) read();
	}, [missing.join()]);
	return known;
}

/** Names that came with a report. @param {Record<string, string>} names */
export function addNames(names) {
	for (const [uuid, name] of Object.entries(names)) if (!places.value.has(uuid)) places.value.set(uuid, { name, root: "" });
	places.changed();
}

async function read() {
	readers += 1;
	for (let uuid = queue.shift(); uuid; uuid = queue.shift()) {
		// Another member of the same tree may have been read meanwhile.
		if (places.value.get(uuid)?.root) continue;
		const answer = await get("/resource_providers", { tree: uuid }).catch(() => ({ resource_providers: [] }));
		for (const each of answer.resource_providers) places.value.set(each.uuid, { name: each.name, root: each.root_provider_uuid });
		places.changed();
	}
	readers -= 1;
}

/**
 * The trees in which the providers are, each once: as far as it is known.
 * @param {string[]} uuids
 * @param {Map<string, Place>} known
 * @returns {{uuid: string, name: string, providers: string[]}[]}
 */
export function treesOf(uuids, known) {
	/** @type {Map<string, {uuid: string, name: string, providers: string[]}>} */
	const trees = new Map();
	for (const uuid of uuids) {
		const place = known.get(uuid);
		const root = place?.root || uuid;
		const tree = trees.get(root) ?? { uuid: root, name: known.get(root)?.name ?? place?.name ?? "", providers: [] };
		tree.providers.push(uuid);
		trees.set(root, tree);
	}
	return [...trees.values()];
}
