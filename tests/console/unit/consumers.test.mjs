// Consumers: sums, groups, filters, and the report of an audit.

import assert from "node:assert/strict";
import test from "node:test";
import {
	addUp, changedAt, groupConsumers, holds, largest, marksOf, matches, parseReport, toQuery,
} from "../../../src/roost/console/static/model/consumers.js";

const NOW = Date.parse("2026-01-10T00:00:00Z");
const consumer = (uuid, allocations, more = {}) => ({
	uuid, project_id: "shop", user_id: "ada", consumer_type: "INSTANCE", consumer_generation: 1, created_at: "2026-01-01T00:00:00Z", updated_at: null,
	allocations: Object.fromEntries(Object.entries(allocations).map(([provider, resources]) => [provider, { resources }])), ...more,
});
const ONE = consumer("one", { host: { DISK_GB: 10, VCPU: 2 }, numa: { VCPU: 3 } });
const TWO = consumer("two", { host: { VCPU: 8 } }, { project_id: "research", consumer_type: undefined, updated_at: "2026-01-09T23:30:00Z" });

test("what a consumer holds is added up, well-known classes first", () => {
	assert.deepEqual(Object.entries(holds(ONE)), [["VCPU", 5], ["DISK_GB", 10]]);
	assert.deepEqual(addUp([]), {});
	assert.deepEqual(largest([ONE, TWO]), { VCPU: 8, DISK_GB: 10 });
	assert.deepEqual(marksOf(ONE), { host: { DISK_GB: 10, VCPU: 2 }, numa: { VCPU: 3 } });
	assert.deepEqual(marksOf(null), {});
});

test("groups have sums, the largest first; who has no type is of an unknown one", () => {
	const three = { ...ONE, uuid: "three" };
	const groups = groupConsumers([TWO, ONE, three], "project");
	assert.deepEqual(groups.map((group) => [group.key, group.consumers.length, group.sums.VCPU]), [["shop", 2, 10], ["research", 1, 8]]);
	assert.deepEqual(groupConsumers([ONE, TWO], "type").map((group) => group.key), ["INSTANCE", "unknown"]);
	assert.deepEqual(groupConsumers([ONE, TWO], "").map((group) => group.consumers.length), [2]);
});

test("choices become a query", () => {
	assert.deepEqual(toQuery({ project: "shop", type: "INSTANCE", age: "1d", provider: "host", class: "VCPU", user: "" }, NOW), {
		project_id: "shop", user_id: "", consumer_type: "INSTANCE", resource_class: "VCPU", resource_provider: "host", changed_before: "2026-01-09T00:00:00Z",
	});
	assert.equal(toQuery({ age: "whenever" }, NOW).changed_before, undefined);
});

test("consumers of a report are filtered as the service would", () => {
	assert.ok(matches(ONE, {}, NOW));
	assert.ok(matches(ONE, { project: "shop", user: "ada", type: "INSTANCE", age: "7d", class: "DISK_GB" }, NOW));
	assert.ok(matches(TWO, { type: "unknown" }, NOW));
	assert.ok(!matches(TWO, { age: "1h" }, NOW));
	assert.ok(!matches(ONE, { provider: "numa", class: "DISK_GB" }, NOW));
	assert.ok(!matches(ONE, { provider: "nobody" }, NOW));
	assert.equal(changedAt(consumer("old", {}, { created_at: null })), null);
});

test("orphans are read from a report", () => {
	const text = JSON.stringify({
		totals: { consumers: 9, orphans: 1 },
		names: { host: "host1" },
		orphans: [{ uuid: "lost", consumer_type: null, project_id: "shop", user_id: "ada", consumer_generation: 2, changed_at: "2026-01-02T00:00:00Z", allocations: { host: { VCPU: 2 } } }],
	});
	const report = parseReport(text, "audit.json");
	assert.equal(report.total, 9);
	assert.deepEqual(report.names, { host: "host1" });
	assert.deepEqual(report.orphans.map((each) => [each.uuid, each.consumer_type, holds(each), changedAt(each)]), [
		["lost", "unknown", { VCPU: 2 }, Date.parse("2026-01-02T00:00:00Z")],
	]);
});

test("another file is refused in a sentence", () => {
	assert.throws(() => parseReport("uuid,name\n", "servers.csv"), /servers\.csv is no JSON/);
	assert.throws(() => parseReport("[]", "list.json"), /no report of `roost audit --json`/);
	assert.throws(() => parseReport("null", "null.json"), /no list of orphans/);
});
