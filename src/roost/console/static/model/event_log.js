// What has happened since the console was opened: the last events, how many there were, and what matches.

import { followEvents, live } from "./live.js";
import { Store } from "../state.js";

export const KINDS = ["allocations", "inventories", "traits", "aggregates", "provider", "catalog"];

const ENTRIES_MAX = 2000;
const RATE_SECONDS = 10;
const SHOW_EVERY_MILLISECONDS = 200;

/** @typedef {import("../api.js").CloudEvent} CloudEvent */
/**
 * `event`: null where events were missed.
 * @typedef {{number: number, time: number, event: CloudEvent | null}} Entry
 * @typedef {{kinds: string[], trees: string[] | null}} Filter `trees`: UUIDs of providers, one of which an event must be about; null: any
 */

/** The last events, newest first. Its value counts the changes. @extends {Store<number>} */
export class EventLog extends Store {
	/** @param {() => number} [now] in milliseconds */
	constructor(now = Date.now) {
		super(0);
		this._now = now;
		this.since = now();
		/** @type {Entry[]} oldest first */
		this._entries = [];
		this.count = 0; // of everything that ever arrived
		/** @type {Map<number, number>} how many events arrived in each of the last seconds */
		this._seconds = new Map();
	}

	begin() {
		this.since = this._now();
		this.set(this.value + 1);
	}

	/** @param {CloudEvent[]} events */
	add(events) {
		const time = this._now();
		const second = Math.floor(time / 1000);
		this._seconds.set(second, (this._seconds.get(second) ?? 0) + events.length);
		for (const each of this._seconds.keys()) if (each < second - RATE_SECONDS) this._seconds.delete(each);
		for (const event of events) this._append({ number: ++this.count, time, event });
		this.set(this.value + 1);
	}

	/** Some events were not seen. */
	addGap() {
		this._append({ number: ++this.count, time: this._now(), event: null });
		this.set(this.value + 1);
	}

	/** @param {Entry} entry */
	_append(entry) {
		this._entries.push(entry);
		// Seldom, since everything else moves.
		if (this._entries.length >= 2 * ENTRIES_MAX) this._entries = this._entries.slice(-ENTRIES_MAX);
	}

	/** Events a second, over the last ten. */
	get rate() {
		const second = Math.floor(this._now() / 1000);
		const from = Math.max(second - RATE_SECONDS, Math.floor(this.since / 1000));
		let count = 0;
		for (const [each, events] of this._seconds) if (each >= from && each < second) count += events;
		return count / Math.max(1, second - from);
	}

	/** When the oldest event arrived that is still known; where none was forgotten, when the log began. */
	get oldest() {
		return this.count > ENTRIES_MAX ? this._entries[Math.max(0, this._entries.length - ENTRIES_MAX)].time : this.since;
	}

	/**
	 * The entries that match, newest first.
	 * @param {Filter} filter
	 */
	matching(filter) {
		return this._entries.slice(-ENTRIES_MAX).filter((entry) => matches(entry, filter)).reverse();
	}

	/**
	 * How many entries that match came after one.
	 * @param {Filter} filter
	 * @param {number} number
	 */
	countAfter(filter, number) {
		let count = 0;
		for (let index = this._entries.length - 1; index >= 0 && this._entries[index].number > number; index--) {
			if (this._entries[index].event && matches(this._entries[index], filter)) count += 1;
		}
		return count;
	}
}

/**
 * A gap concerns everybody.
 * @param {Entry} entry
 * @param {Filter} filter
 */
export function matches({ event }, { kinds, trees }) {
	if (!event) return true;
	if (kinds.length && !kinds.includes(event.kind)) return false;
	return !trees || trees.some((uuid) => uuid === event.tree || uuid === event.resource_provider);
}

/** From the beginning, so that the page shows what happened while another one was open. */
export const log = new EventLog();

/**
 * Events come in bursts; a page is drawn again a few times a second at most.
 * @param {() => void} draw
 * @returns {() => void} ends it
 */
export function followLog(draw) {
	let timer = 0;
	const end = log.subscribe(() => {
		timer ||= setTimeout(() => {
			timer = 0;
			draw();
		}, SHOW_EVERY_MILLISECONDS);
	});
	return () => (clearTimeout(timer), end());
}

followEvents({ events: (events) => log.add(events), reset: () => log.addGap() });

// Nothing is known from before the stream was first open.
const end = live.subscribe(() => {
	if (!live.value.isOpen) return;
	if (!log.count) log.begin();
	end();
});
