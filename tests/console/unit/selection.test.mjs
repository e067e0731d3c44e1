import assert from "node:assert/strict";
import test from "node:test";
import { fullness, groupRows, labelOf, parseFilter, select, sortRows, totals } from "../../../src/roost/console/static/model/selection.js";

/** As much of a cloud as the functions need: trees of entries, and their sums. */
function cloudOf(...trees) {
	const columns = new Map();
	const classes = new Set(trees.flatMap((tree) => tree.flatMap((entry) => Object.keys(entry.amounts))));
	for (const name of classes) {
		const column = { used: [], capacity: [], reserved: [], over: [] };
		trees.forEach((tree, row) => {
			const found = tree.map((entry) => entry.amounts[name]).filter(Boolean);
			const sum = (part) => found.reduce((total, each) => total + each[part], 0);
			column.used[row] = sum("used");
			column.capacity[row] = sum("capacity");
			column.reserved[row] = sum("reserved");
			column.over[row] = found.filter((each) => each.used > each.capacity).length;
		});
		columns.set(name, column);
	}
	return {
		trees,
		columns,
		uuids: trees.map((tree) => tree[0]?.uuid ?? ""),
		names: trees.map((tree) => tree[0]?.name ?? ""),
		rootOf: (row) => trees[row][0],
		classNames: () => [...columns.keys()],
	};
}

const provider = (name, amounts = {}, { traits = [], aggregates = [] } = {}) => ({
	uuid: `uuid-of-${name}`,
	name,
	generation: 1,
	traits,
	aggregates,
	amounts: Object.fromEntries(Object.entries(amounts).map(([key, [used, capacity]]) => [key, { used, capacity, reserved: 0, total: capacity }])),
});

const RACK = "11111111-1111-4111-8111-111111111111";
const ZONE = "22222222-2222-4222-8222-222222222222";

test("the scarcest class is the fullest one of a tree", () => {
	const cloud = cloudOf([provider("a", { VCPU: [1, 10], VGPU: [3, 4] })]);
	assert.equal(fullness(cloud, 0, "").name, "VGPU");
	assert.equal(fullness(cloud, 0, "VCPU").used, 1);
});

test("a provider that is over its capacity counts, whatever the others have free", () => {
	const cloud = cloudOf([provider("a", { VCPU: [5, 4] }), provider("b", { VCPU: [0, 100] })]);
	assert.equal(fullness(cloud, 0, "VCPU").isOver, true);
	assert.equal(fullness(cloud, 0, "").isOver, true);
});

test("a tree without the class has no capacity", () => {
	assert.equal(fullness(cloudOf([provider("a", { VCPU: [0, 1] })], [provider("b")]), 1, "VCPU").capacity, 0);
});

test("a filter is words, traits, aggregates and a request", () => {
	const filter = parseFilter(`rack HW_CPU_X86_AVX2 !CUSTOM_OLD ${RACK.toUpperCase()} fits: ?resources=VCPU:4&required=HW_A`);
	assert.deepEqual(filter, {
		words: ["rack"], traits: ["HW_CPU_X86_AVX2"], forbidden: ["CUSTOM_OLD"], aggregates: [RACK], fits: "resources=VCPU:4&required=HW_A",
	});
	assert.deepEqual(parseFilter("fits").words, ["fits"]);
});

test("rows pass if everything matches, in any provider of the tree", () => {
	const cloud = cloudOf(
		[provider("alpha", {}, { aggregates: [RACK.toUpperCase()] }), provider("alpha-numa0", {}, { traits: ["HW_NUMA_ROOT"] })],
		[provider("beta", {}, { traits: ["CUSTOM_OLD"] })],
		[],
	);
	const rows = (text, fitting = null) => select(cloud, parseFilter(text), fitting);
	assert.deepEqual(rows(""), [0, 1]);
	assert.deepEqual(rows("numa0"), [0]);
	assert.deepEqual(rows("HW_NUMA_ROOT"), [0]);
	assert.deepEqual(rows("!CUSTOM_OLD"), [0]);
	assert.deepEqual(rows(RACK), [0]);
	assert.deepEqual(rows(`${RACK} CUSTOM_OLD`), []);
	assert.deepEqual(rows("", new Set(["uuid-of-beta"])), [1]);
});

test("orders", () => {
	const cloud = cloudOf(
		[provider("c", { VCPU: [1, 10] })], [provider("a", { VCPU: [9, 10] })], [provider("b")], [provider("d", { VCPU: [40, 80] })], [provider("e", { VCPU: [3, 2] })],
	);
	const names = (order) => sortRows(cloud, [0, 1, 2, 3, 4], order, "VCPU").map((row) => cloud.names[row]).join("");
	assert.equal(names("fullest"), "eadcb");
	assert.equal(names("emptiest"), "cdaeb");
	assert.equal(names("free"), "dcaeb");
	assert.equal(names("name"), "abcde");
});

test("every row is in one group", () => {
	const cloud = cloudOf(
		[provider("r1-a", {}, { aggregates: [RACK] })], [provider("r1-b", {}, { aggregates: [ZONE, RACK] })],
		[provider("x", {}, { traits: ["HW_A"] })], [provider("r1-c", {}, { aggregates: [RACK] })],
	);
	assert.deepEqual(groupRows(cloud, [0, 1, 2, 3], "").map((group) => group.rows), [[0, 1, 2, 3]]);
	const groups = groupRows(cloud, [0, 1, 2, 3], "aggregate");
	assert.deepEqual(groups.map((group) => [group.label, group.rows]), [
		["r1 · 11111111", [0, 3]], ["r1-b · 11111111 + 22222222", [1]], ["in no aggregate", [2]],
	]);
	assert.deepEqual(groupRows(cloud, [0, 2], "HW_A").map((group) => [group.label, group.rows]), [["HW_A", [2]], ["without HW_A", [0]]]);
	assert.deepEqual(groupRows(cloud, [], "aggregate"), []);
});

test("a label does not end within a number", () => {
	assert.equal(labelOf(["host-10", "host-11"], [RACK]), "host · 11111111");
	assert.equal(labelOf(["a", "b"], [RACK]), "11111111");
});

test("totals are those of the rows that are shown", () => {
	const cloud = cloudOf([provider("a", { VCPU: [1, 10] })], [provider("b", { VCPU: [5, 4], VGPU: [0, 2] })]);
	assert.deepEqual(totals(cloud, [0, 1]), [{ name: "VCPU", used: 6, capacity: 14, over: 1 }, { name: "VGPU", used: 0, capacity: 2, over: 0 }]);
	assert.deepEqual(totals(cloud, [0]), [{ name: "VCPU", used: 1, capacity: 10, over: 0 }]);
});
