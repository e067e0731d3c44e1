// The heat map on the page: scrolling, zooming, pointing, keys.

import { levelOf } from "../../draw/colours.js";
import { HeatMap } from "../../draw/heatmap.js";
import { cornerOf, layOut, NAMED_SIZE, neighbour } from "../../draw/layout.js";
import { cloud } from "../../model/cloud.js";
import { DISABLED, fullness } from "../../model/selection.js";
import { formatAge, formatAmount, formatNumber, formatShare } from "../../parts/values.js";
import { change, go, isDark, theme, useStore } from "../../state.js";
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../../vendor/preact.js";

/** @typedef {import("../../model/selection.js").Group} Group */

const DOUBLE_CLICK_MILLISECONDS = 1000;
const CELL_MIN = 4;
// The last size has room for names.
const SIZES = [...Array.from({ length: 21 }, (_, step) => CELL_MIN + step), NAMED_SIZE];

const measuring = document.createElement("canvas").getContext("2d");

/** @param {string} text */
function measure(text) {
	if (!measuring || !text) return 0;
	measuring.font = "12px system-ui, sans-serif";
	return Math.min(240, measuring.measureText(text).width);
}

/**
 * The largest cells with which everything is in sight.
 * @param {Group[]} groups
 * @param {number} width
 * @param {number} height
 */
export function fittingSize(groups, width, height) {
	return [...SIZES].reverse().find((size) => layOut(groups, width, size, measure).height <= height) ?? CELL_MIN;
}

const UNKNOWN = 255;

/**
 * What each cell shows, worked out once: all of them may be in sight, in every frame.
 * @param {string} resourceClass
 * @returns {import("../../draw/heatmap.js").CellOf}
 */
function rememberCells(resourceClass) {
	const levels = new Uint8Array(cloud.trees.length).fill(UNKNOWN);
	const disabled = new Uint8Array(cloud.trees.length);
	const look = (/** @type {number} */ row) => {
		const { used, capacity, isOver } = fullness(cloud, row, resourceClass);
		levels[row] = levelOf(used, capacity, isOver);
		disabled[row] = cloud.trees[row].length && cloud.rootOf(row).traits.includes(DISABLED) ? 1 : 0;
	};
	return {
		level: (row) => (levels[row] === UNKNOWN && look(row), levels[row]),
		isDisabled: (row) => disabled[row] === 1,
		forget: (row) => void (levels[row] = UNKNOWN),
	};
}

function readTheme() {
	const style = getComputedStyle(document.documentElement);
	const value = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
	return {
		// Full cells are dark in both themes, so the ground of the map must not be.
		background: isDark() ? "#2d353e" : "#ffffff",
		text: isDark() ? "#ffffff" : value("--text"),
		line: isDark() ? "#8b96a2" : "#a8b0b9",
		focus: isDark() ? "#79c0ff" : "#0550ae",
		flash: isDark() ? "#ffffff" : "#000000",
	};
}

/**
 * @param {{groups: Group[], resourceClass: string, selected: string, size: string}} props `size` of a cell; empty: everything is in sight
 */
