// Consumers in a table: a column for each class, so that amounts stand below each other.

import { Strip } from "../../draw/bars.js";
import { GROUPINGS, changedAt, groupConsumers, holds, largest } from "../../model/consumers.js";
import { sortClasses } from "../../model/tree.js";
import { Chip, formatAge, formatAmount, formatNumber } from "../../parts/values.js";
import { address, change, link } from "../../state.js";
import { html, useEffect, useMemo, useRef, useState } from "../../vendor/preact.js";
import { treesOf, usePlaces } from "./names.js";
import { amountsText } from "../tree/consumers.js";

/** @typedef {import("../../model/consumers.js").Consumer} Consumer */
/** @typedef {import("../../model/consumers.js").Group} Group */

/** So many classes have a column; the others are written in one. */
const COLUMNS_MAX = 4;
const TREES_MAX = 3;

/**
 * The classes that most consumers hold have columns.
 * @param {Consumer[]} consumers
 */
function columnsOf(consumers) {
	/** @type {Record<string, number>} */
	const counts = {};
	for (const consumer of consumers) for (const name of Object.keys(holds(consumer))) counts[name] = (counts[name] ?? 0) + 1;
	const common = sortClasses(Object.keys(counts)).sort((one, other) => counts[other] - counts[one]);
	return { columns: sortClasses(common.slice(0, COLUMNS_MAX)), hasOthers: common.length > COLUMNS_MAX };
}

/**
 * @param {{consumers: Consumer[], grouping: string, selected: string, orphans: ReadonlySet<string>,
 *   changed: {uuids: ReadonlySet<string>, round: number}}} props
 */
export function ConsumerTable({ consumers, grouping, selected, orphans, changed }) {
	const groups = useMemo(() => groupConsumers(consumers, grouping), [consumers, grouping]);
	const { columns, hasOthers } = useMemo(() => columnsOf(consumers), [consumers]);
	const most = useMemo(() => largest(consumers), [consumers]);
	const body = useRef(/** @type {HTMLElement | null} */ (null));
	const isGrouped = grouping in GROUPINGS;
	const facts = /** @type {["project" | "user" | "type", string][]} */ (
		[["type", "type"], ["project", "project"], ["user", "user"]].filter(([name]) => name !== grouping)
	);
	const press = (/** @type {KeyboardEvent} */ event) => {
		if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
		const links = /** @type {HTMLElement[]} */ ([...(body.current?.querySelectorAll("a.consumer") ?? [])]);
		const index = links.indexOf(/** @type {HTMLElement} */ (event.target));
		if (index < 0) return;
		event.preventDefault();
		links[index + (event.key === "ArrowDown" ? 1 : -1)]?.focus();
	};
	const width = 2 + facts.length;
	return html`<table class="consumers" ref=${body} onKeyDown=${press}>
		<thead><tr>
			<th scope="col">consumer</th>${facts.map(([, text]) => html`<th scope="col">${text}</th>`)}<th scope="col" class="number" title="since it last changed">age</th>
			${columns.map((name) => html`<th scope="col" class="class-column" title=${name}>${name}</th>`)}
			<th scope="col">in the trees</th>${hasOthers && html`<th scope="col">other classes</th>`}
		</tr></thead>
		${groups.map((group) => html`<tbody key=${group.key}>
			${isGrouped && html`<tr class="group">
				<th scope="rowgroup" colspan=${width}><a class="name" href=${filterLink(grouping, group.key)} title=${`only ${grouping} ${group.key}`}>${group.key}</a>
					<span class="quiet"> ${formatNumber(group.consumers.length)}</span></th>
				${columns.map((name) => html`<td class="class-column"><span class="sum number" title=${`${name}: ${formatNumber(group.sums[name] ?? 0)}`}>${group.sums[name] ? formatAmount(name, group.sums[name]) : ""}</span><span class="held-class"> ${name}</span></td>`)}
				<td></td>${hasOthers && html`<td class="small others" title=${othersText(group.sums, columns)}>${othersText(group.sums, columns)}</td>`}
			</tr>`}
			${group.consumers.map((consumer) => html`<${ConsumerRow} key=${consumer.uuid} consumer=${consumer} columns=${columns} hasOthers=${hasOthers} most=${most}
				facts=${facts} isSelected=${consumer.uuid === selected} isOrphan=${orphans.has(consumer.uuid)}
				flash=${changed.uuids.has(consumer.uuid) ? 1 + (changed.round % 2) : 0} />`)}
		</tbody>`)}
	</table>`;
}

