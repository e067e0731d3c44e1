// Providers drawn as the tree they are: a line for each, with bars, traits, aggregates and generation.

import { Bar } from "../draw/bars.js";
import { classesOf, foldedAtFirst, levelOf, railsOf, treeLines, visibleLines } from "../model/tree.js";
import { link } from "../state.js";
import { html, useMemo, useRef, useState } from "../vendor/preact.js";
import { Chip } from "./values.js";

/** @typedef {import("../model/tree.js").Provider} Provider */
/** @typedef {import("../model/tree.js").Line} Line */
/** @typedef {import("../model/tree.js").Amounts} Amounts */

/** So many lines are drawn; a button shows the next. */
const LINES_STEP = 400;
/** @type {string[]} */
const NO_RAILS = [];

/**
 * @param {{
 *   providers: Provider[],
 *   marks?: Amounts,
 *   takes?: Amounts,
 *   classes?: string[] | null,
 *   selected?: string,
 *   onSelect?: (uuid: string) => void,
 *   folded?: ReadonlySet<string>,
 *   onFold?: (uuid: string, isFolded: boolean) => void,
 *   rails?: string[],
 *   changed?: {uuids: ReadonlySet<string>, round: number},
 *   label?: string,
 * }} props
 *   `marks`: parts of what is used that are picked out; `takes`: parts of what is free that a candidate would use;
 *   `classes`: show only these; `folded` and `onFold` together: who uses it keeps the folds;
 *   `rails`: aggregates whose members are joined by a line to the side; `changed`: lines that flash once
 */
export function ProviderTree(props) {
	const { providers, marks = {}, takes = {}, classes, selected = "", onSelect, rails = NO_RAILS, changed, label = "providers" } = props;
	const lines = useMemo(() => treeLines(providers), [providers]);
	const [ownFolds, setOwnFolds] = useState(/** @type {ReadonlySet<string> | null} */ (null));
	const folded = useMemo(() => props.folded ?? ownFolds ?? foldedAtFirst(lines), [props.folded, ownFolds, lines]);
	const visible = useMemo(() => visibleLines(lines, folded), [lines, folded]);
	const shownClasses = useMemo(() => (classes?.length ? classes : classesOf(providers)), [providers, classes]);
	const railPaths = useMemo(() => railsOf(lines, visible, rails), [lines, visible, rails]);
	const [shown, setShown] = useState(LINES_STEP);
	const [current, setCurrent] = useState("");
	const list = useRef(/** @type {HTMLElement | null} */ (null));

	const fold = (/** @type {string} */ uuid, /** @type {boolean} */ isFolded) => {
		if (props.onFold) return props.onFold(uuid, isFolded);
		const next = new Set(folded);
		if (isFolded) next.add(uuid);
		else next.delete(uuid);
		setOwnFolds(next);
	};
	const moveTo = (/** @type {Line | undefined} */ line) => {
		if (!line) return;
		setCurrent(line.provider.uuid);
		/** @type {HTMLElement | null | undefined} */ (list.current?.querySelector(`[data-uuid="${line.provider.uuid}"]`))?.focus();
	};
	const press = (/** @type {KeyboardEvent} */ event) => {
		const item = event.target instanceof HTMLElement && event.target.matches("[data-uuid]") ? event.target : null;
		const index = visible.findIndex((line) => line.provider.uuid === item?.dataset.uuid);
		if (index < 0 || event.metaKey || event.ctrlKey || event.altKey) return;
		const line = visible[index];
		const isFolded = folded.has(line.provider.uuid);
		const last = Math.min(visible.length, shown) - 1;
		const actions = /** @type {Record<string, () => void>} */ ({
			ArrowDown: () => moveTo(visible[Math.min(index + 1, last)]),
			ArrowUp: () => moveTo(visible[index - 1]),
			Home: () => moveTo(visible[0]),
			End: () => moveTo(visible[last]),
			ArrowRight: () => (line.below && isFolded ? fold(line.provider.uuid, false) : line.below && moveTo(visible[index + 1])),
			ArrowLeft: () =>
				line.below && !isFolded
					? fold(line.provider.uuid, true)
					: moveTo(visible.slice(0, index).reverse().find((each) => each.depth < line.depth)),
			Enter: () => onSelect?.(line.provider.uuid),
			" ": () => onSelect?.(line.provider.uuid),
		});
		if (!actions[event.key]) return;
		event.preventDefault();
		actions[event.key]();
	};

	const countBelow = (/** @type {Line} */ line) =>
		lines.slice(line.index + 1, line.index + 1 + line.below).filter(({ provider }) => marks[provider.uuid] || takes[provider.uuid]).length;
	const isShown = (/** @type {string} */ uuid) => visible.slice(0, shown).some((line) => line.provider.uuid === uuid);
	const tabStop = [current, selected].find((uuid) => uuid && isShown(uuid)) ?? visible[0]?.provider.uuid;
	return html`<div class="provider-tree">
		<div ref=${list} role="tree" aria-label=${label} onKeyDown=${press}>
			${visible.slice(0, shown).map((line, index) => html`<${ProviderLine} key=${line.provider.uuid} line=${line}
				classes=${shownClasses} marks=${marks[line.provider.uuid]} takes=${takes[line.provider.uuid]}
				isFolded=${folded.has(line.provider.uuid)} marksBelow=${folded.has(line.provider.uuid) ? countBelow(line) : 0} isSelected=${line.provider.uuid === selected} canSelect=${Boolean(onSelect)}
				isTabStop=${line.provider.uuid === tabStop} flash=${changed?.uuids.has(line.provider.uuid) ? 1 + (changed.round % 2) : 0}
				rails=${railPaths.map(({ members, last }) => (index > last ? "" : members.has(index) ? (index === last ? "end" : "member") : "through"))}
				onClick=${() => (moveTo(line), onSelect?.(line.provider.uuid))}
				onToggle=${() => fold(line.provider.uuid, !folded.has(line.provider.uuid))} />`)}
		</div>
		${visible.length > shown && html`<button type="button" onClick=${() => setShown(shown + LINES_STEP)}>
			show ${Math.min(LINES_STEP, visible.length - shown)} more of ${visible.length}</button>`}
	</div>`;
}

