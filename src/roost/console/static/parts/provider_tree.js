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
/** So many chips of a kind stand in a line; more are shown as a count. */
const CHIPS_MAX = 2;
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

	const isShown = (/** @type {string} */ uuid) => visible.slice(0, shown).some((line) => line.provider.uuid === uuid);
	const tabStop = [current, selected].find((uuid) => uuid && isShown(uuid)) ?? visible[0]?.provider.uuid;
	return html`<div class="provider-tree">
		<div ref=${list} role="tree" aria-label=${label} onKeyDown=${press}>
			${visible.slice(0, shown).map((line, index) => html`<${ProviderLine} key=${line.provider.uuid} line=${line}
				classes=${shownClasses} marks=${marks[line.provider.uuid]} takes=${takes[line.provider.uuid]}
				isFolded=${folded.has(line.provider.uuid)} isSelected=${line.provider.uuid === selected} canSelect=${Boolean(onSelect)}
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
 * @param {{line: Line, classes: string[], marks?: Record<string, number>, takes?: Record<string, number>, isFolded: boolean, isSelected: boolean,
 *   canSelect: boolean, isTabStop: boolean, flash: number, rails: string[], onClick: () => void, onToggle: () => void}} props
 */
function ProviderLine({ line, classes, marks, takes, isFolded, isSelected, canSelect, isTabStop, flash, rails, onClick, onToggle }) {
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
		aria-expanded=${below ? !isFolded : undefined} aria-selected=${canSelect ? isSelected : undefined} onClick=${click}>
		<span class="provider-head">
			${rails.map((kind) => html`<span class=${`rail ${kind}`} aria-hidden="true"></span>`)}
			${depth > 1 && guides.map((goesOn) => html`<span class=${`guide ${goesOn ? "through" : ""}`} aria-hidden="true"></span>`)}
			${depth > 0 && html`<span class=${`guide ${isLast ? "end" : "branch"}`} aria-hidden="true"></span>`}
			<span class="twist" aria-hidden="true" onClick=${below ? toggle : undefined}>${below ? (isFolded ? "▸" : "▾") : ""}</span>
			<span class="name" title=${`${provider.name}\n${provider.uuid}`}>${provider.name}</span>
			${isFolded && below > 0 && html`<span class="quiet small folded-count">+${below}</span>`}
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
	</div>`;
}

/**
 * Traits or aggregates: all of them if they are few or the line is open, otherwise how many.
 * @param {{texts: string[], noun: string, isOpen: boolean, kind?: string}} props
 */
function Chips({ texts, noun, isOpen, kind = "" }) {
	if (!texts.length) return null;
	if (!isOpen && texts.length > CHIPS_MAX) return html`<${Chip} text=${`${texts.length} ${noun}`} title=${texts.join("\n")} kind="count" />`;
	if (!kind) return texts.map((text) => html`<${Chip} key=${text} text=${text} />`);
	return texts.map((text) => html`<${Chip} key=${text} text=${text.slice(0, 8)} title=${`aggregate ${text}`} kind=${kind} href=${link("cloud", { filter: text })} />`);
}
