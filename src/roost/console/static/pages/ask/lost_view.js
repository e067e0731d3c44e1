// The drawers of the funnel: the trees that a rule lost, and why one tree does not fit.

import { get } from "../../api.js";
import { shortenUuids } from "../../draw/funnel.js";
import { Failed, Loading, useReading } from "../../parts/conditions.js";
import { ProviderTree } from "../../parts/provider_tree.js";
import { formatNumber, ProviderLink, Uuid } from "../../parts/values.js";
import { html, useEffect, useState } from "../../vendor/preact.js";
import { askLink } from "./address.js";
import { explain } from "./answers.js";
import { explainLost, guessLost } from "./lost_trees.js";
import { ruleText, shortName } from "./texts.js";
import { Relaxations, Verdict } from "./verdict.js";

/**
 * @typedef {import("../../model/request.js").Request} Request
 * @typedef {import("./answers.js").Explanation} Explanation
 * @typedef {import("./answers.js").TreeReason} TreeReason
 * @typedef {import("./answers.js").Miss} Miss
 */

const STEP = 10;
const MISSES_MAX = 3;
const INCLUDE = "inventories,usages,traits,aggregates";

/** @param {{request: Request, explanation: Explanation, number: number}} props */
export function LostTrees({ request, explanation, number }) {
	const stage = explanation.stages[number];
	const lost = stage.trees.in - stage.trees.out;
	const nearest = explanation.nearest.filter((tree) => tree.stage === number);
	const { reasons, isDone, isLoading, error, more } = useLost(request, explanation, number, nearest);
	const shown = [...nearest, ...reasons];
	return html`<div class="lost">
		<h2>${formatNumber(lost)} ${lost === 1 ? "tree" : "trees"} lost at</h2>
		<p class="mono" title=${stage.text}>${ruleText(stage)}</p>
		<p class="quiet small">${formatNumber(stage.trees.in)} came to this rule, ${formatNumber(stage.trees.out)} met it.
			${shown.length > 0 && ` ${shown.length === lost ? "All" : `${nearest.length && !reasons.length ? "The nearest" : "Here are"} ${formatNumber(shown.length)}`} of ${formatNumber(lost)}, each with its first reason:`}</p>
		<ul class="reasons">
			${shown.map((tree) => html`<${ReasonLine} key=${tree.uuid} tree=${tree} href=${askLink(request, { kind: "tree", value: tree.uuid })} />`)}
		</ul>
		${error ? html`<${Failed} error=${error} retry=${more} />` : ""}
		${isLoading && html`<${Loading} lines=${3} text="looking for trees, and asking why" />`}
		${!isLoading && !isDone && shown.length < lost && html`<button type="button" onClick=${more}>more trees</button>`}
		${!isLoading && isDone && shown.length < lost && html`<p class="quiet small">${formatNumber(lost - shown.length)} more cannot be listed by a search;
			ask about one of them by its name below the funnel.</p>`}
	</div>`;
}

/**
 * Trees besides the nearest, a step at a time.
 * @param {Request} request
 * @param {Explanation} explanation
 * @param {number} number
 * @param {TreeReason[]} nearest
 */
function useLost(request, explanation, number, nearest) {
	const lost = explanation.stages[number].trees.in - explanation.stages[number].trees.out;
	const [steps, setSteps] = useState(nearest.length ? 0 : 1);
	const [state, setState] = useState({
		reasons: /** @type {TreeReason[]} */ ([]), rest: /** @type {string[] | null} */ (null), isLoading: false, error: /** @type {unknown} */ (null),
	});
	useEffect(() => {
		if (steps === 0 || nearest.length + state.reasons.length >= lost) return;
		const controller = new AbortController();
		const { signal } = controller;
		const read = async () => {
			setState((before) => ({ ...before, isLoading: true, error: null }));
			const known = new Set(nearest.map((tree) => tree.uuid));
			const guesses = state.rest ?? (await guessLost(request, explanation, number, signal)).filter((uuid) => !known.has(uuid));
			const { reasons, rest } = await explainLost(request, guesses, number, STEP, signal);
			if (!signal.aborted) setState((before) => ({ reasons: [...before.reasons, ...reasons], rest, isLoading: false, error: null }));
		};
		read().catch((error) => signal.aborted || setState((before) => ({ ...before, isLoading: false, error })));
		return () => controller.abort();
	}, [steps]);
	return { ...state, isDone: state.rest?.length === 0, more: () => setSteps(steps + 1) };
}

