// Whether a request fits, in a word; and what would let it.

import { relax } from "../../model/request_rules.js";
import { Word } from "../../parts/values.js";
import { html } from "../../vendor/preact.js";

/**
 * @typedef {import("../../model/request.js").Request} Request
 * @typedef {import("./answers.js").Relaxation} Relaxation
 */

/** The sign tells them apart where colours do not. */
const VERDICTS = /** @type {Record<string, [string, string, string]>} */ ({
	fits: ["✓", "fits", "there is room for it now"],
	"not now": ["◑", "not now", "it would fit if nothing were used"],
	never: ["✕", "never", "it would not fit even if nothing were used"],
	unknown: ["?", "unknown", "the search gave up before it was certain"],
});

/** @param {{verdict: string, ofTree?: boolean}} props */
export function Verdict({ verdict, ofTree = false }) {
	const [sign, word, meaning] = VERDICTS[verdict] ?? VERDICTS.unknown;
	return html`<strong class=${`verdict verdict-${word.replace(" ", "-")}`} title=${ofTree ? `of this tree: ${meaning}` : meaning}>
		<span aria-hidden="true">${sign}</span> ${word}</strong>`;
}

/** @param {{request: Request, relaxations: Relaxation[], onRelax: (request: Request) => void}} props */
export function Relaxations({ request, relaxations, onRelax }) {
	if (!relaxations.length) return null;
	return html`<div class="relaxations" role="group" aria-label="changes that would make it fit">
		<span class="quiet small"><${Word} of="relaxation">It would fit</${Word}></span>
		${relaxations.map((relaxation) => html`<button type="button" key=${relaxation.text} title="change the request"
			onClick=${() => onRelax(relax(request, relaxation))}>${relaxation.text}</button>`)}
	</div>`;
}
