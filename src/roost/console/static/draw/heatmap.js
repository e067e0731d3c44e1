// The heat map: one canvas, a rectangle for every tree. Pixels are written into one buffer, because a hundred
// thousand calls of fillRect would take longer than a frame.

import { COLOURS, HOLLOW } from "./colours.js";
import { cornerOf, LABEL_HEIGHT, rowAt, shelfAt } from "./layout.js";

const FLASH_MILLISECONDS = 700;

/** @typedef {import("./layout.js").Layout} Layout */
/** @typedef {{background: string, text: string, line: string, focus: string, flash: string}} Theme */
/** @typedef {{level: number, isDisabled: boolean}} Cell */

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
		this.layout = { shelves: [], height: 0, pitch: 1, cell: 1, top: 0, placeOf: new Map() };
		/** @type {(row: number) => Cell} */
		this.cellOf = () => ({ level: HOLLOW, isDisabled: false });
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
		for (let number = shelfAt(layout, this.scrollTop); number < layout.shelves.length; number++) {
			const shelf = layout.shelves[number];
			if (shelf.y > bottom) break;
			for (const block of shelf.blocks) {
				labelled.push(block);
				// Only the lines in sight: one group may have a hundred thousand cells.
				const first = Math.max(0, Math.floor((this.scrollTop - block.y - layout.top) / layout.pitch));
				const last = Math.ceil((bottom - block.y - layout.top) / layout.pitch);
				const { rows } = block.group;
				const end = Math.min(rows.length, last * block.columns);
				for (let place = first * block.columns; place < end; place++) {
					const x = block.x + (place % block.columns) * layout.pitch;
					const y = block.y + layout.top + Math.floor(place / block.columns) * layout.pitch - this.scrollTop;
					this._fill(x, y, this.cellOf(rows[place]));
				}
			}
		}
		this._context.putImageData(/** @type {ImageData} */ (this._image), 0, 0);
		if (layout.top) for (const block of labelled) this._paintLabel(block);
	}

	/** @param {number} row */
	_paintRow(row) {
		const corner = cornerOf(this.layout, row);
		if (!corner) return;
		const [x, y] = [corner[0], corner[1] - this.scrollTop];
		if (y < -this.layout.pitch || y > this.height) return;
		this._fill(x, y, this.cellOf(row));
		const [left, top, size] = this._device(x, y);
		// Two more pixels: the outline of a cell that was selected lies around it.
		this._context.putImageData(/** @type {ImageData} */ (this._image), 0, 0, left - 2, top - 2, size + 4, size + 4);
	}

	/** @param {number} x @param {number} y @returns {[number, number, number]} the corner and the size in pixels of the device */
	_device(x, y) {
		return [Math.round(x * this._scale), Math.round(y * this._scale), Math.round(this.layout.cell * this._scale)];
	}

	/**
	 * @param {number} x
	 * @param {number} y
	 * @param {Cell} cell
	 */
	_fill(x, y, { level, isDisabled }) {
		const [left, top, size] = this._device(x, y);
		const { width, height } = this.canvas;
		const background = parse(this.theme.background);
		const line = parse(this.theme.line);
		const colour = level === HOLLOW ? background : PACKED[level];
		const right = Math.min(left + size, width);
		const from = Math.max(top, 0);
		const to = Math.min(top + size, height);
		const pixels = this._pixels;
		for (let row = from; row < to; row++) {
			const start = row * width;
			if (level !== HOLLOW && !isDisabled) {
				pixels.fill(colour, start + Math.max(left, 0), start + right);
				continue;
			}
			const isEdge = row === top || row === top + size - 1;
			for (let column = left; column < right; column++) {
				const isBorder = isEdge || column === left || column === left + size - 1;
				const isStripe = isDisabled && (column - left + row - top) % 4 < 2;
				pixels[start + column] = isStripe ? background : isBorder && level === HOLLOW ? line : colour;
			}
		}
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
		const [left, top, size] = this._device(corner[0], corner[1] - this.scrollTop);
		this._context.strokeStyle = colour;
		this._context.lineWidth = 2;
		this._context.strokeRect(left - 1, top - 1, size + 2, size + 2);
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

