// The details of one provider.

import { capacityOf, sortClasses } from "../../model/tree.js";
import { Chip, Uuid, Word, formatNumber } from "../../parts/values.js";
import { link } from "../../state.js";
import { html } from "../../vendor/preact.js";

/** @typedef {import("../../model/tree.js").Provider} Provider */

/** Without a limit, the unit is as large as the service's numbers go. */
const UNLIMITED = 2147483647;

/** @param {{provider: Provider, providers: Provider[], marks?: Record<string, number>, resourceClass: string}} props */
export function ProviderDetails({ provider, providers, marks, resourceClass }) {
	const parent = providers.find((each) => each.uuid === provider.parent_provider_uuid);
	const classes = Object.keys(provider.inventories);
	const asked = (classes.includes(resourceClass) ? [resourceClass] : sortClasses(classes)).map((each) => `${each}:${provider.inventories[each].min_unit}`);
	return html`<section class="provider-details" aria-label=${`provider ${provider.name}`}>
		<h2 class="name">${provider.name}</h2>
		<dl class="facts">
			<dt>UUID</dt><dd><${Uuid} value=${provider.uuid} /></dd>
			<dt>parent</dt><dd>${parent ? html`<a class="name" href=${link("tree", { uuid: parent.root_provider_uuid, provider: parent.uuid })}>${parent.name}</a>` : html`<${Word} of="root">none, it is the root</${Word}>`}</dd>
			<dt><${Word}>generation</${Word}></dt><dd class="mono">${provider.generation}</dd>
		</dl>
		<h3><${Word} of="inventory">Inventories</${Word}></h3>
		${classes.length ? html`<${Inventories} provider=${provider} marks=${marks} />` : html`<p class="quiet">none: it holds other providers together</p>`}
		<h3><${Word} of="trait">Traits</${Word}> <span class="quiet">${provider.traits.length}</span></h3>
		<div class="chips">${[...provider.traits].sort().map((each) => html`<${Chip} key=${each} text=${each} href=${link("cloud", { filter: each })} title=${`${each}: show in the cloud`} />`)}</div>
		<h3><${Word} of="aggregate">Aggregates</${Word}> <span class="quiet">${provider.aggregates.length}</span></h3>
		<ul class="plain">${provider.aggregates.map((each) => html`<li key=${each}><${Uuid} value=${each} /> <a href=${link("cloud", { filter: each })}>show in the cloud</a></li>`)}</ul>
		${asked.length > 0 && html`<p><a class="button" href=${link("ask", { resources: asked.join(), in_tree: provider.uuid })}>ask for what fits here</a></p>`}
	</section>`;
}

/**
 * A column for each class, so that all numbers have room in the drawer.
 * @param {{provider: Provider, marks?: Record<string, number>}} props
 */
function Inventories({ provider, marks = {} }) {
	const levels = sortClasses(Object.keys(provider.inventories)).map((name) => {
		const inventory = provider.inventories[name];
		const used = provider.usages[name] ?? 0;
		return { name, inventory, used, free: capacityOf(inventory) - used, mark: marks[name] ?? 0 };
	});
	const limit = (/** @type {number} */ amount) => (amount === UNLIMITED ? "∞" : formatNumber(amount));
	/** @type {[string, string, (level: typeof levels[number]) => string][]} */
	const rows = [
		["used", "", (level) => formatNumber(level.used)],
		["picked out", "what the picked consumer holds of it", (level) => (level.mark ? formatNumber(level.mark) : "")],
		["free", "", (level) => formatNumber(level.free)],
		["capacity", "(total - reserved) × ratio", (level) => formatNumber(level.used + level.free)],
		["total", "", (level) => formatNumber(level.inventory.total)],
		["reserved", "kept back from the total", (level) => formatNumber(level.inventory.reserved)],
		["ratio", "allocation_ratio", (level) => formatNumber(level.inventory.allocation_ratio)],
		["min unit", "the least that one allocation may take", (level) => limit(level.inventory.min_unit)],
		["max unit", "the most that one allocation may take", (level) => limit(level.inventory.max_unit)],
		["step", "an allocation is a multiple of it", (level) => limit(level.inventory.step_size)],
	];
	const isMarked = levels.some((level) => level.mark);
	const kind = (/** @type {string} */ field, /** @type {typeof levels[number]} */ level) =>
		field === "picked out" ? "bar-mark" : field === "free" && level.free < 0 ? "over" : "";
	return html`<div class="wide-table" tabindex="0" role="region" aria-label="inventories"><table>
		<thead><tr><td></td>${levels.map(({ name }) => html`<th scope="col" class="number" key=${name}>${name}</th>`)}</tr></thead>
		<tbody>${rows.filter(([field]) => isMarked || field !== "picked out").map(([field, title, read]) => html`<tr key=${field}>
			<th scope="row" title=${title}>${field}</th>${levels.map((level) => html`<td class=${`number ${kind(field, level)}`} key=${level.name}>${read(level)}</td>`)}
		</tr>`)}</tbody>
	</table></div>`;
}