export function CloudMap({ groups, resourceClass, selected, size }) {
	const scroller = useRef(/** @type {HTMLDivElement | null} */ (null));
	const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
	const map = useRef(/** @type {HeatMap | null} */ (null));
	const [room, setRoom] = useState({ width: 0, height: 0 });
	const [pointed, setPointed] = useState(-1);
	const [point, setPoint] = useState({ x: 0, y: 0 });
	const [, redraw] = useState(0);
	useStore(theme);
	const selectedRow = cloud.rowOf.get(selected) ?? -1;

	const cell = useMemo(() => {
		if (SIZES.includes(Number(size))) return Number(size);
		return room.width ? fittingSize(groups, room.width, room.height) : CELL_MIN;
	}, [groups, room, size]);
	const layout = useMemo(() => layOut(groups, room.width, cell, measure), [groups, room.width, cell]);

	const cells = useMemo(() => rememberCells(resourceClass), [cloud.value, resourceClass]);

	useLayoutEffect(() => {
		const element = /** @type {HTMLDivElement} */ (scroller.current);
		const drawn = new HeatMap(/** @type {HTMLCanvasElement} */ (canvas.current));
		map.current = drawn;
		const observer = new ResizeObserver(() => setRoom({ width: element.clientWidth, height: element.clientHeight }));
		observer.observe(element);
		const changed = (/** @type {number} */ row) => {
			drawn.cellOf.forget(row);
			drawn.drawRow(row, true);
			if (row === drawn.hovered) redraw((count) => count + 1);
		};
		cloud.rowListeners.add(changed);
		const dark = matchMedia("(prefers-color-scheme: dark)");
		const recolour = () => ((drawn.theme = readTheme()), drawn.draw());
		dark.addEventListener("change", recolour);
		return () => {
			observer.disconnect();
			cloud.rowListeners.delete(changed);
			dark.removeEventListener("change", recolour);
			drawn.stop();
		};
	}, []);

	useLayoutEffect(() => {
		const drawn = /** @type {HeatMap} */ (map.current);
		drawn.theme = readTheme();
		drawn.layout = layout;
		drawn.selected = selectedRow;
		drawn.cellOf = cells;
		drawn.textOf = (row) => {
			const { used, capacity } = fullness(cloud, row, resourceClass);
			return [cloud.names[row], capacity > 0 || used > 0 ? formatShare(used, capacity) : "–"];
		};
		if (drawn.width !== room.width || drawn.height !== room.height) drawn.resize(room.width, room.height);
		else drawn.draw();
	}, [layout, room, cells, selectedRow, theme.value]);

	const zoom = (/** @type {number} */ step) => {
		const next = SIZES[SIZES.indexOf(cell) + step];
		if (next) change({ size: String(next) }, { replace: true });
	};
	// preact listens passively to the wheel, and the page itself must not zoom.
	useEffect(() => {
		const element = /** @type {HTMLDivElement} */ (scroller.current);
		const turn = (/** @type {WheelEvent} */ event) => {
			if (!event.ctrlKey && !event.metaKey) return;
			event.preventDefault();
			zoom(event.deltaY > 0 ? -1 : 1);
		};
		element.addEventListener("wheel", turn, { passive: false });
		return () => element.removeEventListener("wheel", turn);
	}, [cell]);

	const scroll = () => {
		const drawn = /** @type {HeatMap} */ (map.current);
		drawn.scrollTop = scroller.current?.scrollTop ?? 0;
		drawn.draw();
	};
	const aim = (/** @type {number} */ row) => {
		const drawn = /** @type {HeatMap} */ (map.current);
		const before = drawn.hovered;
		drawn.hovered = row;
		for (const each of [before, row]) if (each >= 0) drawn.drawRow(each, false);
		setPointed(row);
	};
	const rowUnder = (/** @type {MouseEvent} */ event) => {
		const box = /** @type {HTMLCanvasElement} */ (canvas.current).getBoundingClientRect();
		const [x, y] = [event.clientX - box.left, event.clientY - box.top];
		setPoint({ x, y });
		return /** @type {HeatMap} */ (map.current).rowAt(x, y);
	};
	const move = (/** @type {PointerEvent} */ event) => {
		const row = rowUnder(event);
		if (row !== pointed) aim(row);
	};
	const open = (/** @type {number} */ row) => row >= 0 && change({ uuid: cloud.uuids[row] });
	const clicked = useRef({ row: -1, at: 0 });
	const click = (/** @type {MouseEvent} */ event) => {
		if (event.detail > 1) return;
		clicked.current = { row: rowUnder(event), at: performance.now() };
		open(clicked.current.row);
	};
	// The first click of two opens the details, which may move the map away from under the pointer.
	useEffect(() => {
		const openPage = () => {
			const { row, at } = clicked.current;
			if (row >= 0 && performance.now() - at < DOUBLE_CLICK_MILLISECONDS) go("tree", { uuid: cloud.uuids[row] });
		};
		document.addEventListener("dblclick", openPage);
		return () => document.removeEventListener("dblclick", openPage);
	}, []);
	const press = (/** @type {KeyboardEvent} */ event) => {
		if (event.key === "+" || event.key === "=") zoom(1);
		else if (event.key === "-") zoom(-1);
		else if (event.key === "0") change({ size: null }, { replace: true });
		else if (event.key === "Enter" && pointed >= 0) open(pointed);
		else if (/^Arrow/.test(event.key)) {
			event.preventDefault();
			const row = neighbour(layout, pointed >= 0 ? pointed : selectedRow, /** @type {any} */ (event.key));
			const corner = cornerOf(layout, row);
			const element = /** @type {HTMLDivElement} */ (scroller.current);
			if (corner) {
				if (corner[1] < element.scrollTop) element.scrollTop = corner[1] - 20;
				if (corner[1] + cell > element.scrollTop + room.height) element.scrollTop = corner[1] + cell + 20 - room.height;
				setPoint({ x: corner[0] + cell, y: corner[1] - element.scrollTop + cell });
			}
			aim(row);
		}
	};

	return html`<div class="map">
		<div class="zoom" role="group" aria-label="size of cells">
			<button type="button" title="smaller (−)" aria-label="smaller cells" disabled=${cell <= CELL_MIN} onClick=${() => zoom(-1)}>−</button>
			<button type="button" title="larger (+)" aria-label="larger cells" disabled=${cell === SIZES.at(-1)} onClick=${() => zoom(1)}>+</button>
			<button type="button" title="everything in sight (0)" onClick=${() => change({ size: null }, { replace: true })}>all</button>
		</div>
		<div class="scroller" ref=${scroller} onScroll=${scroll}>
			<div class="spacer" style=${{ height: `${layout.height}px` }}></div>
			<canvas id="heatmap" ref=${canvas} tabindex="0" role="application" aria-roledescription="heat map"
				aria-label=${`${formatNumber(layout.count)} trees; arrow keys go from cell to cell, Enter opens one`}
				style=${{ width: `${room.width}px`, height: `${room.height}px` }}
				onPointerMove=${move} onPointerLeave=${() => aim(-1)} onClick=${click} onKeyDown=${press} onBlur=${() => aim(-1)}></canvas>
		</div>
		<div class="unseen" aria-live="polite">${pointed >= 0 ? describe(pointed, resourceClass).join(", ") : ""}</div>
		${pointed >= 0 && cloud.trees[pointed]?.length > 0 && html`<div class="hover" style=${place(point, room)}>
			${describe(pointed, resourceClass).map((line, number) => html`<div class=${number ? "" : "name"}>${line}</div>`)}
		</div>`}
	</div>`;
}

