// The card of a group: its resources, traits and aggregates, and the tree that it comes from.

import { catalog } from "../../model/catalog.js";
import { isSuffix, renameGroup, withGroup, withoutGroup } from "../../model/request.js";
import { useTyped } from "../../parts/typed.js";
import { Word } from "../../parts/values.js";
import { useStore } from "../../state.js";
import { html, useState } from "../../vendor/preact.js";
import { AddText, Names, ProviderField } from "./fields.js";

/**
 * @typedef {import("../../model/request.js").Request} Request
 * @typedef {import("../../model/request.js").Group} Group
 * @typedef {import("./fields.js").Mode} Mode
 * @typedef {(request: Request, key?: string) => void} Edit `key`: what is typed into; further keys of it leave no history
 */

/** @type {[Mode, string][]} */
export const TRAIT_MODES = [["", "has"], ["!", "not"], ["in:", "any of"]];
/** @type {[Mode, string][]} */
export const AGGREGATE_MODES = [["", "in"], ["!", "not in"], ["in:", "in any of"]];

/** The names that inputs complete, once for all of them. */
export function Lists() {
	const { classes, traits, aggregates } = useStore(catalog);
	const list = (/** @type {string} */ id, /** @type {string[]} */ values) =>
		html`<datalist id=${id}>${values.map((each) => html`<option value=${each}></option>`)}</datalist>`;
	return [list("ask-classes", classes), list("ask-traits", traits), list("ask-aggregates", aggregates)];
}

/** What a card does not show until it is asked for. */
const MORE = [["memberOf", "aggregate"], ["inTree", "in_tree"], ["inSubtree", "in_subtree"]];

/**
 * @param {{request: Request, group: Group, edit: Edit, onRemove?: () => void, onRename?: (suffix: string) => void, refusal?: string}} props
 *   `onRemove` and `onRename`: also of a card that is not yet part of the request
 */
export function GroupCard({ request, group, edit, onRemove, onRename, refusal }) {
	const { suffix } = group;
	const { traits, aggregates } = useStore(catalog);
	const [opened, setOpened] = useState(/** @type {string[]} */ ([]));
	const change = (/** @type {Partial<Group>} */ changes, /** @type {string} */ key = "") => edit(withGroup(request, suffix, changes), key && `${suffix} ${key}`);
	const isShown = (/** @type {string} */ field) => opened.includes(field) || group[/** @type {"inTree"} */ (field)].length > 0;
	const hidden = MORE.filter(([field]) => !isShown(field));
	const id = `group${suffix}`;
	const owner = suffix && `of ${suffix}`;
	return html`<section class=${`card ${refusal ? "is-refused" : ""}`} aria-label=${suffix ? `group ${suffix}` : "group without a suffix"}>
		<div class="card-head">
			${suffix ? html`<${SuffixInput} suffix=${suffix} taken=${request.groups.map((each) => each.suffix)}
				onChange=${(/** @type {string} */ to) => (edit(renameGroup(request, suffix, to)), onRename?.(to))} />`
			: html`<span class="card-title" title="each class may come from another provider of the tree, or from one that shares with it">unsuffixed</span>`}
			<button type="button" class="remove" aria-label=${`remove the group ${suffix || "without a suffix"}`} title="remove this group"
				onClick=${() => (edit(withoutGroup(request, suffix)), onRemove?.())}>✕</button>
		</div>
		<${Resources} request=${request} group=${group} edit=${edit} />
		<${Names} what="trait" owner=${owner} label=${html`<${Word} of="trait">traits</${Word}>`} entries=${group.required} list="ask-traits" known=${traits} modes=${TRAIT_MODES}
			onChange=${(/** @type {string[]} */ required) => change({ required })} id=${`${id}-trait`} />
		${isShown("memberOf") && html`<${Names} what="aggregate" owner=${owner} label=${html`<${Word} of="aggregate">aggregates</${Word}>`} entries=${group.memberOf}
			list="ask-aggregates" known=${aggregates} modes=${AGGREGATE_MODES} onChange=${(/** @type {string[]} */ memberOf) => change({ memberOf })} />`}
		${isShown("inTree") && html`<${ProviderField} label="in_tree" value=${group.inTree} id=${`${id}-in-tree`}
			onChange=${(/** @type {string} */ inTree) => change({ inTree })} />`}
		${isShown("inSubtree") && html`<${ProviderField} label="in_subtree" value=${group.inSubtree} id=${`${id}-in-subtree`}
			onChange=${(/** @type {string} */ inSubtree) => change({ inSubtree })} />`}
		${hidden.length > 0 && html`<div class="card-more">${hidden.map(([field, text]) => html`<button type="button" class="quiet small"
			onClick=${() => setOpened([...opened, field])}>+ ${text}</button>`)}</div>`}
		${refusal && html`<p class="refusal said" role="alert">${refusal}</p>`}
	</section>`;
}