/**
 * What stands where in a line.
 * @param {{indent: number}} props
 */
export function TreeHeader({ indent }) {
	return html`<div class="provider-tree" aria-hidden="true"><div class="provider-line provider-header small quiet" style=${{ "--indent": indent }}>
		<span class="provider-guides">${Array.from({ length: indent }, () => html`<span class="rail"></span>`)}<span class="twist"></span></span>
		<span class="provider-body"><span>provider</span><span>used / capacity</span><span>traits, aggregates</span><span class="number" title="generation">gen.</span></span>
	</div></div>`;
}

/**
 * @param {{line: Line, classes: string[], marks?: Record<string, number>, takes?: Record<string, number>, isFolded: boolean, marksBelow: number, isSelected: boolean,
 *   canSelect: boolean, isTabStop: boolean, flash: number, rails: string[], onClick: () => void, onToggle: () => void}} props
 */
function ProviderLine({ line, classes, marks, takes, isFolded, marksBelow, isSelected, canSelect, isTabStop, flash, rails, onClick, onToggle }) {
	const { provider, depth, below, isLast, guides } = line;
	const isMarked = Boolean(marks || takes);
	const name = ["provider-line", canSelect ? "can-select" : "", isMarked ? "is-marked" : "", flash ? `flash-${flash}` : ""].filter(Boolean).join(" ");
	const click = (/** @type {MouseEvent} */ event) => {
		// Links and buttons do what they say, and a drag that selects text is no choice.
		if (event.target instanceof Element && event.target.closest("a, button")) return;
		if (getSelection()?.toString()) return;
		onClick();
	};
	const toggle = (/** @type {Event} */ event) => (event.stopPropagation(), onToggle());
	return html`<div class=${name} role="treeitem" data-uuid=${provider.uuid} tabindex=${isTabStop ? 0 : -1}
		aria-level=${depth + 1} aria-posinset=${line.position} aria-setsize=${line.siblings}
		aria-expanded=${below ? !isFolded : undefined} aria-selected=${canSelect ? isSelected : undefined} onClick=${click}
		style=${{ "--indent": depth + rails.length }}>
		<span class="provider-guides" aria-hidden="true">
			${rails.map((kind) => html`<span class=${`rail ${kind}`}></span>`)}
			${guides.map((goesOn) => html`<span class=${`guide ${goesOn ? "through" : ""}`}></span>`)}
			${depth > 0 && html`<span class=${`guide ${isLast ? "end" : "branch"}`}></span>`}
			<span class=${`twist ${below && !isFolded ? "is-open" : ""}`} onClick=${below ? toggle : undefined}>${below ? (isFolded ? "▸" : "▾") : ""}</span>
		</span>
		<span class="provider-body">
		<span class="provider-head">
			<${ProviderName} provider=${provider} parentName=${line.parentName} />
			${isFolded && below > 0 && html`<span class="quiet small folded-count" title=${`${below} providers below`}>+${below}</span>`}
			${marksBelow > 0 && html`<span class="small folded-count bar-mark" title=${`${marksBelow} of them picked out`}>●${marksBelow}</span>`}
		</span>
		<span class="provider-bars">
			${classes.map((resourceClass) => {
				const level = levelOf(provider, resourceClass);
				return level && html`<${Bar} key=${resourceClass} resourceClass=${resourceClass} ...${level}
					mark=${marks?.[resourceClass]} take=${takes?.[resourceClass]} />`;
			})}
		</span>
		<span class="provider-chips">
			<${Chips} texts=${provider.traits} noun="traits" isOpen=${isSelected} />
			<${Chips} texts=${provider.aggregates} noun="aggregates" isOpen=${isSelected} kind="aggregate" />
		</span>
		<span class="provider-generation number quiet" title=${`generation ${provider.generation}`}><span class="unseen">generation </span>${provider.generation}</span>
		</span>
	</div>`;
}

