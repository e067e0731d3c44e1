import assert from "node:assert/strict";
import test from "node:test";
import { HOLLOW, LEVELS, OVER, levelOf } from "../../../src/roost/console/static/draw/colours.js";
import { cornerOf, layOut, neighbour, rowAt } from "../../../src/roost/console/static/draw/layout.js";

const measure = (text) => 6 * text.length;

/** Groups of these sizes; rows are numbered through. */
function groupsOf(...sizes) {
	let row = 0;
	return sizes.map((size, number) => ({ key: String(number), label: sizes.length > 1 ? `group ${number}` : "", title: "", rows: Array.from({ length: size }, () => row++) }));
}

for (const [width, size, ...sizes] of [[300, 24, 7], [300, 8, 40, 3, 1, 90], [1000, 4, 5000, 20, 20], [50, 32, 3, 2], [10, 24, 4, 4]]) {
	test(`each of ${sizes} cells of ${size} is found at its own place, ${width} wide`, () => {
		const layout = layOut(groupsOf(...sizes), width, size, measure);
		const taken = new Set();
		for (let row = 0; row < layout.count; row++) {
			const [x, y] = cornerOf(layout, row);
			assert.equal(rowAt(layout, x, y), row);
			assert.equal(rowAt(layout, x + layout.cell.width - 1, y + layout.cell.height - 1), row);
			assert.ok(y + layout.cell.height <= layout.height);
			taken.add(`${x} ${y}`);
		}
		assert.equal(taken.size, sizes.reduce((a, b) => a + b));
	});
}

test("nothing is beside the cells", () => {
	const layout = layOut(groupsOf(5, 5), 400, 10, measure);
	assert.equal(rowAt(layout, 399, 5), -1);
	assert.equal(rowAt(layout, 0, 0), -1); // a label
	assert.equal(rowAt(layout, 5, 10_000), -1);
	assert.equal(rowAt(layOut([], 400, 10, measure), 5, 5), -1);
});

test("arrow keys reach every cell and stop at the edges", () => {
	const layout = layOut(groupsOf(10, 10, 10), 120, 10, measure);
	let row = -1;
	const seen = [];
	for (let step = 0; step < 40; step++) seen.push((row = neighbour(layout, row, "ArrowRight")));
	assert.deepEqual([...new Set(seen)], Array.from({ length: 30 }, (_, number) => number));
	assert.equal(neighbour(layout, 29, "ArrowRight"), 29);
	assert.equal(neighbour(layout, 0, "ArrowLeft"), 0);
	assert.equal(neighbour(layout, 0, "ArrowUp"), 0);
	for (let step = 0; step < 40; step++) row = neighbour(layout, step ? row : 0, "ArrowDown");
	assert.ok(row >= 20);
	for (let step = 0; step < 40; step++) row = neighbour(layout, row, "ArrowUp");
	assert.ok(row < 10);
});

test("levels", () => {
	assert.equal(levelOf(0, 10, false), 0);
	assert.equal(levelOf(10, 10, false), LEVELS - 1);
	assert.equal(levelOf(11, 10, false), OVER);
	assert.equal(levelOf(1, 10, true), OVER);
	assert.equal(levelOf(0, 0, false), HOLLOW);
});
