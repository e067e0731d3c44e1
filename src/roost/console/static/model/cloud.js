// The cloud as the page Cloud needs it: a row for every tree, columns of numbers for every class, kept up to date
// by events.

import { get, pages } from "../api.js";
import { Store } from "../state.js";
import { followEvents, started } from "./live.js";

const INCLUDE = "inventories,usages,traits,aggregates";
const PAGE_SIZE = 2000;
const SHOW_EVERY_MILLISECONDS = 300; // while it is loaded
const READS_AT_ONCE = 4; // trees that are read again
const READS_MAX = 400; // if more trees than that wait to be read again, everything is

/**
 * @typedef {{total: number, reserved: number, capacity: number, used: number}} Amounts
 * @typedef {{uuid: string, name: string, generation: number, amounts: Record<string, Amounts>, traits: string[], aggregates: string[]}} Entry
 * @typedef {{used: Float64Array, capacity: Float64Array, reserved: Float64Array, over: Int32Array}} Column
 * @typedef {import("../api.js").CloudEvent} CloudEvent
 *
 * `over` of a column: how many providers of the tree are over their capacity.
 */

/** @param {any} provider as the service shows it @returns {Entry} */
export function toEntry(provider) {
	/** @type {Record<string, Amounts>} */
	const amounts = {};
	for (const [name, each] of Object.entries(/** @type {Record<string, any>} */ (provider.inventories))) {
		const capacity = Math.trunc((each.total - each.reserved) * each.allocation_ratio);
		amounts[name] = { total: each.total, reserved: each.reserved, capacity, used: provider.usages[name] ?? 0 };
	}
	const { uuid, name, generation, traits, aggregates } = provider;
	return { uuid, name, generation, amounts, traits, aggregates };
}

/** Every tree of the cloud. Components follow it as a store; its value counts the changes. @extends {Store<number>} */
export class Cloud extends Store {
	/** How many providers were read. */
	providerCount = 0;

	constructor() {
		super(0);
		this.clear();
		/** @type {"unread" | "loading" | "ready" | "failed"} */
		this.state = "unread";
		/** @type {unknown} */
		this.error = null;
		/** @type {Set<(row: number) => void>} told of single rows that changed */
		this.rowListeners = new Set();
		/** @type {Set<string>} UUIDs of roots */
		this._rereads = new Set();
		this._reading = 0;
		/** @type {CloudEvent[] | null} events that arrived while the cloud is loaded */
		this._early = null;
	}

	clear() {
		/** @type {string[]} */
		this.uuids = [];
		/** @type {string[]} */
		this.names = [];
		/** @type {Entry[][]} the providers of each tree; empty if it is gone */
		this.trees = [];
		/** @type {Map<string, number>} the row of each provider */
		this.rowOf = new Map();
		/** @type {Map<string, Column>} */
		this.columns = new Map();
		/** @type {number[]} when each tree last changed while this page looked; 0: not since then */
		this.changedAt = [];
		this.providerCount = 0;
	}

	/** How many trees there are. */
	get size() {
		return this.trees.reduce((count, tree) => count + (tree.length ? 1 : 0), 0);
	}

	/** @param {number} row */
	rootOf(row) {
		return this.trees[row].find((entry) => entry.uuid === this.uuids[row]) ?? this.trees[row][0];
	}

	// -----------------------------------------------------------------------------------------
	// Reading

	/** Read everything, unless that was done or is under way. */
	async load() {
		if (this.state === "loading" || this.state === "ready") return;
		this.state = "loading";
		this.error = null;
		this._early = [];
		this.clear();
		this.set(this.value + 1);
		let shownAt = performance.now();
		try {
			await started;
			for await (const page of pages("/resource_providers", { include: INCLUDE, limit: PAGE_SIZE }, "resource_providers")) {
				for (const provider of page) this._add(provider);
				if (performance.now() - shownAt > SHOW_EVERY_MILLISECONDS) {
					shownAt = performance.now();
					this.set(this.value + 1);
				}
			}
			this.state = "ready";
		} catch (error) {
			this.state = "failed";
			this.error = error;
		}
		const early = this._early ?? [];
		this._early = null;
		this.set(this.value + 1);
		this.apply(early);
	}

	reload() {
		if (this.state === "loading") return;
		this.state = "unread";
		this.load();
	}

	/** @param {any} provider */
	_add(provider) {
		const rootUuid = provider.root_provider_uuid;
		let row = this.rowOf.get(rootUuid);
		if (row === undefined) {
			row = this.uuids.length;
			this.uuids.push(rootUuid);
			this.names.push("");
			this.trees.push([]);
			this.changedAt.push(0);
			this.rowOf.set(rootUuid, row);
		}
		const entry = toEntry(provider);
		if (entry.uuid === rootUuid) this.names[row] = entry.name;
		this.rowOf.set(entry.uuid, row);
		this.trees[row].push(entry);
		this.providerCount += 1;
		for (const [name, amounts] of Object.entries(entry.amounts)) this._addUp(row, name, amounts, 1);
	}

	/**
	 * Add what a provider has to the sums of its tree, or take it away.
	 * @param {number} row
	 * @param {string} name
	 * @param {Amounts} amounts
	 * @param {1 | -1} sign
	 */
	_addUp(row, name, amounts, sign) {
		const column = this._column(name, row);
		column.used[row] += sign * amounts.used;
		column.capacity[row] += sign * amounts.capacity;
		column.reserved[row] += sign * amounts.reserved;
		if (amounts.used > amounts.capacity) column.over[row] += sign;
	}