/** The same page with only this group. @param {string} grouping @param {string} value */
function filterLink(grouping, value) {
	const next = new URLSearchParams(address.value.parameters);
	next.set(grouping, value);
	next.delete("group");
	return link("consumers", next);
}

/** @param {Record<string, number>} sums @param {string[]} columns */
function othersText(sums, columns) {
	const others = Object.entries(sums).filter(([name]) => !columns.includes(name));
	return others.length ? amountsText(Object.fromEntries(others)) : "";
}

/**
 * @param {{consumer: Consumer, columns: string[], hasOthers: boolean, most: Record<string, number>, facts: ["project" | "user" | "type", string][],
 *   isSelected: boolean, isOrphan: boolean, flash: number}} props
 */
function ConsumerRow({ consumer, columns, hasOthers, most, facts, isSelected, isOrphan, flash }) {
	const row = useRef(/** @type {HTMLElement | null} */ (null));
	const isSeen = useSeen(row);
	const uuids = Object.keys(consumer.allocations);
	const trees = treesOf(uuids, usePlaces(uuids, isSeen));
	const sums = holds(consumer);
	const changed = changedAt(consumer);
	const select = (/** @type {MouseEvent} */ event) => {
		if (event.target instanceof Element && event.target.closest("a, button")) return;
		if (!getSelection()?.toString()) change({ consumer: isSelected ? null : consumer.uuid });
	};
	const parameters = new URLSearchParams(address.value.parameters);
	parameters.set("consumer", consumer.uuid);
	return html`<tr ref=${row} class=${`selectable ${flash ? `flash-${flash}` : ""} ${isSelected ? "is-selected" : ""}`} onClick=${select}>
		<td><a class="consumer mono" href=${link("consumers", parameters)} title=${consumer.uuid} aria-current=${isSelected ? "true" : undefined}>${consumer.uuid.slice(0, 8)}</a>
			${isOrphan && html` <${Chip} text="orphan" kind="orphan" title="an orphan in the audit report" />`}</td>
		${facts.map(([name]) => {
			const text = consumer[GROUPINGS[name]] ?? "unknown";
			return html`<td class="fact"><span class="name" title=${text}>${text}</span></td>`;
		})}
		<td class="number quiet" title=${changed ? new Date(changed).toISOString() : "unknown"}>${changed ? formatAge(Date.now() - changed) : "–"}</td>
		${columns.map((name) => html`<td class="class-column">${sums[name] ? html`<span class="held" title=${`${name}: ${formatNumber(sums[name])}`}>
			<${Strip} parts=${[{ kind: "used", share: sums[name] / most[name] }]} /><span class="number">${formatAmount(name, sums[name])}</span><span class="held-class"> ${name}</span></span>` : ""}</td>`)}
		<td class="fact trees">${trees.slice(0, TREES_MAX).map((tree) => html`<a key=${tree.uuid} class="name" href=${link("tree", { uuid: tree.uuid, consumer: consumer.uuid })}
			title=${`${tree.name || tree.uuid}: ${formatNumber(tree.providers.length)} provider${tree.providers.length === 1 ? "" : "s"}`}>${tree.name || tree.uuid.slice(0, 8)}</a> `)}
			${trees.length > TREES_MAX && html`<span class="quiet small">+${trees.length - TREES_MAX}</span>`}</td>
		${hasOthers && html`<td class="small others" title=${othersText(sums, columns)}>${othersText(sums, columns)}</td>`}
	</tr>`;
}

/** Whether it has been on the screen by now. @param {{current: HTMLElement | null}} element */
function useSeen(element) {
	const [isSeen, setSeen] = useState(false);
	useEffect(() => {
		if (isSeen || !element.current) return undefined;
		const observer = new IntersectionObserver((entries) => {
			if (entries.some((entry) => entry.isIntersecting)) setSeen(true);
		});
		observer.observe(element.current);
		return () => observer.disconnect();
	}, [isSeen]);
	return isSeen;
}