/** Beside the pointer, and inside of the map. @param {{x: number, y: number}} point @param {{width: number, height: number}} room */
function place(point, room) {
	const left = Math.max(0, Math.min(point.x + 16, room.width - 260));
	const isLow = point.y > room.height - 130;
	return isLow ? { left: `${left}px`, bottom: `${room.height - point.y + 12}px` } : { left: `${left}px`, top: `${point.y + 16}px` };
}

/**
 * What a cell says when it is pointed at.
 * @param {number} row
 * @param {string} resourceClass
 */
export function describe(row, resourceClass) {
	if (!cloud.trees[row]?.length) return [];
	const { used, capacity, reserved, name, isOver } = fullness(cloud, row, resourceClass);
	const lines = [cloud.names[row] || cloud.uuids[row]];
	if (capacity > 0 || used > 0) {
		lines.push(`${name} ${formatShare(used, capacity)} used${isOver ? ", a provider is over its capacity" : ""}`);
		lines.push(`${formatAmount(name, used)} used, ${formatAmount(name, Math.max(0, capacity - used))} free, ${formatAmount(name, reserved)} reserved`);
	} else lines.push(`has no ${name || "inventory"}`);
	const root = cloud.rootOf(row);
	const changed = cloud.changedAt[row];
	lines.push(`generation ${root.generation}${changed ? `, changed ${formatAge(Date.now() - changed)} ago` : ""}, ${formatNumber(cloud.trees[row].length)} ${cloud.trees[row].length === 1 ? "provider" : "providers"}`);
	if (root.traits.includes(DISABLED)) lines.push("disabled");
	return lines;
}
