// The card of the whole request: the root, rules between groups, order and limit, and what has no card.

import { catalog } from "../../model/catalog.js";
import { Choice } from "../../parts/page.js";
import { useStore } from "../../state.js";
import { html, useState } from "../../vendor/preact.js";
import { AGGREGATE_MODES, TRAIT_MODES } from "./cards.js";
import { Entry, Names } from "./fields.js";

/**
 * @typedef {import("../../model/request.js").Request} Request
 * @typedef {import("./cards.js").Edit} Edit
 */

/** @type {[string, string][]} */
const ORDERS = [["", "any"], ["pack", "pack"], ["spread", "spread"], ["root", "root"], ["random", "random"]];
/** @type {[string, string][]} */
const POLICIES = [["", "–"], ["none", "none"], ["isolate", "isolate"]];

/**
 * @param {{request: Request, suffixes: string[], edit: Edit, onAdd: () => void, onAddPlain?: () => void, refusal?: string}} props
 *   `onAdd`: a group with a suffix; `onAddPlain`: the one without, if there is none
 */
export function WholeCard({ request, suffixes, edit, onAdd, onAddPlain, refusal }) {
	const { traits, aggregates } = useStore(catalog);
	const [opened, setOpened] = useState(/** @type {string[]} */ ([]));
	const change = (/** @type {Partial<Request>} */ changes, /** @type {string} */ key = "") => edit({ ...request, ...changes }, key);
	const isShown = (/** @type {string} */ field) => opened.includes(field) || request[/** @type {"isolate"} */ (field)].length > 0;
	const hidden = [["rootRequired", "root trait"], ["rootMemberOf", "root aggregate"]];
	if (suffixes.length) hidden.push(["sameSubtree", "same_subtree"]);
	if (suffixes.length > 1) hidden.push(["isolate", "isolate"]);
	const offered = hidden.filter(([field]) => !isShown(field));
	return html`<section class=${`card whole ${refusal ? "is-refused" : ""}`} aria-label="the whole request">
		<span class="card-add">
			${onAddPlain && html`<button type="button" onClick=${onAddPlain}>+ unsuffixed</button>`}
			<button type="button" title="a group that one provider serves" onClick=${onAdd}>+ group</button>
		</span>
		<${Choice} label="order" value=${request.order} options=${withOwn(ORDERS, request.order)} onChange=${(/** @type {string} */ order) => change({ order })} />
		<label class="choice">limit <input type="text" inputmode="numeric" class="amount mono" value=${request.limit} size="4" placeholder="all" autocomplete="off"
			onInput=${(/** @type {any} */ event) => change({ limit: event.target.value.trim() }, "limit")} /></label>
		${(suffixes.length > 1 || request.groupPolicy) && html`<${Choice} label="group_policy" value=${request.groupPolicy}
			options=${withOwn(POLICIES, request.groupPolicy)} onChange=${(/** @type {string} */ groupPolicy) => change({ groupPolicy })} />`}
		${isShown("rootRequired") && html`<${Names} what="trait" owner="of the root" label="root_required" entries=${request.rootRequired} list="ask-traits" known=${traits}
			modes=${TRAIT_MODES} onChange=${(/** @type {string[]} */ rootRequired) => change({ rootRequired })} />`}
		${isShown("rootMemberOf") && html`<${Names} what="aggregate" owner="of the root" label="root_member_of" entries=${request.rootMemberOf} list="ask-aggregates"
			known=${aggregates} modes=${AGGREGATE_MODES} onChange=${(/** @type {string[]} */ rootMemberOf) => change({ rootMemberOf })} />`}
		${isShown("sameSubtree") && html`<${GroupRules} name="same_subtree" values=${request.sameSubtree} suffixes=${suffixes} mayExclude
			onChange=${(/** @type {string[]} */ sameSubtree) => change({ sameSubtree })} />`}
		${isShown("isolate") && html`<${GroupRules} name="isolate" values=${request.isolate} suffixes=${suffixes}
			onChange=${(/** @type {string[]} */ isolate) => change({ isolate })} />`}
		${request.others.length > 0 && html`<div class="field">
			<span class="field-label" title="parameters that no card shows, as they were given">as given</span>
			<span class="field-values">${request.others.map(([name, value], position) => html`<${Entry} key=${position} entry=${`${name}=${value}`} text=${`${name}=${value}`} what="parameter"
				onRemove=${() => change({ others: request.others.filter((_, at) => at !== position) })} />`)}</span>
		</div>`}
		${offered.length > 0 && html`<div class="card-more">${offered.map(([field, text]) => html`<button type="button" class="quiet small"
			onClick=${() => setOpened([...opened, field])}>+ ${text}</button>`)}</div>`}
		${refusal && html`<p class="refusal said" role="alert">${refusal}</p>`}
	</section>`;
}

/** A value that is none of the options is one of its own. @param {[string, string][]} options @param {string} value @returns {[string, string][]} */
const withOwn = (options, value) => (options.some(([key]) => key === value) ? options : [...options, [value, value]]);

/**
 * Rules that name groups: those there are, and the next one.
 * @param {{name: string, values: string[], suffixes: string[], mayExclude?: boolean, onChange: (values: string[]) => void}} props
 */
function GroupRules({ name, values, suffixes, mayExclude = false, onChange }) {
	const [chosen, setChosen] = useState(/** @type {Record<string, string>} */ ({}));
	const states = mayExclude ? ["", "in", "not"] : ["", "in"];
	const next = (/** @type {string} */ suffix) => states[(states.indexOf(chosen[suffix] ?? "") + 1) % states.length];
	const picked = suffixes.filter((suffix) => chosen[suffix]);
	const isRule = picked.length > 1 && picked.some((suffix) => chosen[suffix] === "in");
	const add = () => {
		onChange([...values, picked.map((suffix) => (chosen[suffix] === "not" ? `!${suffix}` : suffix)).join(",")]);
		setChosen({});
	};
	return html`<div class="field">
		<span class="field-label">${name}</span>
		<span class="field-values">
			${values.map((value, position) => html`<${Entry} key=${value} entry=${value} text=${value.replaceAll(",", " ")} what=${name}
				onRemove=${() => onChange(values.filter((_, at) => at !== position))} />`)}
			${suffixes.length > 1 && html`<span class="adding">
				${suffixes.map((suffix) => html`<button type="button" class="pick mono" aria-pressed=${Boolean(chosen[suffix])}
					title=${mayExclude ? "click: in the subtree; again: outside of it" : "served by a provider of its own"}
					onClick=${() => setChosen({ ...chosen, [suffix]: next(suffix) })}>${chosen[suffix] === "not" ? `!${suffix}` : suffix}</button>`)}
				<button type="button" disabled=${!isRule} onClick=${add}>add</button>
			</span>`}
		</span>
	</div>`;
}
