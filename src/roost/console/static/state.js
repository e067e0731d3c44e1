// What the console remembers: the address (the state of a page), the theme, and, in memory only, the token.

import { useEffect, useReducer } from "./vendor/preact.js";

/** A value that components follow. @template T */
export class Store {
	/** @param {T} value */
	constructor(value) {
		this.value = value;
		/** @type {Set<() => void>} */
		this._listeners = new Set();
	}

	/** @param {T} value */
	set(value) {
		this.value = value;
		this.changed();
	}

	/** For values that change in place. */
	changed() {
		for (const listener of [...this._listeners]) listener();
	}

	/** @param {() => void} listener */
	subscribe(listener) {
		this._listeners.add(listener);
		return () => void this._listeners.delete(listener);
	}
}

/**
 * The value of a store; the component is drawn again when it changes.
 * @template T
 * @param {Store<T>} store
 * @returns {T}
 */
export function useStore(store) {
	const [, redraw] = useReducer((/** @type {number} */ count) => count + 1, 0);
	useEffect(() => store.subscribe(() => redraw(undefined)), [store]);
	return store.value;
}

// ---------------------------------------------------------------------------------------------
// The address

export const PAGES = ["cloud", "ask", "consumers", "events", "service", "tree", "docs"];

/** @typedef {{page: string, parameters: URLSearchParams}} Address */

/** @returns {Address} */
function readAddress() {
	const page = location.pathname.match(/\/(?:console\/)?([^/]*)$/)?.[1] ?? "";
	return { page: PAGES.includes(page) ? page : "cloud", parameters: new URLSearchParams(location.search) };
}

export const address = new Store(readAddress());
addEventListener("popstate", () => address.set(readAddress()));

/**
 * The link to a page. Colons and commas stay readable.
 * @param {string} page
 * @param {URLSearchParams | Record<string, string | null | undefined>} [parameters]
 */
export function link(page, parameters = {}) {
	const query = new URLSearchParams();
	const entries = parameters instanceof URLSearchParams ? parameters : Object.entries(parameters);
	// What was given as a query is kept as it is, even where it is empty.
	for (const [name, value] of entries) if (value || parameters instanceof URLSearchParams) query.append(name, value ?? "");
	const text = query.toString().replaceAll("%3A", ":").replaceAll("%2C", ",").replaceAll("%21", "!");
	return `${page}${text ? `?${text}` : ""}`;
}

/**
 * Go to a page. `replace` leaves no entry in the history: for what changes with every key.
 * @param {string} page
 * @param {URLSearchParams | Record<string, string | null | undefined>} [parameters]
 * @param {{replace?: boolean}} [options]
 */
export function go(page, parameters = {}, { replace = false } = {}) {
	const target = link(page, parameters);
	if (new URL(target, document.baseURI).href === location.href) return;
	history[replace ? "replaceState" : "pushState"](null, "", target);
	address.set(readAddress());
}

/**
 * Change some parameters of this page; null or "" removes one.
 * @param {Record<string, string | null | undefined>} changes
 * @param {{replace?: boolean}} [options]
 */
export function change(changes, options) {
	const { page, parameters } = address.value;
	const next = new URLSearchParams(parameters);
	for (const [name, value] of Object.entries(changes)) {
		if (value) next.set(name, value);
		else next.delete(name);
	}
	go(page, next, options);
}

export const useAddress = () => useStore(address);

/** Clicks on links to pages do not load the document again. @param {MouseEvent} event */
export function followLink(event) {
	const anchor = event.target instanceof Element ? event.target.closest("a[href]") : null;
	const opensElsewhere = event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.defaultPrevented;
	if (!(anchor instanceof HTMLAnchorElement) || anchor.target || opensElsewhere) return;
	const target = new URL(anchor.href);
	const folder = new URL(".", document.baseURI).href;
	if (!target.href.startsWith(folder) || !PAGES.includes(target.pathname.split("/").slice(-1)[0])) return;
	event.preventDefault();
	if (target.href !== location.href) {
		history.pushState(null, "", target.href);
		address.set(readAddress());
	}
}

// ---------------------------------------------------------------------------------------------
// The theme

const THEMES = ["", "light", "dark"]; // "": as the system has it

export const theme = new Store(localStorage.getItem("roost-theme") ?? "");

export function applyTheme() {
	document.documentElement.dataset.theme = theme.value;
}

export function nextTheme() {
	theme.set(THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length]);
	localStorage.setItem("roost-theme", theme.value);
	applyTheme();
}

/** Whether the page is dark now. */
export function isDark() {
	return theme.value ? theme.value === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

// ---------------------------------------------------------------------------------------------
// Who is asking

/** Who uses the console. The token is never stored. @extends {Store<number>} */
class Session extends Store {
	constructor() {
		super(0);
		/** @type {string | null} */
		this.token = null;
		/** @type {{auth: string, login: boolean, version: string} | null} null until the service was asked */
		this.service = null;
		this.refusal = ""; // why the service did not accept the last token
	}

	/** @param {string} token */
	accept(token) {
		this.token = token;
		this.refusal = "";
		this.set(this.value + 1);
	}

	/** @param {string} refusal */
	refuse(refusal) {
		if (this.token === null && this.refusal === refusal) return;
		this.token = null;
		this.refusal = refusal;
		this.set(this.value + 1);
	}
}

export const session = new Session();
