// The text format of Prometheus, and what two readings say.

import assert from "node:assert/strict";
import test from "node:test";
import {
	bucketGrowth, byLabel, growth, hasRestarted, parseMetrics, quantile, total,
} from "../../../src/roost/console/static/model/metrics.js";

const BEFORE = parseMetrics(`
# HELP roost_http_requests_total Requests that were answered.
# TYPE roost_http_requests_total counter
roost_http_requests_total{method="GET",route="/traits",status="200"} 10.0
roost_http_requests_total{method="GET",route="/readyz",status="200"} 3
roost_http_request_seconds_bucket{le="0.01",route="/traits"} 8.0
roost_http_request_seconds_bucket{le="0.1",route="/traits"} 10.0
roost_http_request_seconds_bucket{le="+Inf",route="/traits"} 10.0
roost_index_providers{process="12"} 4.0
`);
const AFTER = parseMetrics(`
roost_http_requests_total{method="GET",route="/traits",status="200"} 30.0
roost_http_requests_total{method="GET",route="/readyz",status="200"} 4
roost_http_requests_total{method="PUT",route="/allocations/{consumer_uuid}",status="204"} 5
roost_http_request_seconds_bucket{le="+Inf",route="/traits"} 30.0
roost_http_request_seconds_bucket{le="0.01",route="/traits"} 18.0
roost_http_request_seconds_bucket{le="0.1",route="/traits"} 30.0
roost_index_providers{process="12"} 4.0
roost_index_providers{process="13"} 5.0
`);

test("samples have labels and values", () => {
	assert.equal(total(BEFORE, "roost_http_requests_total"), 13);
	assert.equal(total(BEFORE, "roost_http_requests_total", (labels) => labels.route === "/traits"), 10);
	assert.equal(total(BEFORE, "roost_missing"), null);
	assert.deepEqual([...byLabel(AFTER, "roost_index_providers", "process")], [["12", 4], ["13", 5]]);
});

test("values are numbers of every form", () => {
	const metrics = parseMetrics("a 1.794945721966696e+09\na -3\na +Inf\na -Inf\na NaN\na 7 1700000000000\na\t2\na{} 5");
	const values = metrics.get("a")?.map((sample) => sample.value);
	assert.deepEqual(values, [1794945721.966696, -3, Infinity, -Infinity, NaN, 7, 2, 5]);
	// What is no number is in no sum.
	assert.equal(total(metrics, "a"), 1794945721.966696 - 3 + 7 + 2 + 5);
});

test("values of labels are unescaped", () => {
	const metrics = parseMetrics(String.raw`a{text="a \"b\" \\ c\nd, }",other = "<script>" , } 1`);
	assert.deepEqual({ ...metrics.get("a")?.[0].labels }, { text: 'a "b" \\ c\nd, }', other: "<script>" });
});

test("hostile text is skipped and changes nothing else", () => {
	const lines = [
		"", "   ", "\0", "{} 1", "1a 1", "a", "a{ 1", 'a{x="y} 1', 'a{x="y"z="w"} 1', "a{x=y} 1", 'a{x="y"} one', "a 1 2 3", "a <b>",
		'a{x="\\', "<html><body>403 Forbidden</body></html>", `b{x="${"\\".repeat(99_999)}`, `c${"{".repeat(99_999)}`, `d ${"1".repeat(99_999)}x`,
	];
	const metrics = parseMetrics([...lines, 'a{__proto__="polluted",constructor="x"} 2', "__proto__ 3", "toString 4"].join("\r\n"));
	assert.deepEqual([...metrics.keys()], ["a", "__proto__", "toString"]);
	assert.equal(metrics.get("a")?.length, 1);
	assert.equal(metrics.get("a")?.[0].labels["__proto__"], "polluted");
	assert.equal(/** @type {any} */ ({}).polluted, undefined);
});

test("there is a bound on what is read", () => {
	const metrics = parseMetrics("a 1\n".repeat(200_000));
	assert.equal(metrics.get("a")?.length, 50_000);
});

test("counters grow from 0 when their series is new", () => {
	assert.equal(growth(BEFORE, AFTER, "roost_http_requests_total"), 26);
	assert.equal(growth(BEFORE, AFTER, "roost_http_requests_total", (labels) => labels.method === "PUT"), 5);
	assert.equal(growth(BEFORE, AFTER, "roost_missing"), 0);
});

test("counters that became smaller, or are gone, are those of another service", () => {
	assert.equal(hasRestarted(BEFORE, AFTER), false);
	assert.equal(hasRestarted(AFTER, BEFORE), true);
	assert.equal(hasRestarted(BEFORE, parseMetrics("")), true);
	// Gauges come and go with processes.
	assert.equal(hasRestarted(parseMetrics('roost_index_providers{process="12"} 4'), parseMetrics("")), false);
	// The order of labels does not matter.
	assert.equal(hasRestarted(parseMetrics('roost_x_total{a="1",b="2"} 4'), parseMetrics('roost_x_total{b="2",a="1"} 4')), false);
});

test("quantiles lie within their bucket", () => {
	const buckets = bucketGrowth(BEFORE, AFTER, "roost_http_request_seconds");
	assert.deepEqual(buckets, [[0.01, 10], [0.1, 20], [Infinity, 20]]);
	assert.equal(quantile(0.5, buckets), 0.01);
	assert.ok(Math.abs((quantile(0.75, buckets) ?? 0) - 0.055) < 1e-9);
	assert.deepEqual(bucketGrowth(null, BEFORE, "roost_http_request_seconds"), [[0.01, 8], [0.1, 10], [Infinity, 10]]);
});

test("quantiles of nothing, and of what is slower than every bound", () => {
	assert.equal(quantile(0.5, []), null);
	assert.equal(quantile(0.5, [[0.1, 0], [Infinity, 0]]), null);
	assert.equal(quantile(0.5, [[Infinity, 5]]), null);
	assert.equal(quantile(0.5, [[10, 0], [Infinity, 5]]), 10);
	assert.equal(quantile(0.5, [[1, 0], [2, 4], [Infinity, 4]]), 1.5);
	assert.equal(quantile(0, [[1, 0], [2, 4], [Infinity, 4]]), 1);
	assert.equal(quantile(0.5, [[1, NaN]]), null);
});
