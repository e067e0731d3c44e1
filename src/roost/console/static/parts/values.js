// How values are shown everywhere: amounts, UUIDs, traits, words with their meaning.

import { html, useState } from "../vendor/preact.js";
import { link } from "../state.js";

const NUMBER = new Intl.NumberFormat("en-US");
const UNITS = /** @type {Record<string, [number, string][]>} */ ({
	MEMORY_MB: [[1024 * 1024, "TB"], [1024, "GB"], [1, "MB"]],
	DISK_GB: [[1024 * 1024, "PB"], [1024, "TB"], [1, "GB"]],
});

/** @param {number} amount */
export const formatNumber = (amount) => NUMBER.format(amount);

/**
 * A short form with its unit: 253,952 of MEMORY_MB is "248 GB".
 * @param {string} resourceClass
 * @param {number} amount
 */
export function formatAmount(resourceClass, amount) {
	for (const [size, unit] of UNITS[resourceClass] ?? []) {
		if (Math.abs(amount) >= size) {
			const value = amount / size;
			return `${NUMBER.format(value < 10 ? Math.round(value * 10) / 10 : Math.round(value))} ${unit}`;
		}
	}
	return NUMBER.format(amount);
}

/** @param {number} part @param {number} whole */
export function formatShare(part, whole) {
	if (whole <= 0) return part > 0 ? "over" : "–";
	return `${Math.round((100 * part) / whole)} %`;
}

/** How long ago, in the largest unit. @param {number} milliseconds */
export function formatAge(milliseconds) {
	const seconds = Math.max(0, Math.round(milliseconds / 1000));
	if (seconds < 60) return `${seconds} s`;
	if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
	if (seconds < 2 * 86400) return `${Math.floor(seconds / 3600)} h`;
	return `${NUMBER.format(Math.floor(seconds / 86400))} d`;
}

/**
 * The first eight characters of a UUID; a click copies all of it.
 * @param {{value: string}} props
 */
export function Uuid({ value }) {
	const [copied, setCopied] = useState(false);
	const copy = async (/** @type {Event} */ event) => {
		event.stopPropagation();
		await navigator.clipboard?.writeText(value).catch(() => undefined);
		setCopied(true);
		setTimeout(() => setCopied(false), 1000);
	};
	const title = `${value} (click to copy)`;
	return html`<button type="button" class="uuid" title=${title} aria-label=${`copy ${value}`} onClick=${copy}
		>${copied ? "copied  " : value.slice(0, 8)}</button>`;
}

/**
 * A provider as a link to its tree.
 * @param {{uuid: string, name?: string}} props
 */
export function ProviderLink({ uuid, name }) {
	return html`<a class="name" href=${link("tree", { uuid })} title=${name ? `${name}\n${uuid}` : uuid}
		>${name || uuid.slice(0, 8)}</a>`;
}

/**
 * @param {{text: string, title?: string, kind?: string, href?: string}} props
 */
export function Chip({ text, title, kind = "", href }) {
	const shown = title ?? text;
	if (href) return html`<a class=${`chip ${kind}`} title=${shown} href=${href}>${text}</a>`;
	return html`<span class=${`chip ${kind}`} title=${shown}>${text}</span>`;
}

/** Words of the API, as docs/reference/glossary.md has them. */
const MEANINGS = /** @type {Record<string, string>} */ ({
	aggregate: "a named set of providers, known by a UUID only",
	allocation: "an amount of one class that one consumer holds of one provider",
	candidate: "one way to serve a whole request: amounts by provider and class",
	capacity: "how much of an inventory may be allocated in all: (total - reserved) × allocation ratio",
	consumer: "who holds allocations, an instance for example; has a project, a user and a type",
	generation: "a number on a provider or a consumer that grows with each write",
	group: "resources that are asked for together; one provider serves a suffixed group alone",
	inventory: "what a provider has of one class: total, reserved, units, ratio",
	provider: "one node of a tree that has resources: a host, a NUMA node, a NIC, a storage pool",
	relaxation: "one rule of a request that, taken out or lowered, gives it a candidate",
	reserved: "what is kept back from an inventory, for the host itself for example",
	"resource class": "a kind of resource: VCPU, MEMORY_MB, CUSTOM_LICENCE",
	root: "the provider without a parent at the top of a tree",
	"sharing provider": "one with the trait MISC_SHARES_VIA_AGGREGATE: it serves every tree with a provider in one of its aggregates",
	trait: "a quality of a provider, such as HW_CPU_X86_AVX2",
	tree: "a root and all providers below it",
});

/**
 * A word of the API with what it means.
 * @param {{children?: string, of?: string}} props `of`: the word in the glossary, if another form is shown
 */
export function Word({ children, of }) {
	const meaning = MEANINGS[of ?? children ?? ""];
	return html`<span class=${meaning ? "word" : ""} title=${meaning}>${children}</span>`;
}
