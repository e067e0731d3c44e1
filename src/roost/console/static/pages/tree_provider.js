// The details of one provider.

import { capacityOf, sortClasses } from "../model/tree.js";
import { Chip, Uuid, Word, formatNumber } from "../parts/values.js";
import { link } from "../state.js";
import { html } from "../vendor/preact.js";

/** @typedef {import("../model/tree.js").Provider} Provider */

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

/** @param {{provider: Provider, marks?: Record<string, number>}} props */
function Inventories({ provider, marks = {} }) {
	const isMarked = Object.keys(marks).length > 0;
	const limit = (/** @type {number} */ amount) => (amount === UNLIMITED ? "∞" : formatNumber(amount));
	return html`<div class="wide-table" tabindex="0" role="region" aria-label="inventories"><table>
		<thead><tr>
			<th>class</th><th class="number">used</th><th class="number">free</th><th class="number">capacity</th><th class="number">total</th>
			<th class="number">reserved</th><th class="number">ratio</th><th class="number" title="min_unit, max_unit and step_size: what one allocation may take">min / max / step</th>
			${isMarked && html`<th class="number">of it picked out</th>`}
		</tr></thead>
		<tbody>${sortClasses(Object.keys(provider.inventories)).map((name) => {
			const inventory = provider.inventories[name];
			const used = provider.usages[name] ?? 0;
			const capacity = capacityOf(inventory);
			return html`<tr key=${name}>
				<th scope="row" class="mono">${name}</th><td class="number">${formatNumber(used)}</td>
				<td class=${`number ${used > capacity ? "over" : ""}`}>${formatNumber(capacity - used)}</td>
				<td class="number">${formatNumber(capacity)}</td><td class="number">${formatNumber(inventory.total)}</td>
				<td class="number">${formatNumber(inventory.reserved)}</td><td class="number">${formatNumber(inventory.allocation_ratio)}</td>
				<td class="number">${limit(inventory.min_unit)} / ${limit(inventory.max_unit)} / ${limit(inventory.step_size)}</td>
				${isMarked && html`<td class="number bar-mark">${marks[name] ? formatNumber(marks[name]) : ""}</td>`}
			</tr>`;
		})}</tbody>
	</table></div>`;
}
