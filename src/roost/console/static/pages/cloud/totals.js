// Totals by class, and what the colours mean.

import { COLOURS, cssColour, LEVELS, OVER } from "../../draw/colours.js";
import { formatAmount, formatShare } from "../../parts/values.js";
import { address, link } from "../../state.js";
import { html } from "../../vendor/preact.js";

/**
 * @param {{totals: {name: string, used: number, capacity: number, over: number}[], chosen: string}} props
 */
export function Totals({ totals, chosen }) {
	return html`<ul class="totals" aria-label="totals by class">
		${totals.map(({ name, used, capacity, over }) => {
			const parameters = new URLSearchParams(address.value.parameters);
			parameters.set("class", name);
			const share = capacity > 0 ? Math.min(1, used / capacity) : 1;
			const title = `${name}: ${formatAmount(name, used)} used of ${formatAmount(name, capacity)}${over ? `; ${over} trees have a provider over its capacity` : ""}`;
			return html`<li key=${name}>
				<a href=${link("cloud", parameters)} aria-current=${name === chosen ? "true" : undefined} title=${title}>
					<span class="total-name">${name}</span>
					<span class="track"><span class=${`fill ${used > capacity ? "is-over" : ""}`} style=${{ width: `${100 * share}%` }}></span></span>
					<span class="number">${formatShare(used, capacity)}</span>
					<span class="number quiet">${formatAmount(name, used)} / ${formatAmount(name, capacity)}</span>
					${over > 0 && html`<span class="over small">${over} over</span>`}
				</a>
			</li>`;
		})}
	</ul>`;
}

/** The scale with its numbers. */
export function Legend() {
	const steps = Array.from({ length: 11 }, (_, step) => Math.round((step / 10) * (LEVELS - 1)));
	return html`<div class="legend small" aria-label="legend">
		<span>0 %</span>
		<span class="scale" aria-hidden="true">${steps.map((level) => html`<i style=${{ background: cssColour(level) }}></i>`)}</span>
		<span>100 % used</span>
		<span><i style=${{ background: `rgb(${COLOURS[OVER].join(" ")})` }}></i> over capacity</span>
		<span><i class="hollow"></i> has none of it</span>
		<span><i class="hatched"></i> disabled</span>
	</div>`;
}