/**
 * The name. What it repeats of the name of its parent gives way first where there is little room.
 * @param {{provider: Provider, parentName: string}} props
 */
function ProviderName({ provider, parentName }) {
	const { name, uuid } = provider;
	const repeated = parentName && name.length > parentName.length && name.startsWith(parentName) ? parentName : "";
	return html`<span class=${repeated ? "name two-parts" : "name"} title=${`${name}\n${uuid}`}>${
		repeated ? [html`<span class="repeated">${repeated}</span>`, html`<span>${name.slice(repeated.length)}</span>`] : name
	}</span>`;
}

/**
 * Traits or aggregates: all of them if the line is open, otherwise one and how many more.
 * @param {{texts: string[], noun: string, isOpen: boolean, kind?: string}} props
 */
function Chips({ texts, noun, isOpen, kind = "" }) {
	const more = isOpen ? 0 : texts.length - 1;
	// Custom traits say more about a provider than the many of its processor.
	const first = texts.find((text) => text.startsWith("CUSTOM_")) ?? texts[0];
	const shown = more > 0 ? [first] : texts;
	return [
		...shown.map((text) =>
			kind === "aggregate"
				? html`<${Chip} key=${text} text=${text.slice(0, 8)} title=${`aggregate ${text}`} kind=${kind} href=${link("cloud", { filter: text })} />`
				: html`<${Chip} key=${text} text=${text} />`,
		),
		more > 0 && html`<${Chip} key="more" text=${`+${more}`} title=${`${texts.length} ${noun}:\n${texts.join("\n")}`} kind="count" />`,
	];
}
