// Rates and latencies from one reading of the metrics after the other.

import assert from "node:assert/strict";
import test from "node:test";
import { parseMetrics } from "../../../src/roost/console/static/model/metrics.js";
import { Rates } from "../../../src/roost/console/static/model/rates.js";

/** @param {number} claims @param {number} [probes] */
const reading = (claims, probes = 0) => parseMetrics(`
roost_http_requests_total{method="PUT",route="/allocations/{consumer_uuid}",status="204"} ${claims}
roost_http_requests_total{method="PUT",route="/allocations/{consumer_uuid}",status="409"} ${claims}
roost_http_requests_total{method="GET",route="/metrics",status="200"} ${probes}
roost_http_request_seconds_bucket{le="1",method="PUT",route="/allocations/{consumer_uuid}"} 0
roost_http_request_seconds_bucket{le="2",method="PUT",route="/allocations/{consumer_uuid}"} ${2 * claims}
roost_http_request_seconds_bucket{le="+Inf",method="PUT",route="/allocations/{consumer_uuid}"} ${2 * claims}
roost_conflicts_total{reason="CapacityExceeded"} ${claims}
`);

test("the first reading says nothing about rates", () => {
	const rates = new Rates();
	rates.add(100, reading(50), 7);
	assert.deepEqual(rates.times, []);
	assert.equal(rates.routes().find((each) => each.method === "PUT")?.rate, null);
	assert.equal(rates.routes().find((each) => each.method === "PUT")?.count, 100);
});

test("rates are those between two readings, without probes", () => {
	const rates = new Rates();
	rates.add(100, reading(50, 5), 7);
	rates.add(102, reading(60, 99), 11);
	assert.deepEqual(rates.times, [102]);
	assert.deepEqual([rates.lines.requests, rates.lines.claims, rates.lines.conflicts, rates.lines.events], [[10], [5], [5], [2]]);
	assert.deepEqual([rates.lines.p50, rates.lines.searchP50, rates.lines.searches], [[1.5], [null], [0]]);
	const [put] = rates.routes().filter((each) => each.method === "PUT");
	assert.deepEqual([put.count, put.rate, put.p50, put.isRecent, put.refused, put.failed], [120, 10, 1.5, true, 60, 0]);
	assert.equal(rates.rateOf("roost_conflicts_total"), 5);
});

test("counters that go backwards are those of a service that started again", () => {
	const rates = new Rates();
	rates.add(100, reading(50), 0);
	rates.add(102, reading(60), 0);
	rates.add(104, reading(1), 0);
	rates.add(106, reading(3), 0);
	assert.deepEqual(rates.lines.claims, [5, null, 1]);
});

test("while nobody looked, no rate is known", () => {
	const rates = new Rates();
	rates.add(100, reading(50), 0);
	rates.add(102, reading(60), 0);
	rates.add(500, reading(9060), 0);
	rates.add(502, reading(9062), 0);
	assert.deepEqual(rates.lines.claims, [5, null, 1]);
	assert.deepEqual(rates.times, [102, 103, 502]);
});

test("the same second twice changes nothing", () => {
	const rates = new Rates();
	rates.add(100, reading(50), 0);
	rates.add(100, reading(60), 0);
	rates.add(99, reading(60), 0);
	assert.deepEqual(rates.times, []);
});

test("memory is bounded, and metrics may be absent", () => {
	const rates = new Rates();
	for (let time = 0; time < 1000; time++) rates.add(time, time % 2 ? parseMetrics("") : reading(0), 0);
	assert.ok(rates.times.length <= 150);
	for (const points of Object.values(rates.lines)) assert.equal(points.length, rates.times.length);
	const empty = new Rates();
	empty.add(1, parseMetrics(""), 0);
	empty.add(2, parseMetrics(""), 0);
	assert.deepEqual(empty.routes(), []);
	assert.deepEqual(empty.lines.p95, [null]);
});
