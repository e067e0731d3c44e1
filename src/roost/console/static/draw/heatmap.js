// The heat map: one canvas, a rectangle for every tree. Pixels are written into one buffer, because a hundred
// thousand calls of fillRect would take longer than a frame.

import { COLOURS, HOLLOW } from "./colours.js";
import { cornerOf, LABEL_HEIGHT, layOut, rowAt, shelfAt } from "./layout.js";

const FLASH_MILLISECONDS = 700;

/** @typedef {import("./layout.js").Layout} Layout */
/** @typedef {{background: string, text: string, line: string, focus: string, flash: string}} Theme */
/**
 * What a cell shows, by its row. `level` comes first; `forget` says that the row has changed.
 * @typedef {{level: (row: number) => number, isDisabled: (row: number) => boolean, forget: (row: number) => void}} CellOf
 */
/** @typedef {{left: number, top: number, width: number, height: number}} Box in pixels of the device */

/** @param {number[]} colour */
const pack = ([red, green, blue]) => (255 << 24) | (blue << 16) | (green << 8) | red;
const PACKED = new Int32Array(COLOURS.map(pack));

/** Draws the part of a layout that is in sight, and single cells again. */
export class HeatMap {
	/** @param {HTMLCanvasElement} canvas */
	constructor(canvas) {
		this.canvas = canvas;
		this._context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false }));
		/** @type {Layout} */
		this.layout = layOut([], 1, 1, () => 0);
		/** @type {CellOf} */
		this.cellOf = { level: () => HOLLOW, isDisabled: () => false, forget: () => undefined };
		/** @type {(row: number) => [string, string]} what a cell says that has room for a name and a number */
		this.textOf = () => ["", ""];
		/** @type {Theme} */
		this.theme = { background: "#fff", text: "#000", line: "#ccc", focus: "#00f", flash: "#f0f" };
		this.scrollTop = 0;
		this.selected = -1;
		this.hovered = -1;
		this.width = 0;
		this.height = 0;
		this._scale = 1;
		/** @type {ImageData | null} */
		this._image = null;
		this._pixels = new Int32Array(0);
		/** @type {Map<number, number>} rows that flash, and until when */
		this._flashes = new Map();
		/** @type {Set<number>} */
		this._dirty = new Set();
		this._frame = 0;
		this._drawAll = true;
	}

	/**
	 * @param {number} width in CSS pixels
	 * @param {number} height
	 */
	resize(width, height) {
		this._scale = devicePixelRatio || 1;
		this.width = width;
		this.height = height;
		this.canvas.width = Math.max(1, Math.round(width * this._scale));
		this.canvas.height = Math.max(1, Math.round(height * this._scale));
		this._image = this._context.createImageData(this.canvas.width, this.canvas.height);
		this._pixels = new Int32Array(this._image.data.buffer);
		this.draw();
	}

	/** Draw everything in the next frame. */
	draw() {
		this._drawAll = true;
		this._request();
	}

	/** A row has changed: draw its cell in the next frame. @param {number} row @param {boolean} flashes */
	drawRow(row, flashes) {
		this._dirty.add(row);
		if (flashes) this._flashes.set(row, performance.now() + FLASH_MILLISECONDS);
		this._request();
	}

	/** @param {number} x in CSS pixels, of the canvas @param {number} y */
	rowAt(x, y) {
		return rowAt(this.layout, x, y + this.scrollTop);
	}

	stop() {
		cancelAnimationFrame(this._frame);
	}

	_request() {
		if (!this._frame) this._frame = requestAnimationFrame(() => this._step());
	}

	_step() {
		this._frame = 0;
		if (!this._image) return;
		const now = performance.now();
		for (const [row, until] of this._flashes) {
			this._dirty.add(row);
			if (until <= now) this._flashes.delete(row);
		}
		if (this._drawAll) this._paintAll();
		else for (const row of this._dirty) this._paintRow(row);
		this._drawAll = false;
		this._dirty.clear();
		this._paintOutlines();
		if (this._flashes.size) setTimeout(() => this._request(), 100);
	}

	_paintAll() {
		const { layout } = this;
		this._pixels.fill(parse(this.theme.background));
		const bottom = this.scrollTop + this.height;
		/** @type {import("./layout.js").Block[]} */
		const labelled = [];
		/** @type {number[]} */
		const named = [];
		for (let number = shelfAt(layout, this.scrollTop); number < layout.shelves.length; number++) {
			const shelf = layout.shelves[number];
			if (shelf.y > bottom) break;
			for (const block of shelf.blocks) {
				labelled.push(block);
				// Only the lines in sight: one group may have a hundred thousand cells.
				const first = Math.max(0, Math.floor((this.scrollTop - block.y - layout.top) / layout.pitch.height));
				const last = Math.ceil((bottom - block.y - layout.top) / layout.pitch.height);
				const { rows } = block.group;
				const end = Math.min(rows.length, last * block.columns);
				for (let place = first * block.columns; place < end; place++) {
					const x = block.x + (place % block.columns) * layout.pitch.width;
					const y = block.y + layout.top + Math.floor(place / block.columns) * layout.pitch.height - this.scrollTop;
					this._fill(this._box(x, y), rows[place]);
					if (layout.isNamed) named.push(rows[place]);
				}
			}
		}
		this._context.putImageData(/** @type {ImageData} */ (this._image), 0, 0);
		if (layout.top) for (const block of labelled) this._paintLabel(block);
		for (const row of named) this._paintText(row);
	}

	/** @param {number} row */
	_paintRow(row) {
		const corner = cornerOf(this.layout, row);
		if (!corner) return;
		const [x, y] = [corner[0], corner[1] - this.scrollTop];
		if (y < -this.layout.pitch.height || y > this.height) return;
		const box = this._box(x, y);
		this._fill(box, row);
		// Two more pixels: the outline of a cell that was selected lies around it.
		this._context.putImageData(/** @type {ImageData} */ (this._image), 0, 0, box.left - 2, box.top - 2, box.width + 4, box.height + 4);
		if (this.layout.isNamed) this._paintText(row);
	}

	/** @param {number} x @param {number} y @returns {Box} */
	_box(x, y) {
		const { width, height } = this.layout.cell;
		const scale = this._scale;
		return { left: Math.round(x * scale), top: Math.round(y * scale), width: Math.round(width * scale), height: Math.round(height * scale) };
	}

	/** @param {Box} box @param {number} row of the cell */
	_fill(box, row) {
		const level = this.cellOf.level(row);
		const isDisabled = this.cellOf.isDisabled(row);
		const { width, height } = this.canvas;
		const background = parse(this.theme.background);
		const border = parse(this.theme.line);
		const colour = level === HOLLOW ? background : PACKED[level];
		const right = Math.min(box.left + box.width, width);
		const from = Math.max(box.top, 0);
		const to = Math.min(box.top + box.height, height);
		const pixels = this._pixels;
		for (let line = from; line < to; line++) {
			const start = line * width;
			if (level !== HOLLOW && !isDisabled) {
				pixels.fill(colour, start + box.left, start + right);
				continue;
			}
			const isEdge = line === box.top || line === box.top + box.height - 1;
			for (let column = box.left; column < right; column++) {
				const isBorder = isEdge || column === box.left || column === box.left + box.width - 1;
				const isStripe = isDisabled && (column - box.left + line - box.top) % 4 < 2;
				pixels[start + column] = isStripe ? background : isBorder && level === HOLLOW ? border : colour;
			}
		}
	}

	/** A name and a number in a cell. @param {number} row */
	_paintText(row) {
		const corner = cornerOf(this.layout, row);
		if (!corner) return;
		const level = this.cellOf.level(row);
		const isDisabled = this.cellOf.isDisabled(row);
		const [red, green, blue] = level === HOLLOW ? [255, 255, 255] : COLOURS[level];
		const isLight = 0.3 * red + 0.59 * green + 0.11 * blue > 125;
		const context = this._context;
		const { width, height } = this.layout.cell;
		const [x, y] = [corner[0], corner[1] - this.scrollTop];
		const [name, number] = this.textOf(row);
		context.save();
		context.scale(this._scale, this._scale);
		context.beginPath();
		context.rect(x, y, width - 4, height);
		context.clip();
		context.fillStyle = level === HOLLOW || isDisabled ? this.theme.text : isLight ? "#10151a" : "#ffffff";
		context.font = "12px system-ui, sans-serif";
		context.textBaseline = "middle";
		context.fillText(name, x + 5, y + height / 4 + 2);
		context.fillText(number, x + 5, y + (3 * height) / 4);
		context.restore();
	}

	/** @param {import("./layout.js").Block} block */
	_paintLabel(block) {
		const context = this._context;
		context.save();
		context.scale(this._scale, this._scale);
		context.fillStyle = this.theme.text;
		context.font = "12px system-ui, sans-serif";
		context.textBaseline = "middle";
		context.fillText(block.group.label, block.x, block.y - this.scrollTop + LABEL_HEIGHT / 2 - 1, Math.max(block.width, 8));
		context.restore();
	}

	_paintOutlines() {
		const now = performance.now();
		for (const row of this._flashes.keys()) if ((this._flashes.get(row) ?? 0) > now) this._outline(row, this.theme.flash);
		if (this.hovered >= 0) this._outline(this.hovered, this.theme.text);
		if (this.selected >= 0) this._outline(this.selected, this.theme.focus);
	}

	/** @param {number} row @param {string} colour */
	_outline(row, colour) {
		const corner = cornerOf(this.layout, row);
		if (!corner) return;
		const { left, top, width, height } = this._box(corner[0], corner[1] - this.scrollTop);
		this._context.strokeStyle = colour;
		this._context.lineWidth = 2;
		this._context.strokeRect(left - 1, top - 1, width + 2, height + 2);
	}
}

/** @type {Map<string, number>} */
const parsed = new Map();

/** A colour such as #1b1f24 as a pixel. @param {string} colour */
function parse(colour) {
	let found = parsed.get(colour);
	if (found === undefined) {
		const number = Number.parseInt(colour.trim().slice(1), 16);
		found = pack([(number >> 16) & 255, (number >> 8) & 255, number & 255]);
		parsed.set(colour, found);
	}
	return found;
}