/** @param {{suffix: string, taken: string[], onChange: (suffix: string) => void}} props */
function SuffixInput({ suffix, taken, onChange }) {
	const typed = useTyped(suffix, (text) => {
		if (text !== suffix && isSuffix(text) && !taken.includes(text)) onChange(text);
	});
	return html`<input type="text" class="suffix mono" ...${typed} aria-label="suffix of the group" title="the suffix of the group; one provider serves it"
		size=${Math.max(4, suffix.length + 1)} maxlength="64" spellcheck=${false} autocomplete="off" />`;
}

/** @param {{request: Request, group: Group, edit: Edit}} props */
function Resources({ request, group, edit }) {
	const { classes } = useStore(catalog);
	const { suffix, resources } = group;
	const change = (/** @type {import("../../model/request.js").Amount[]} */ next, /** @type {string} */ key = "") =>
		edit(withGroup(request, suffix, { resources: next }), key);
	const add = (/** @type {string} */ text) => {
		// "VCPU:4" and "VCPU 4" are as good as "VCPU".
		const [, name, amount] = text.match(/^([^\s:]+)[\s:]*(\d*)$/) ?? [];
		if (!name || resources.some((each) => each.name === name)) return;
		change([...resources, { name, amount: amount || "1" }]);
		if (!amount) setTimeout(() => /** @type {HTMLInputElement | null} */ (document.getElementById(amountId(suffix, name)))?.select(), 50);
	};
	return html`<div class="field">
		<span class="field-label"><${Word} of="resource class">resources</${Word}></span>
		<span class="field-values">
			${resources.map((each, position) => html`<span class="resource" key=${each.name}>
				<span class="name" title=${each.name}>${each.name}</span>
				<${AmountInput} id=${amountId(suffix, each.name)} name=${each.name} amount=${each.amount}
					onChange=${(/** @type {string} */ amount) => change(resources.map((other, at) => (at === position ? { ...other, amount } : other)), `${suffix} ${each.name}`)} />
				<${SplitButton} request=${request} group=${group} name=${each.name} edit=${edit} />
				<button type="button" class="remove" aria-label=${`remove ${each.name}`} title="remove" onClick=${() => change(resources.filter((_, at) => at !== position))}>✕</button>
			</span>`)}
			<${AddText} label=${`add resource class${suffix && ` of ${suffix}`}`} placeholder="+ class" list="ask-classes" known=${classes} onAdd=${add} id=${`group${suffix}-class`} />
		</span>
	</div>`;
}

/** @param {{id: string, name: string, amount: string, onChange: (amount: string) => void}} props */
function AmountInput({ id, name, amount, onChange }) {
	// Nothing is asked with an empty amount: somebody is about to type one, while answers to the old one arrive.
	const [isEmpty, setEmpty] = useState(false);
	const type = (/** @type {any} */ event) => {
		const typed = event.target.value.trim();
		setEmpty(!typed);
		if (typed) onChange(typed);
	};
	return html`<input type="text" inputmode="numeric" class="amount mono" id=${id} value=${isEmpty ? "" : amount} aria-label=${`amount of ${name}`}
		size=${Math.max(3, amount.length)} autocomplete="off" onInput=${type} onBlur=${() => setEmpty(false)} onKeyDown=${step} />`;
}

/** @param {string} suffix @param {string} name */
const amountId = (suffix, name) => `group${suffix}-amount-${name}`;

/** Arrows change an amount, as in a field for numbers. @param {KeyboardEvent & {target: HTMLInputElement}} event */
function step(event) {
	const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
	if (!by || !/^\d+$/.test(event.target.value)) return;
	event.preventDefault();
	event.target.value = String(Math.max(1, Number(event.target.value) + by));
	event.target.dispatchEvent(new Event("input", { bubbles: true }));
}

/**
 * Whether several providers may serve the amount. What has no suffix may only be split for all groups at once.
 * @param {{request: Request, group: Group, name: string, edit: Edit}} props
 */
function SplitButton({ request, group, name, edit }) {
	const { suffix } = group;
	const ofAll = request.canSplit.includes(name);
	const isSplit = ofAll || group.canSplit.includes(name);
	const toggled = (/** @type {string[]} */ list) => (list.includes(name) ? list.filter((each) => each !== name) : [...list, name]);
	const toggle = () => {
		if (!suffix || ofAll) edit({ ...request, canSplit: toggled(request.canSplit) });
		else edit(withGroup(request, suffix, { canSplit: toggled(group.canSplit) }));
	};
	const title = `can_split: several providers may serve the amount together${!suffix || ofAll ? " (in every group that asks for the class)" : ""}`;
	return html`<button type="button" class="split" aria-pressed=${isSplit} aria-label=${`${name} may be split`} title=${title} onClick=${toggle}>split</button>`;
}
