// What to ask first: requests made of what this cloud has.

import { get } from "../../api.js";
import { readParameters } from "../../model/request.js";
import { Empty, Loading, useReading } from "../../parts/conditions.js";
import { formatAmount } from "../../parts/values.js";
import { html } from "../../vendor/preact.js";
import { askLink } from "./address.js";

/** @typedef {Record<string, {capacity: number, used: number, providers: number}>} Resources */

const USUAL = ["VCPU", "MEMORY_MB", "DISK_GB"];
const AMOUNTS = /** @type {Record<string, number>} */ ({ VCPU: 2, MEMORY_MB: 4096, DISK_GB: 20 });
// Classes of parts that hosts have few of, the most telling first.
const SPECIAL = [/^VGPU$/, /^PGPU$/, /^FPGA/, /^SRIOV_NET_VF$/, /^PCPU$/, /^CUSTOM_/];

/**
 * Three requests at most, each with what it asks.
 * @param {Resources} resources the cloud's summary
 * @returns {{query: string, text: string}[]}
 */
export function makeExamples(resources) {
	const usual = USUAL.filter((name) => resources[name]?.providers);
	const ask = (/** @type {string} */ name, /** @type {number} */ amount) => `${name}:${amount}`;
	const server = usual.map((name) => ask(name, AMOUNTS[name])).join(",");
	const examples = [];
	if (server) {
		const said = usual.map((name) => `${name} ${formatAmount(name, AMOUNTS[name])}`).join(", ");
		examples.push({ query: `resources=${server}`, text: `a small server: ${said}` });
	}
	const special = SPECIAL.flatMap((pattern) => Object.keys(resources).filter((name) => pattern.test(name)))[0];
	if (special) {
		const query = server ? `resources=${server}&resources_PART=${special}:1` : `resources=${special}:1`;
		examples.push({ query, text: server ? `the same with one ${special}` : `one ${special}` });
	}
	const scarce = usual[0] ?? Object.keys(resources)[0];
	if (scarce) {
		// What an average host has in all: where hosts are in use, that rarely fits.
		const amount = Math.max(1, Math.ceil(resources[scarce].capacity / resources[scarce].providers));
		examples.push({ query: `resources=${ask(scarce, amount)}&order=spread`, text: `as much ${scarce} as an average provider has in all` });
	}
	return examples;
}

/** The page before anything is asked. */
export function Examples() {
	const { value, isLoading } = useReading((signal) => get("/summary", {}, { signal }).catch(() => ({ resources: { VCPU: { capacity: 8, used: 0, providers: 1 } }, trees: 1 })), []);
	if (isLoading && !value) return html`<${Loading} text="looking at what this cloud has" />`;
	if (!value.trees) {
		return html`<${Empty} title="There is no provider yet" command="roost demo">
			This page answers whether a request fits, where, and why not. A small data centre to try it with:
		</${Empty}>`;
	}
	return html`<div class="empty examples">
		<h2>Why is there no valid host?</h2>
		<p>Paste the query from nova's log, a URL or JSON, anywhere on this page; or build a request from the card above; or begin with one of these:</p>
		<ul>${makeExamples(value.resources).map(({ query, text }) => html`<li key=${query}>
			<a href=${askLink(readParameters(new URLSearchParams(query)))}>${text}</a><br /><code class="quiet">${query}</code></li>`)}</ul>
	</div>`;
}
