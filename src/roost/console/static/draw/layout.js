// Where the cells of the heat map are: groups side by side on shelves, cells in lines. Arithmetic only.

export const LABEL_HEIGHT = 18;
const GROUP_GAP = 16;
const SHELF_GAP = 10;

/** Cells of this size have room for a name: they are wider than high. */
export const NAMED_SIZE = 32;
const NAMED_WIDTH = 116;

/** @typedef {import("../model/selection.js").Group} Group */
/** @typedef {{group: Group, x: number, y: number, columns: number, width: number, height: number}} Block */
/** @typedef {{y: number, height: number, blocks: Block[]}} Shelf */
/** @typedef {{width: number, height: number}} Size */
/** @typedef {{blocks: Block[], block: Int32Array, place: Int32Array}} Places the number of the block of each row, and its place there; -1: it has none */
/**
 * @typedef {{shelves: Shelf[], count: number, height: number, cell: Size, pitch: Size, isNamed: boolean, top: number, places: Places | null}} Layout
 *   `count`: how many cells; `pitch`: a cell and the gap beside it; `top`: the height of labels; `places`: made when first asked for
 */

/**
 * @param {Group[]} groups
 * @param {number} width of the canvas
 * @param {number} size of a cell
 * @param {(text: string) => number} measure the width of a label
 * @returns {Layout}
 */
export function layOut(groups, width, size, measure) {
	const isNamed = size >= NAMED_SIZE;
	const gap = size >= 6 ? 2 : 1;
	const cell = { width: isNamed ? NAMED_WIDTH : size, height: size };
	const pitch = { width: cell.width + gap, height: cell.height + gap };
	const top = groups.some((group) => group.label) ? LABEL_HEIGHT : 0;
	const most = Math.max(1, Math.floor(width / pitch.width));
	/** @type {Shelf[]} */
	const shelves = [];
	let total = 0;
	let shelf = /** @type {Shelf | null} */ (null);
	let x = 0;
	for (const group of groups) {
		const count = group.rows.length;
		// Small groups lie side by side, two to three times as wide as high; a large one has the whole width.
		const fewest = Math.ceil(measure(group.label) / pitch.width);
		const columns = groups.length === 1 ? most : Math.min(most, Math.max(fewest, Math.ceil(Math.sqrt((count * 2.5 * pitch.height) / pitch.width))));
		const block = { group, x: 0, y: 0, columns, width: columns * pitch.width, height: top + Math.ceil(count / columns) * pitch.height };
		if (!shelf || x + block.width > width) {
			const y = shelf ? shelf.y + shelf.height + SHELF_GAP : 0;
			shelf = { y, height: 0, blocks: [] };
			shelves.push(shelf);
			x = 0;
		}
		block.x = x;
		block.y = shelf.y;
		shelf.blocks.push(block);
		shelf.height = Math.max(shelf.height, block.height);
		x += block.width + GROUP_GAP;
		total += count;
	}
	return { shelves, count: total, height: shelf ? shelf.y + shelf.height : 0, cell, pitch, isNamed, top, places: null };
}

/**
 * The block of a row and its place there. Zooming through sizes needs none of them, so they are not made before.
 * @param {Layout} layout
 * @param {number} row
 * @returns {[Block, number] | null}
 */
function placeOf(layout, row) {
	layout.places ??= makePlaces(layout);
	const { blocks, block, place } = layout.places;
	return row >= 0 && row < block.length && block[row] >= 0 ? [blocks[block[row]], place[row]] : null;
}

/** @param {Layout} layout @returns {Places} */
function makePlaces(layout) {
	const blocks = layout.shelves.flatMap((shelf) => shelf.blocks);
	let last = -1;
	for (const { group } of blocks) for (const row of group.rows) if (row > last) last = row;
	const block = new Int32Array(last + 1).fill(-1);
	const place = new Int32Array(last + 1);
	blocks.forEach(({ group }, number) =>
		group.rows.forEach((row, at) => {
			block[row] = number;
			place[row] = at;
		}),
	);
	return { blocks, block, place };
}

/**
 * The corner of a cell.
 * @param {Layout} layout
 * @param {number} row
 * @returns {[number, number] | null}
 */
export function cornerOf(layout, row) {
	const found = placeOf(layout, row);
	if (!found) return null;
	const [block, place] = found;
	return [block.x + (place % block.columns) * layout.pitch.width, block.y + layout.top + Math.floor(place / block.columns) * layout.pitch.height];
}

/**
 * The row whose cell is at a point; -1 if there is none.
 * @param {Layout} layout
 * @param {number} x
 * @param {number} y
 */
export function rowAt(layout, x, y) {
	const shelf = layout.shelves[shelfAt(layout, y)];
	const block = shelf?.blocks.find((each) => x >= each.x && x < each.x + each.width);
	if (!block) return -1;
	const line = Math.floor((y - block.y - layout.top) / layout.pitch.height);
	const column = Math.floor((x - block.x) / layout.pitch.width);
	if (line < 0 || column >= block.columns) return -1;
	return block.group.rows[line * block.columns + column] ?? -1;
}

/**
 * The number of the last shelf that begins at or above a height.
 * @param {Layout} layout
 * @param {number} y
 */
export function shelfAt(layout, y) {
	let low = 0;
	let high = layout.shelves.length - 1;
	while (low < high) {
		const middle = (low + high + 1) >> 1;
		if (layout.shelves[middle].y <= y) low = middle;
		else high = middle - 1;
	}
	return low;
}

/**
 * The neighbour of a cell, for the arrow keys; the same row at an edge.
 * @param {Layout} layout
 * @param {number} row
 * @param {"ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown"} key
 */
export function neighbour(layout, row, key) {
	const found = placeOf(layout, row);
	if (!found) return layout.shelves[0]?.blocks[0]?.group.rows[0] ?? -1;
	const [block, place] = found;
	if (key === "ArrowLeft" || key === "ArrowRight") {
		const rows = block.group.rows;
		const next = place + (key === "ArrowLeft" ? -1 : 1);
		if (rows[next] !== undefined) return rows[next];
		const { blocks } = /** @type {Places} */ (layout.places);
		const other = blocks[blocks.indexOf(block) + (key === "ArrowLeft" ? -1 : 1)];
		return other ? other.group.rows[key === "ArrowLeft" ? other.group.rows.length - 1 : 0] : row;
	}
	const next = block.group.rows[place + (key === "ArrowUp" ? -block.columns : block.columns)];
	if (next !== undefined) return next;
	const [x] = /** @type {[number, number]} */ (cornerOf(layout, row));
	const shelf = layout.shelves[layout.shelves.findIndex((each) => each.blocks.includes(block)) + (key === "ArrowUp" ? -1 : 1)];
	const target = shelf?.blocks.find((each) => x < each.x + each.width) ?? shelf?.blocks.at(-1);
	if (!target) return row;
	const column = Math.min(Math.max(0, Math.floor((x - target.x) / layout.pitch.width)), target.columns - 1);
	const lines = Math.ceil(target.group.rows.length / target.columns);
	const line = key === "ArrowUp" ? lines - 1 : 0;
	return target.group.rows[Math.min(line * target.columns + column, target.group.rows.length - 1)] ?? row;
}
