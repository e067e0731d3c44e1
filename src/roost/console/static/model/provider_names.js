// Names of the providers that events are about: events have UUIDs only.

import { get } from "../api.js";
import { cloud } from "./cloud.js";
import { followEvents } from "./live.js";
import { Store } from "../state.js";

const READS_AT_ONCE = 4;
const WAITING_MAX = 300;
const NAMES_MAX = 5000;

/** Its value counts the names that were found. @extends {Store<number>} */
class ProviderNames extends Store {
	constructor() {
		super(0);
		/** @type {Map<string, string>} empty: nobody has this UUID any more, or its name may not be read */
		this._names = new Map();
		/** @type {string[]} UUIDs to read, the most urgent last */
		this._waiting = [];
		/** @type {Set<string>} */
		this._underWay = new Set();
	}

	/**
	 * The name of a provider; empty as long as it is not known. Asks for it then.
	 * @param {string} uuid
	 */
	nameOf(uuid) {
		const known = this._names.get(uuid) || nameInCloud(uuid);
		if (known) {
			if (!this._names.get(uuid)) this._remember(uuid, known);
			return known;
		}
		if (!this._names.has(uuid) && !this._underWay.has(uuid) && !this._waiting.includes(uuid)) {
			this._waiting.push(uuid);
			// What was drawn long ago is not needed any more.
			if (this._waiting.length > WAITING_MAX) this._waiting.shift();
			this._readNext();
		}
		return "";
	}

	/** Read it again when it is needed; until then the old name is shown. @param {string} uuid */
	renew(uuid) {
		if (this._names.has(uuid) && !this._underWay.has(uuid)) this._read(uuid);
	}

	_readNext() {
		while (this._underWay.size < READS_AT_ONCE && this._waiting.length) this._read(/** @type {string} */ (this._waiting.pop()));
	}

	/** @param {string} uuid */
	async _read(uuid) {
		this._underWay.add(uuid);
		try {
			const { resource_providers: found } = await get("/resource_providers", { uuid });
			// The name of what was deleted is still worth showing.
			if (found.length || !this._names.get(uuid)) this._remember(uuid, found[0]?.name ?? "");
		} catch {
			if (!this._names.has(uuid)) this._remember(uuid, "");
		}
		this._underWay.delete(uuid);
		this.set(this.value + 1);
		this._readNext();
	}

	/** @param {string} uuid @param {string} name */
	_remember(uuid, name) {
		this._names.set(uuid, name);
		// A map keeps the order in which keys came: the oldest goes.
		if (this._names.size > NAMES_MAX) this._names.delete(/** @type {string} */ (this._names.keys().next().value));
	}
}

/** @param {string} uuid */
function nameInCloud(uuid) {
	const row = cloud.rowOf?.get(uuid);
	return row === undefined ? "" : (cloud.trees[row].find((entry) => entry.uuid === uuid)?.name ?? "");
}

export const names = new ProviderNames();

followEvents({
	events: (events) => {
		for (const { kind, resource_provider: uuid, deleted } of events) if (kind === "provider" && uuid && !deleted) names.renew(uuid);
	},
});

const IS_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * The root of the tree that a name or a UUID belongs to. A UUID that nobody has may be that of a
 * provider that is gone; its events still have it.
 * @param {string} text
 * @param {AbortSignal} signal
 * @returns {Promise<string[]>} no UUID if nobody has this name
 */
export async function findTree(text, signal) {
	const isUuid = IS_UUID.test(text);
	const { resource_providers: found } = await get("/resource_providers", isUuid ? { uuid: text.toLowerCase() } : { name: text }, { signal });
	if (found.length) return [found[0].root_provider_uuid];
	return isUuid ? [text.toLowerCase()] : [];
}
