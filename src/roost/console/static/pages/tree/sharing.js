// Who lends to a tree, and to whom the tree lends.

import { Bar } from "../../draw/bars.js";
import { classesOf, levelOf } from "../../model/tree.js";
import { Failed } from "../../parts/conditions.js";
import { Chip, ProviderLink, Word, formatNumber } from "../../parts/values.js";
import { link } from "../../state.js";
import { html } from "../../vendor/preact.js";

/** @typedef {import("../../model/tree.js").Provider} Provider */

/** So many lines are drawn at the side; further aggregates are only named. */
export const RAILS_MAX = 4;
const BORROWERS_SHOWN_MAX = 50;

/**
 * The aggregates through which something is lent to the tree.
 * @param {Provider[]} lenders
 * @param {Provider[]} providers
 */
export function lendingAggregates(lenders, providers) {
	const own = new Set(providers.flatMap((each) => each.aggregates));
	return [...new Set(lenders.flatMap((each) => each.aggregates))].filter((each) => own.has(each));
}

/**
 * The lenders stand above the tree; from each a line runs down to the providers that share an aggregate with it.
 * @param {{lenders: Provider[], error: unknown, rails: string[], classes: string[] | null, marks: import("../../model/tree.js").Amounts, providers: Provider[]}} props
 */
export function Lenders({ lenders, error, rails, classes, marks, providers }) {
	if (error) return html`<${Failed} error=${error} />`;
	if (!lenders.length) return null;
	/** @type {Set<string>} */
	const begun = new Set();
	return html`<div class="provider-tree lenders" role="list" aria-label="who lends to this tree">
		${lenders.map((lender) => {
			const kinds = rails.map((aggregate) => {
				const isStart = lender.aggregates.includes(aggregate);
				const isThrough = begun.has(aggregate);
				if (isStart) begun.add(aggregate);
				return isStart ? (isThrough ? "join" : "start") : isThrough ? "through" : "";
			});
			return html`<div class="provider-line" role="listitem" key=${lender.uuid} style=${{ "--indent": rails.length }}>
				<span class="provider-guides" aria-hidden="true">
					${kinds.map((kind) => html`<span class=${`rail ${kind}`}></span>`)}<span class="twist"></span>
				</span>
				<span class="provider-body">
				<span class="provider-head"><${ProviderLink} uuid=${lender.uuid} name=${lender.name} /></span>
				<span class="provider-bars">${(classes ?? classesOf([lender])).map((name) => {
					const level = levelOf(lender, name);
					return level && html`<${Bar} key=${name} resourceClass=${name} ...${level} mark=${marks[lender.uuid]?.[name]} />`;
				})}</span>
				<span class="provider-chips"><${Word} of="sharing provider">lends through</${Word}> ${lendingAggregates([lender], providers).map((each) => html`
					<${Chip} key=${each} text=${each.slice(0, 8)} title=${`aggregate ${each}`} kind="aggregate" href=${link("cloud", { filter: each })} />`)}</span>
				<span class="provider-generation number quiet" title=${`generation ${lender.generation}`}>${lender.generation}</span>
				</span>
			</div>`;
		})}
	</div>`;
}

/** @param {{borrowers: {roots: {uuid: string, name: string}[], aggregates: string[], isAll: boolean}}} props */
export function Borrowers({ borrowers }) {
	const { roots, aggregates, isAll } = borrowers;
	const shown = roots.slice(0, BORROWERS_SHOWN_MAX);
	return html`<section class="borrowers" aria-label="to whom this tree lends">
		<h3>Lends to ${isAll ? "" : "more than "}${formatNumber(roots.length)} tree${roots.length === 1 ? "" : "s"}</h3>
		${!aggregates.length && html`<p class="quiet">Its sharing provider is in no aggregate, so no tree can use it.</p>`}
		<p>${shown.map((root) => html`<span class="borrower" key=${root.uuid}><${ProviderLink} uuid=${root.uuid} name=${root.name} /></span>`)}
			${roots.length > shown.length && html`<span class="quiet">and ${formatNumber(roots.length - shown.length)} more</span>`}</p>
		${aggregates.length > 0 && html`<p class="small">in the cloud, by aggregate: ${aggregates.map((each) => html`
			<${Chip} key=${each} text=${each.slice(0, 8)} title=${`aggregate ${each}`} kind="aggregate" href=${link("cloud", { filter: each })} />`)}</p>`}
	</section>`;
}
