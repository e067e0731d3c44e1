// Requests to the service: reads, pages, the stream of events, and errors in the service's own words.

import { session } from "./state.js";

/** The address of the service: everything before `/console/`, or `/docs`. */
export const SERVICE_URL = location.origin + location.pathname.replace(/\/(console(\/.*)?|docs)$/, "");

export const VERSION = "placement 1.39";
const RECONNECT_SECONDS_MAX = 10;

/** @typedef {Record<string, string | number | string[] | null | undefined>} Parameters */

/** What the service said instead of an answer. */
export class ApiError extends Error {
	/**
	 * @param {number} status 0: the service did not answer at all
	 * @param {string} detail one or more sentences
	 * @param {{code?: string, requestId?: string}} [more]
	 */
	constructor(status, detail, { code = "", requestId = "" } = {}) {
		super(detail);
		this.status = status;
		this.detail = detail;
		this.code = code;
		this.requestId = requestId;
	}

	/** The policy rule that forbids a request; empty if it was not refused by one. */
	get rule() {
		return this.status === 403 ? (this.detail.match(/placement:[\w:]+/)?.[0] ?? "") : "";
	}
}

/**
 * @param {string} path
 * @param {Parameters | URLSearchParams} [parameters]
 */
export function url(path, parameters = {}) {
	const query = parameters instanceof URLSearchParams ? parameters : toQuery(parameters);
	const text = query.toString();
	return SERVICE_URL + path + (text ? `?${text}` : "");
}

/** @param {Parameters} parameters */
function toQuery(parameters) {
	const query = new URLSearchParams();
	for (const [name, value] of Object.entries(parameters)) {
		if (value === null || value === undefined || value === "") continue;
		for (const each of Array.isArray(value) ? value : [value]) query.append(name, String(each));
	}
	return query;
}

/**
 * @param {string} path
 * @param {Parameters | URLSearchParams} [parameters]
 * @param {{signal?: AbortSignal}} [options]
 * @returns {Promise<any>}
 */
export async function get(path, parameters, { signal } = {}) {
	const response = await send(url(path, parameters), { signal });
	return response.json();
}

/**
 * Only for requests whose body would not fit into a URL; none of them writes.
 * @param {string} path
 * @param {object} body
 * @param {{signal?: AbortSignal}} [options]
 * @returns {Promise<any>}
 */
export async function post(path, body, { signal } = {}) {
	const headers = { "content-type": "application/json" };
	const response = await send(url(path), { method: "POST", headers, body: JSON.stringify(body), signal });
	return response.status === 204 ? null : response.json();
}

/**
 * One of the paths that need no token, such as /metrics. They answer with a body that says what is
 * wrong, too. A proxy may block them; its refusal says nothing about the token.
 * @param {string} path
 * @param {Parameters} [parameters]
 * @param {{signal?: AbortSignal}} [options]
 */
export async function getOpen(path, parameters, { signal } = {}) {
	try {
		const response = await fetch(url(path, parameters), { signal, cache: "no-store" });
		// Their clock, since that of the browser may be wrong.
		const time = Date.parse(response.headers.get("date") ?? "") || Date.now();
		return { status: response.status, text: await response.text(), time };
	} catch (error) {
		if (signal?.aborted) throw error;
		throw new ApiError(0, "The service does not answer.");
	}
}

/**
 * The same, of a path that answers with JSON, whatever the status: a service that is not ready says why.
 * @param {string} path
 * @param {Parameters} [parameters]
 * @param {{signal?: AbortSignal}} [options]
 * @returns {Promise<any>}
 */
export async function getOpenJson(path, parameters, options) {
	const { status, text } = await getOpen(path, parameters, options);
	try {
		return Object(JSON.parse(text));
	} catch {
		throw noAnswerOfRoost(path, status);
	}
}

/** @param {string} path @param {number} status */
export function noAnswerOfRoost(path, status) {
	return new ApiError(status, `GET ${path} was answered with ${status}, and not by roost as it seems. A proxy may block this path.`);
}

/**
 * The pages of a list, one after the other.
 * @param {string} path
 * @param {Parameters} parameters
 * @param {string} key the name of the list in the answer
 * @param {{signal?: AbortSignal}} [options]
 * @returns {AsyncGenerator<any[]>}
 */
export async function* pages(path, parameters, key, { signal } = {}) {
	let after;
	do {
		const answer = await get(path, { ...parameters, after }, { signal });
		yield answer[key];
		after = answer.next;
	} while (after);
}

