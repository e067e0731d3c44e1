// Colours of the heat map: one scale for both themes, light to dark with fullness; red means over capacity.

/** Points of the viridis scale, from empty to full. It is even to the eye and safe for colour-blind people. */
const POINTS = [
	[253, 231, 37], [181, 222, 43], [110, 206, 88], [53, 183, 121], [31, 158, 137],
	[38, 130, 142], [49, 104, 142], [62, 73, 137], [72, 36, 117],
];

export const LEVELS = 64; // shades from empty to full

/** What a cell shows beside a shade. */
export const OVER = LEVELS;
export const HOLLOW = LEVELS + 1; // the tree has nothing of the class

const OVER_COLOUR = [218, 30, 40];

/** @type {number[][]} red, green and blue of each level, and of `OVER` */
export const COLOURS = [...Array.from({ length: LEVELS }, (_, level) => shade(level / (LEVELS - 1))), OVER_COLOUR];

/** @param {number} share from 0 to 1 */
function shade(share) {
	const place = share * (POINTS.length - 1);
	const before = Math.min(Math.floor(place), POINTS.length - 2);
	return POINTS[before].map((value, part) => Math.round(value + (POINTS[before + 1][part] - value) * (place - before)));
}

/**
 * The level of a cell.
 * @param {number} used
 * @param {number} capacity
 * @param {boolean} isOver whether any provider of the tree is over its capacity
 */
export function levelOf(used, capacity, isOver) {
	if (isOver || used > capacity) return OVER;
	if (capacity <= 0) return HOLLOW;
	return Math.round((used / capacity) * (LEVELS - 1));
}

/** @param {number} level */
export const cssColour = (level) => `rgb(${COLOURS[level].join(" ")})`;
