// The funnel: a bar for every rule, as long as its share of the trees that are left, with what it lost beside it.

import { formatNumber } from "../parts/values.js";
import { html } from "../vendor/preact.js";

/**
 * @typedef {{text: string, trees: {in: number, out: number}, providers: {in: number, out: number}}} FunnelStage
 */

const UUIDS = /\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi;

/** A sentence of the service with UUIDs shortened. @param {string} text */
export const shortenUuids = (text) => text.replace(UUIDS, "$1");

/**
 * @param {{
 *   trees: number,
 *   stages: FunnelStage[],
 *   selected?: number | null,
 *   href: (stage: number) => string,
 *   isComplete?: boolean,
 *   say?: (stage: any) => string,
 * }} props `href`: where the trees are listed that a stage lost; `say`: the rule of a stage in words
 */
export function Funnel({ trees, stages, selected = null, href, isComplete = true, say = (stage) => shortenUuids(stage.text) }) {
	return html`<ol class="funnel" aria-label="rules, and the trees that each of them left">
		<li><span class="funnel-stage">
			<span class="funnel-rule">all trees</span>
			<${FunnelBar} whole=${trees} before=${trees} after=${trees} />
			<span class="funnel-left number">${formatNumber(trees)}</span>
			<span class="funnel-lost number"></span>
		</span></li>
		${stages.map((stage, number) => html`<${StageLine} key=${`${number} ${stage.text}`} stage=${stage} text=${say(stage)} whole=${trees}
			href=${href(number)} isSelected=${number === selected} />`)}
		${!isComplete && html`<li class="quiet small">Not everything was tried: rules may be missing here.</li>`}
	</ol>`;
}

/** @param {{stage: FunnelStage, text: string, whole: number, href: string, isSelected: boolean}} props */
function StageLine({ stage, text, whole, href, isSelected }) {
	const { in: before, out: after } = stage.trees;
	const lost = before - after;
	const title = `${stage.text}\ntrees: ${formatNumber(before)} → ${formatNumber(after)}\nproviders: ${formatNumber(stage.providers.in)} → ${formatNumber(stage.providers.out)}`;
	const parts = html`
		<span class="funnel-rule">${text}</span>
		<${FunnelBar} whole=${whole} before=${before} after=${after} />
		<span class=${`funnel-left number ${before > 0 && after === 0 ? "is-none" : ""}`}>${formatNumber(after)}<span class="unseen"> trees left</span></span>
		<span class="funnel-lost number">${lost > 0 && html`−${formatNumber(lost)}<span class="unseen"> lost here</span>`}</span>`;
	if (lost === 0) return html`<li><span class="funnel-stage" title=${title}>${parts}</span></li>`;
	return html`<li><a class="funnel-stage" href=${href} title=${`${title}\nclick: which trees, and why`} aria-current=${isSelected ? "true" : undefined}>${parts}</a></li>`;
}

/** @param {{whole: number, before: number, after: number}} props */
function FunnelBar({ whole, before, after }) {
	const width = (/** @type {number} */ count) => `${whole > 0 ? ((100 * count) / whole).toFixed(3) : 0}%`;
	return html`<span class="funnel-bar" aria-hidden="true">
		${after > 0 && html`<span class="funnel-bar-left" style=${{ width: width(after) }}></span>`}
		${before > after && html`<span class="funnel-bar-lost" style=${{ width: width(before - after) }}></span>`}
	</span>`;
}
