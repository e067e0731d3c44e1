// Providers in the order of their tree, folds, bars, and lines to the side.

import assert from "node:assert/strict";
import test from "node:test";
import {
	ancestorsOf, barParts, capacityOf, changedProviders, classesOf, foldedAtFirst, levelOf, railsOf, sortClasses, treeLines, visibleLines, withAncestors,
} from "../../../src/roost/console/static/model/tree.js";

const inventory = (total, more = {}) => ({ total, reserved: 0, min_unit: 1, max_unit: total, step_size: 1, allocation_ratio: 1, ...more });
const provider = (name, parent = null, more = {}) => ({
	uuid: name, name, generation: 1, parent_provider_uuid: parent, root_provider_uuid: "host", inventories: {}, usages: {}, traits: [], aggregates: [], ...more,
});

const HOST = [
	provider("numa10", "host"),
	provider("pf0", "numa2"),
	provider("host"),
	provider("numa2", "host"),
	provider("pf1", "numa2"),
	provider("port", "pf0"),
];
const namesOf = (lines) => lines.map((line) => line.provider.name);

test("children come after their parent, siblings in the order that people expect", () => {
	const lines = treeLines(HOST);
	assert.deepEqual(namesOf(lines), ["host", "numa2", "pf0", "port", "pf1", "numa10"]);
	assert.deepEqual(lines.map((line) => line.depth), [0, 1, 2, 3, 2, 1]);
	assert.deepEqual(lines.map((line) => line.below), [5, 3, 1, 0, 0, 0]);
	assert.deepEqual(lines.map((line) => line.isLast), [true, false, false, true, true, true]);
	assert.deepEqual(lines.map((line) => line.parentName), ["", "host", "numa2", "pf0", "numa2", "host"]);
});

test("a line is drawn past a provider only if siblings of its ancestor follow", () => {
	const guides = Object.fromEntries(treeLines(HOST).map((line) => [line.provider.name, line.guides]));
	assert.deepEqual(guides, { host: [], numa2: [], numa10: [], pf0: [true], pf1: [true], port: [true, true] });
});

test("a provider whose parent is not in the list is shown as a root", () => {
	assert.deepEqual(namesOf(treeLines([provider("child", "elsewhere"), provider("alone")])), ["alone", "child"]);
});

test("what is below a folded provider is not shown", () => {
	const lines = treeLines(HOST);
	assert.deepEqual(namesOf(visibleLines(lines, new Set(["numa2"]))), ["host", "numa2", "numa10"]);
	assert.deepEqual(namesOf(visibleLines(lines, new Set(["host", "pf0"]))), ["host"]);
	assert.equal(visibleLines(lines, new Set()).length, 6);
});

test("a small tree is open, a large one shows as many levels as are readable", () => {
	const large = [provider("host")];
	for (let node = 0; node < 8; node += 1) {
		large.push(provider(`numa${node}`, "host"));
		for (let port = 0; port < 36; port += 1) large.push(provider(`numa${node}-pf${port}`, `numa${node}`));
	}
	const lines = treeLines(large);
	assert.equal(foldedAtFirst(treeLines(HOST)).size, 0);
	assert.equal(visibleLines(lines, foldedAtFirst(lines)).length, 9);
});

test("the children of a root are shown, however many they are", () => {
	const flat = treeLines([provider("host"), ...Array.from({ length: 300 }, (_, number) => provider(`pf${number}`, "host"))]);
	assert.equal(visibleLines(flat, foldedAtFirst(flat)).length, 301);
});

test("some providers with those above them", () => {
	assert.deepEqual(withAncestors(HOST, ["port"]).map((each) => each.name).sort(), ["host", "numa2", "pf0", "port"]);
	assert.deepEqual(withAncestors(HOST, ["nobody"]), []);
	assert.deepEqual(ancestorsOf(HOST, "pf1").map((each) => each.name).sort(), ["host", "numa2"]);
});

test("capacity is a whole number, as the service has it", () => {
	assert.equal(capacityOf(inventory(10, { reserved: 3, allocation_ratio: 1.5 })), 10);
	const full = provider("x", null, { inventories: { VCPU: inventory(8, { allocation_ratio: 4 }) }, usages: { VCPU: 3, VGPU: 1 } });
	assert.deepEqual(levelOf(full, "VCPU"), { used: 3, reserved: 0, capacity: 32, total: 8, ratio: 4 });
	assert.equal(levelOf(full, "DISK_GB"), null);
	assert.equal(levelOf(full, "VGPU").capacity, 0);
	assert.deepEqual(classesOf([full]), ["VCPU", "VGPU"]);
});

test("well-known classes come first", () => {
	assert.deepEqual(sortClasses(["CUSTOM_B", "DISK_GB", "CUSTOM_A", "VCPU", "VCPU"]), ["VCPU", "DISK_GB", "CUSTOM_A", "CUSTOM_B"]);
});

const shares = (level) => Object.fromEntries(barParts(level).map(({ kind, share }) => [kind, Math.round(share * 1000) / 1000]));

test("a bar is used, reserved and free, to scale", () => {
	assert.deepEqual(shares({ used: 4, reserved: 1, capacity: 12, ratio: 4 }), { used: 0.25, reserved: 0.25, free: 0.5 });
	assert.deepEqual(barParts({ used: 0, reserved: 0, capacity: 0, ratio: 1 }), []);
	assert.deepEqual(shares({ used: 0, reserved: 5, capacity: 0, ratio: 1 }), { reserved: 1 });
});

test("what is over the capacity is a part of its own", () => {
	assert.deepEqual(shares({ used: 20, reserved: 0, capacity: 10, ratio: 1 }), { used: 0.5, over: 0.5 });
	assert.deepEqual(shares({ used: 20, reserved: 0, capacity: 10, ratio: 1, mark: 15 }), { mark: 0.75, over: 0.25 });
});

test("a mark is a part of what is used, a take of what is free", () => {
	assert.deepEqual(shares({ used: 4, reserved: 0, capacity: 8, ratio: 1, mark: 2 }), { mark: 0.25, used: 0.25, free: 0.5 });
	assert.deepEqual(shares({ used: 4, reserved: 0, capacity: 8, ratio: 1, take: 2 }), { used: 0.5, take: 0.25, free: 0.25 });
	assert.deepEqual(shares({ used: 8, reserved: 0, capacity: 8, ratio: 1, take: 8 }), { used: 0.5, take: 0.5 });
});

test("the providers that changed are found", () => {
	const after = HOST.map((each) => (each.name === "pf0" ? { ...each, usages: { VCPU: 1 } } : { ...each }));
	assert.deepEqual([...changedProviders(HOST, [...after, provider("new", "host")])], ["pf0", "new"]);
});

test("a line to the side ends at the last member, and a folded member is shown at the one above it", () => {
	const tree = HOST.map((each) => (["numa2", "port"].includes(each.name) ? { ...each, aggregates: ["rack"] } : each));
	const lines = treeLines(tree);
	const visible = visibleLines(lines, new Set(["pf0"]));
	assert.deepEqual(railsOf(lines, visible, ["rack", "other"]), [{ members: new Set([1, 2]), last: 2 }, { members: new Set(), last: -1 }]);
});
