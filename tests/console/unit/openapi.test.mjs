// The OpenAPI document as the pages show it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { listGroups, listOperations } from "../../../src/roost/console/static/api_docs/openapi.js";
import { describe, describeFields } from "../../../src/roost/console/static/api_docs/schemas.js";

const example = (value) => ({ examples: { one: { summary: "One.", value } } });
const DOCUMENT = {
	info: { version: "1.39" },
	tags: [{ name: "resource_classes", description: "Kinds." }],
	paths: {
		"/things/{name}": {
			get: {
				tags: ["resource_classes"],
				summary: "Show.",
				"x-openstack": { "min-ver": "1.2", "max-ver": "1.39", policy: "rule" },
				parameters: [
					{ $ref: "#/components/parameters/version" },
					{ in: "path", name: "name", required: true, schema: { type: "string" }, ...example("A") },
					{ in: "query", name: "required", schema: { type: "array", items: { type: "string" } }, "x-openstack": { "min-ver": "1.17", "max-ver": "1.39" }, ...example(["T", "!U"]) },
					{ in: "query", name: "groups", explode: true, schema: { type: "object", additionalProperties: { type: "string" } }, ...example({ resources_A: "VCPU:1" }) },
				],
				responses: {
					503: { description: "Busy." },
					200: { description: "Done.", content: { "application/json": { schema: { $ref: "#/components/schemas/Thing" }, ...example({ name: "A" }) } } },
					"4XX": { description: "Refused." },
					401: { description: "No token." },
				},
			},
		},
	},
	components: {
		parameters: { version: { in: "header", name: "version" } },
		schemas: {
			Thing: { type: "object", required: ["name"], properties: { name: { type: "string", description: "Its name." }, parent: { anyOf: [{ type: "string", format: "uuid" }, { type: "null" }] }, parts: { $ref: "#/components/schemas/Parts" } } },
			Parts: { type: "object", description: "By name.", additionalProperties: { type: "object", properties: { count: { type: "integer" } } } },
		},
	},
};
const [operation] = listOperations(DOCUMENT);

test("an operation has what belongs to it", () => {
	assert.equal(operation.key, "GET /things/{name}");
	assert.equal(operation.group, "resource classes");
	assert.equal(operation.versions, "from 1.2");
	assert.equal(listGroups(DOCUMENT).get("resource classes"), "Kinds.");
	assert.deepEqual(operation.parameters.map((each) => [each.name, each.type, each.versions]), [["name", "string", ""], ["required", "list of string", "from 1.17"], ["groups", "map of string", ""]]);
});

test("a range of statuses comes after what is listed of it", () => {
	assert.deepEqual(operation.answers.map((each) => each.status), ["200", "401", "4XX", "503"]);
});

test("an example is a request", () => {
	const [{ summary, path, query }] = operation.examples;
	assert.deepEqual([summary, path], ["One.", "/things/A"]);
	assert.deepEqual(query, [["required", "T"], ["required", "!U"], ["resources_A", "VCPU:1"]]);
	assert.deepEqual(operation.answers[0].examples, [["One.", { name: "A" }]]);
});

test("fields are listed with those within them", () => {
	const fields = describeFields(DOCUMENT, { $ref: "#/components/schemas/Thing" });
	assert.deepEqual(fields.map((each) => [each.depth, each.name, each.type, each.isRequired]), [
		[0, "name", "string", true],
		[0, "parent", "uuid or null", false],
		[0, "parts", "map of object", false],
		[1, "…", "object", false],
		[2, "count", "integer", false],
	]);
	assert.equal(fields[2].description, "By name.");
});

test("a schema that refers to itself has an end", () => {
	const loop = { components: { schemas: { Loop: { type: "object", properties: { again: { $ref: "#/components/schemas/Loop" } } } } } };
	assert.ok(describeFields(loop, { $ref: "#/components/schemas/Loop" }).length < 20);
	assert.equal(describe({}, { $ref: "#/nowhere" }), "any");
});