	/**
	 * @param {string} name
	 * @param {number} row the column is at least so long
	 */
	_column(name, row) {
		let column = this.columns.get(name);
		if (!column || column.used.length <= row) {
			const length = Math.max(1024, 2 * row);
			const longer = {
				used: new Float64Array(length),
				capacity: new Float64Array(length),
				reserved: new Float64Array(length),
				over: new Int32Array(length),
			};
			if (column) for (const part of /** @type {(keyof Column)[]} */ (Object.keys(longer))) longer[part].set(column[part]);
			column = longer;
			this.columns.set(name, column);
		}
		return column;
	}

	// -----------------------------------------------------------------------------------------
	// Changing

	/** @param {CloudEvent[]} events */
	apply(events) {
		if (this.state === "unread" || this.state === "failed") return;
		if (this._early) {
			this._early.push(...events);
			return;
		}
		for (const event of events) this._applyOne(event);
		if (this._rereads.size > READS_MAX) {
			this._rereads.clear();
			this.reload();
		} else this._readAgain();
	}

	/** @param {CloudEvent} event */
	_applyOne(event) {
		if (!event.resource_provider || !event.tree) return;
		const row = this.rowOf.get(event.resource_provider);
		const entry = row === undefined ? undefined : this.trees[row].find((each) => each.uuid === event.resource_provider);
		// The difference counts only if nothing else has happened since the provider was read. A release advances
		// no generation, so it cannot be told whether what was read includes it.
		if (row !== undefined && entry && event.kind === "allocations" && event.usage && event.generation !== undefined) {
			if (event.generation <= entry.generation) return;
			if (event.generation === entry.generation + 1) {
				entry.generation = event.generation;
				for (const [name, difference] of Object.entries(event.usage)) {
					const amounts = entry.amounts[name];
					if (!amounts) continue;
					this._addUp(row, name, amounts, -1);
					amounts.used += difference;
					this._addUp(row, name, amounts, 1);
				}
				this._rowChanged(row);
				return;
			}
		}
		this._rereads.add(event.tree);
		// The tree that a provider has left changes, too.
		if (row !== undefined && this.uuids[row] !== event.tree) this._rereads.add(this.uuids[row]);
	}

	/** @param {number} row */
	_rowChanged(row) {
		this.changedAt[row] = Date.now();
		for (const listener of this.rowListeners) listener(row);
	}

	_readAgain() {
		while (this._reading < READS_AT_ONCE && this._rereads.size) {
			const [root] = this._rereads;
			this._rereads.delete(root);
			this._reading += 1;
			get("/resource_providers", { in_tree: root, include: INCLUDE })
				.then((answer) => this._replaceTree(root, answer.resource_providers))
				// The next event of this tree, or a reload, reads it again.
				.catch(() => undefined)
				.finally(() => {
					this._reading -= 1;
					this._readAgain();
				});
		}
	}

	/**
	 * @param {string} root
	 * @param {any[]} providers none if the tree is gone
	 */
	_replaceTree(root, providers) {
		let row = this.rowOf.get(root);
		const before = this.uuids.length;
		const old = row === undefined ? [] : this.trees[row];
		if (row !== undefined) {
			this.trees[row] = [];
			this.providerCount -= old.length;
			for (const entry of old) {
				if (entry.uuid !== root) this.rowOf.delete(entry.uuid);
				for (const [name, amounts] of Object.entries(entry.amounts)) this._addUp(row, name, amounts, -1);
			}
		}
		for (const provider of providers) this._add(provider);
		row = this.rowOf.get(root);
		if (row === undefined) return;
		this._rowChanged(row);
		// Trees that come and go, and traits and aggregates that change, move cells.
		const facts = (/** @type {Entry[]} */ tree) => JSON.stringify(tree.map((entry) => [entry.name, entry.traits, entry.aggregates]));
		if (this.uuids.length !== before || !old.length !== !providers.length || facts(old) !== facts(this.trees[row])) this.set(this.value + 1);
	}

	// -----------------------------------------------------------------------------------------
	// Asking

	/** The classes of which any tree has something, the common ones first. */
	classNames() {
		const first = ["VCPU", "PCPU", "MEMORY_MB", "DISK_GB"];
		const others = [...this.columns.keys()].filter((name) => !first.includes(name)).sort();
		return [...first.filter((name) => this.columns.has(name)), ...others];
	}

	/**
	 * Providers whose names contain a text; those that begin with it first.
	 * @param {string} text
	 * @param {number} most
	 * @returns {{uuid: string, name: string}[]}
	 */
	findNames(text, most) {
		const lower = text.toLowerCase();
		const found = [];
		for (const tree of this.trees) {
			for (const entry of tree) {
				const place = entry.name.toLowerCase().indexOf(lower);
				if (place < 0) continue;
				found.push({ place, entry });
				if (found.length >= 50 * most) break;
			}
		}
		found.sort((a, b) => a.place - b.place || a.entry.name.length - b.entry.name.length || (a.entry.name < b.entry.name ? -1 : 1));
		return found.slice(0, most).map(({ entry }) => entry);
	}
}

export const cloud = new Cloud();
followEvents({ events: (events) => cloud.apply(events), reset: () => cloud.state === "unread" || cloud.reload() });