/**
 * @param {string} address
 * @param {RequestInit} init
 */
async function send(address, init) {
	/** @type {Record<string, string>} */
	const headers = { accept: "application/json", "openstack-api-version": VERSION };
	if (session.token) headers["x-auth-token"] = session.token;
	let response;
	try {
		response = await fetch(address, { ...init, headers: { ...headers, ...init.headers }, cache: "no-store" });
	} catch (error) {
		if (init.signal?.aborted) throw error;
		throw new ApiError(0, "The service does not answer.");
	}
	if (response.ok) return response;
	const refused = await readError(response);
	if (refused.status === 401) session.refuse(refused.detail);
	throw refused;
}

/** @param {Response} response */
async function readError(response) {
	const text = await response.text();
	let error;
	try {
		const body = JSON.parse(text);
		error = body.errors?.[0] ?? body.error ?? body;
	} catch {
		return new ApiError(response.status, text.trim() || `${response.status} ${response.statusText}`);
	}
	// The detail begins with the standard explanation of its status, then a blank line.
	const detail = String(error.detail ?? error.message ?? response.statusText);
	return new ApiError(response.status, detail.split("\n\n").slice(-1)[0].trim(), {
		code: error.code,
		requestId: error.request_id ?? response.headers.get("x-openstack-request-id") ?? "",
	});
}

// ---------------------------------------------------------------------------------------------
// Events

/**
 * @typedef {{kind: string, resource_provider?: string, tree?: string, generation?: number,
 *   usage?: Record<string, number>, deleted?: boolean}} CloudEvent
 * @typedef {{
 *   onStart: () => void,
 *   onEvents: (events: CloudEvent[]) => void,
 *   onReset: () => void,
 *   onOpen: () => void,
 *   onBreak: (error: ApiError) => void,
 * }} EventListeners
 */

/**
 * Follow the change feed until `signal` aborts. Reconnects from the last position, so that no event is
 * missed; where that is not possible, `onReset` says that everything must be read again.
 * @param {EventListeners} listeners
 * @param {AbortSignal} signal
 */
export async function follow(listeners, signal) {
	let position = "";
	let failures = 0;
	while (!signal.aborted) {
		try {
			if (!position) {
				// A stream that breaks off before its first event would not say where it was.
				position = (await get("/events", {}, { signal })).position;
				listeners.onStart();
			}
			// EventSource cannot send a token, so the stream is read by hand.
			const headers = { accept: "text/event-stream", "last-event-id": position };
			const response = await send(url("/events"), { headers, signal });
			failures = 0;
			listeners.onOpen();
			position = await readStream(response, position, listeners);
		} catch (error) {
			if (signal.aborted) return;
			failures += 1;
			listeners.onBreak(error instanceof ApiError ? error : new ApiError(0, "The stream of events broke off."));
		}
		await pause(failures ? Math.min(RECONNECT_SECONDS_MAX, 0.5 * 2 ** (failures - 1)) : 0.05, signal);
	}
}

/**
 * @param {Response} response
 * @param {string} position
 * @param {EventListeners} listeners
 */
async function readStream(response, position, listeners) {
	const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
	const decoder = new TextDecoder();
	let rest = "";
	try {
		for (;;) {
			const { done, value } = await reader.read();
			if (done) return position;
			rest += decoder.decode(value, { stream: true });
			const parts = rest.split("\n\n");
			rest = /** @type {string} */ (parts.pop());
			const events = [];
			for (const part of parts) {
				const message = parseMessage(part);
				position = message.id || position;
				if (message.event === "reset") listeners.onReset();
				else if (message.data) events.push(JSON.parse(message.data));
			}
			if (events.length) listeners.onEvents(events);
		}
	} catch {
		// What was read until now counts; the next stream goes on from there.
		return position;
	}
}

/**
 * One message of a stream of server-sent events.
 * @param {string} text
 */
export function parseMessage(text) {
	const message = { id: "", event: "", data: "" };
	for (const line of text.split("\n")) {
		const [, name, value] = line.match(/^(id|event|data): ?(.*)$/) ?? [];
		if (name) message[/** @type {"id"} */ (name)] = value;
	}
	return message;
}

/**
 * @param {number} seconds
 * @param {AbortSignal} signal
 */
function pause(seconds, signal) {
	return new Promise((resolve) => {
		const timer = setTimeout(resolve, seconds * 1000);
		signal.addEventListener("abort", () => (clearTimeout(timer), resolve(undefined)), { once: true });
	});
}
