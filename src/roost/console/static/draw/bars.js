// Bars: what of an inventory is used, reserved and free, to scale, with the numbers beside it.

import { barParts } from "../model/tree.js";
import { formatAmount, formatNumber } from "../parts/values.js";
import { html } from "../vendor/preact.js";

/**
 * A part and the whole; the part has no unit where it is that of the whole: ["48", "248 GB"].
 * @param {string} resourceClass
 * @param {number} part
 * @param {number} whole
 * @returns {[string, string]}
 */
export function formatPart(resourceClass, part, whole) {
	const [amount, unit] = formatAmount(resourceClass, part).split(" ");
	const wholeText = formatAmount(resourceClass, whole);
	return [unit && !wholeText.endsWith(` ${unit}`) ? `${amount} ${unit}` : amount, wholeText];
}

/**
 * One class of one provider, in one line.
 * @param {{resourceClass: string, used: number, reserved?: number, capacity: number, total?: number, ratio?: number,
 *   mark?: number, take?: number}} props
 *   `mark`: the part of what is used that is picked out; `take`: the part of what is free that a candidate would use
 */
export function Bar({ resourceClass, used, reserved = 0, capacity, total = capacity, ratio = 1, mark = 0, take = 0 }) {
	const free = capacity - used;
	const isOver = used > capacity;
	const [usedText, capacityText] = formatPart(resourceClass, used, capacity);
	const title = [
		`${resourceClass}: ${formatNumber(used)} used of ${formatNumber(capacity)}`,
		isOver ? `${formatNumber(-free)} over capacity` : `${formatNumber(free)} free`,
		`capacity = (total ${formatNumber(total)} − reserved ${formatNumber(reserved)}) × ratio ${ratio}`,
		mark > 0 ? `${formatNumber(mark)} of it picked out` : "",
		take > 0 ? `${formatNumber(take)} would be taken` : "",
	];
	return html`<span class=${`bar ${isOver ? "is-over" : ""}`} title=${title.filter(Boolean).join("\n")}>
		<span class="bar-class">${resourceClass}</span>
		<${Strip} parts=${barParts({ used, reserved, capacity, ratio, mark, take })} />
		<span class="bar-numbers number">
			${mark > 0 && mark !== used && html`<span class="bar-mark">${formatAmount(resourceClass, mark)} of </span>`}
			${take > 0 && html`<span class="bar-mark">+${formatAmount(resourceClass, take)} </span>`}
			<span class=${isOver ? "over" : mark > 0 && mark === used ? "bar-mark" : ""}>${usedText}</span>${` / ${capacityText}`}
			${ratio !== 1 && html`<span class="quiet"> ×${formatNumber(ratio)}</span>`}
			${isOver && html`<span class="unseen"> over capacity</span>`}
		</span>
	</span>`;
}

/**
 * The bar alone.
 * @param {{parts: {kind: string, share: number}[]}} props
 */
export function Strip({ parts }) {
	return html`<span class="strip" aria-hidden="true">
		${parts.map(({ kind, share }) => html`<span class=${`strip-${kind}`} style=${{ width: `${(100 * share).toFixed(2)}%` }}></span>`)}
	</span>`;
}

/**
 * An amount, as long as its share of the largest one in a list.
 * @param {{resourceClass: string, amount: number, largest: number, isMarked?: boolean}} props
 */
export function AmountBar({ resourceClass, amount, largest, isMarked = false }) {
	const parts = [{ kind: isMarked ? "mark" : "used", share: largest > 0 ? amount / largest : 0 }];
	return html`<span class="bar amount" title=${`${resourceClass}: ${formatNumber(amount)}`}>
		<span class="bar-class">${resourceClass}</span>
		<${Strip} parts=${parts} />
		<span class="bar-numbers number">${formatAmount(resourceClass, amount)}</span>
	</span>`;
}
