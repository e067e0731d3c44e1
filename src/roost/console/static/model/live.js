// The stream of events, once for the whole console, and whether it flows.

import { follow } from "../api.js";
import { Store } from "../state.js";

/** @typedef {import("../api.js").CloudEvent} CloudEvent */
/** @typedef {{events?: (events: CloudEvent[]) => void, reset?: () => void}} Follower */

/** `since`: when events last flowed, in milliseconds. `reason`: why they do not, in the service's words. */
export const live = new Store({ isOpen: false, since: Date.now(), reason: "", rule: "" });

/** @type {Set<Follower>} */
const followers = new Set();
/** @type {AbortController | null} */
let running = null;
let broken = false; // events may have been missed since the stream broke, until it is open again

/**
 * Be told of events, and of `reset`: what was read before may be old, read it again.
 * @param {Follower} follower
 * @returns {() => void} ends it
 */
export function followEvents(follower) {
	followers.add(follower);
	return () => void followers.delete(follower);
}

/** @type {() => void} */
let resolveStart = () => undefined;

/** Settled once events are followed, or cannot be: what is read after that changes with events, and misses none. */
export const started = new Promise((resolve) => (resolveStart = () => resolve(undefined)));

/** Begin, or begin again with another token. */
export function startStream() {
	running?.abort();
	running = new AbortController();
	const listeners = {
		onStart: resolveStart,
		onOpen: () => {
			live.set({ isOpen: true, since: Date.now(), reason: "", rule: "" });
			broken = false;
		},
		onEvents: (/** @type {CloudEvent[]} */ events) => {
			live.value.since = Date.now();
			for (const follower of [...followers]) follower.events?.(events);
		},
		onReset: () => {
			for (const follower of [...followers]) follower.reset?.();
		},
		onBreak: (/** @type {import("../api.js").ApiError} */ error) => {
			const since = broken || !live.value.isOpen ? live.value.since : Date.now();
			broken = true;
			live.set({ isOpen: false, since, reason: error.detail, rule: error.rule });
			resolveStart();
		},
	};
	follow(listeners, running.signal);
}