/** @param {{tree: TreeReason, href: string}} props */
function ReasonLine({ tree, href }) {
	const misses = tree.providers.slice(0, MISSES_MAX);
	const others = tree.providers.length - misses.length + tree.providers_more;
	// The rule stands above all lines, so only what follows it is said.
	const reason = tree.reason?.replace(/^(_?[\w-]+: )?[^:]*: /, "") ?? tree.text;
	return html`<li>
		<a class="name" href=${href} title=${`${tree.name}\n${tree.uuid}\nclick: all of its numbers`}>${tree.name}</a>
		${misses.length === 0 && html`<span class="reason">${shortenUuids(reason)}</span>`}
		${misses.map((miss) => html`<span class="reason" key=${miss.uuid}>${missText(miss, tree)}</span>`)}
		${others > 0 && html`<span class="reason quiet">and ${formatNumber(others)} more providers</span>`}
	</li>`;
}

/** The sentence of the service, which begins with the name of the provider: that of the tree stands above it. @param {Miss} miss @param {TreeReason} tree */
function missText(miss, tree) {
	const text = miss.text.startsWith(miss.name) ? miss.text.slice(miss.name.length) : ` ${miss.text}`;
	const said = shortenUuids(text).replace(/; units ok$/, "");
	return miss.name === tree.name ? said.replace(/^:?\s*/, "") : shortName(miss.name, tree.name) + said;
}

// ---------------------------------------------------------------------------------------------
// One tree

/** @param {{request: Request, uuid: string, onRelax: (request: Request) => void, round: unknown}} props */
export function TreeReasonView({ request, uuid, onRelax, round }) {
	const { value, error, isLoading, reload } = useReading((signal) => explain(request, signal, uuid), [uuid, round]);
	const root = value?.tree?.uuid;
	const tree = useReading(
		async (signal) => (root ? (await get("/resource_providers", { tree: root, include: INCLUDE }, { signal })).resource_providers : []), [root, round]);
	if (error && !isLoading) return html`<${Failed} error=${error} retry=${reload} />`;
	if (!value?.tree) return html`<${Loading} lines=${6} text="asking about this tree" />`;
	const reason = value.tree;
	const classes = [...new Set(request.groups.flatMap((group) => group.resources.map((each) => each.name)))];
	return html`<div class="tree-reason">
		<h2 class="name"><${ProviderLink} uuid=${reason.uuid} name=${reason.name} /></h2>
		<p><${Verdict} verdict=${value.verdict} ofTree /> <${Uuid} value=${reason.uuid} /></p>
		<p class="said">${shortenUuids(value.summary)}</p>
		<${Relaxations} request=${request} relaxations=${value.relaxations} onRelax=${onRelax} />
		${reason.rule && html`<h3>Fails at <span class="mono">${value.stages[/** @type {number} */ (reason.stage)] && ruleText(value.stages[/** @type {number} */ (reason.stage)])}</span></h3>`}
		<${Misses} reason=${reason} />
		<h3>Its providers</h3>
		${tree.error ? html`<${Failed} error=${tree.error} retry=${tree.reload} />` : ""}
		${tree.value && html`<${ProviderTree} providers=${tree.value} classes=${classes} label=${`providers of ${reason.name}`} />`}
	</div>`;
}

/** Provider by provider, what the rule asked and what there is. @param {{reason: TreeReason}} props */
function Misses({ reason }) {
	if (!reason.providers.length) return reason.reason && html`<p class="said quiet">${shortenUuids(reason.reason)}</p>`;
	const hasNumbers = reason.providers.some((miss) => miss.inventory);
	return html`<div class="misses"><table>
		<thead><tr><th scope="col">provider</th>${hasNumbers
			? ["asked", "free", "used", "capacity"].map((name) => html`<th scope="col" class="number">${name}</th>`)
			: html`<th scope="col">why not</th>`}</tr></thead>
		<tbody>${reason.providers.map((miss) => html`<tr key=${miss.uuid}>
			<td><${ProviderLink} uuid=${miss.uuid} name=${miss.name} />${hasNumbers && html` <span class="small over">${limitsOf(miss)}</span>`}</td>
			${miss.inventory ? [miss.inventory.asked, miss.inventory.free, miss.inventory.used, miss.inventory.capacity].map((amount) => html`<td class="number">${formatNumber(amount)}</td>`)
			: html`<td>${missText(miss, reason)}</td>`}
		</tr>`)}</tbody>
	</table>${reason.providers_more > 0 && html`<p class="quiet small">and ${formatNumber(reason.providers_more)} more</p>`}</div>`;
}

/** What besides capacity an amount breaks. @param {Miss} miss */
function limitsOf(miss) {
	if (miss.gives !== undefined) return `gives ${formatNumber(miss.gives)}`;
	const limits = miss.broken.filter((limit) => limit.endsWith("_unit") || limit === "step_size");
	return limits.map((limit) => `${limit} ${formatNumber(/** @type {any} */ (miss.inventory)[limit])}`).join(", ");
}
