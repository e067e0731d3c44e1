// Rules of an explanation, put back into the request; and the cards that refusals are about.

import assert from "node:assert/strict";
import test from "node:test";

import { readParameters, writeQuery } from "../../../src/roost/console/static/model/request.js";
import { placeOfRefusal, relax, without } from "../../../src/roost/console/static/model/request_rules.js";

const RACK = "6b3a4e0e-52a4-4f4e-9e27-5c4e1d0e7f11";
const OTHER = "0f1d2c3b-4a59-4877-9685-a4b3c2d1e0f1";
const parse = (query) => readParameters(new URLSearchParams(query));

for (const [query, rule, left] of [
	["resources=VCPU:2,DISK_GB:1", { kind: "resources", group: "", names: ["DISK_GB"], amount: 1 }, "resources=VCPU:2"],
	["resources=VCPU:2&resources_A=VGPU:1&required_A=X", { kind: "required", group: "_A", names: ["X"] }, "resources=VCPU:2&resources_A=VGPU:1"],
	["resources=VCPU:2&resources_A=VGPU:1", { kind: "resources", group: "_A", names: ["VGPU"], amount: 1 }, "resources=VCPU:2"],
	["resources=A:1,B:1&can_split=A,B", { kind: "resources", group: "", names: ["A"], amount: 1 }, "resources=B:1&can_split=B"],
	["resources=VCPU:2&required=in:B,A&required=A", { kind: "required", group: "", names: ["A", "B"] }, "resources=VCPU:2&required=A"],
	["resources=VCPU:2&required=A,!A2", { kind: "forbidden", group: "", names: ["A2"] }, "resources=VCPU:2&required=A"],
	[`resources=VCPU:2&member_of=${RACK.toUpperCase()}`, { kind: "member_of", group: "", names: [RACK] }, "resources=VCPU:2"],
	[`resources=VCPU:2&member_of=!in:${RACK},${OTHER}`, { kind: "not_member_of", group: "", names: [RACK] }, `resources=VCPU:2&member_of=!${OTHER}`],
	[`resources=VCPU:2&in_tree=${RACK}`, { kind: "in_tree", group: "", names: [RACK] }, "resources=VCPU:2"],
	["resources=VCPU:2&root_required=A,!B", { kind: "root_forbidden", names: ["B"] }, "resources=VCPU:2&root_required=A"],
	["resources=VCPU:2&root_required=A,!B", { kind: "root_required", names: ["A"] }, "resources=VCPU:2&root_required=!B"],
	[`resources=VCPU:2&root_member_of=!${RACK}`, { kind: "root_not_member_of", names: [RACK] }, "resources=VCPU:2"],
	["resources_A=A:1&resources_B=A:1&isolate=_B,_A", { kind: "isolate", names: ["_A", "_B"] }, "resources_A=A:1&resources_B=A:1"],
	["resources_A=A:1&resources_B=A:1&group_policy=isolate", { kind: "group_policy", names: ["_A", "_B"] }, "resources_A=A:1&resources_B=A:1&group_policy=none"],
	["resources_A=A:1&resources_B=A:1&same_subtree=_A,!_B", { kind: "elsewhere", names: ["_A"], outside: ["_B"] }, "resources_A=A:1&resources_B=A:1"],
	["resources_A=A:1&resources_B=A:1&same_subtree=_B,_A", { kind: "same_subtree", names: ["_A", "_B"] }, "resources_A=A:1&resources_B=A:1"],
	["resources_A=A:1&resources_B=A:1", { kind: "capacity", names: ["A"] }, "resources_A=A:1&resources_B=A:1"],
]) {
	test(`${rule.kind} taken out of ${query.slice(0, 60)}`, () => {
		assert.equal(writeQuery(without(parse(query), [rule])), left);
		assert.equal(writeQuery(relax(parse(query), { rule, amount: null, text: "" })), left);
	});
}

test("an amount is lowered in its group alone", () => {
	const rule = { kind: "resources", group: "_A", names: ["VCPU"], amount: 8 };
	assert.equal(writeQuery(relax(parse("resources=VCPU:8&resources_A=VCPU:8"), { rule, amount: 6, text: "" })), "resources=VCPU:8&resources_A=VCPU:6");
});

const REQUEST = parse("resources=VCPU:2&resources_NET=CUSTOM_VF:1&required_NET=CUSTOM_PHYSNET&resources_GPU=VGPU:0&same_subtree=_NET,_GPU&order=pakc");

for (const [detail, place] of [
	["Conflicting required and forbidden traits found in the following traits keys: required_NET: (CUSTOM_PHYSNET)", { suffix: "_NET", parameter: "required_NET" }],
	["No such trait(s): CUSTOM_PHYSNET.", { suffix: "_NET", parameter: "" }],
	["Invalid resource class in resources parameter: No such resource class CUSTOM_VF.", { suffix: "_NET", parameter: "" }],
	["Requested resource VGPU requires amount >= 1. Got: 0.", { suffix: "_GPU", parameter: "" }],
	["groups._NET.resources.CUSTOM_VF: 'x', expected an integer", { suffix: "_NET", parameter: "resources" }],
	["order: 'pakc'; did you mean 'pack'?", { suffix: null, parameter: "order" }],
	["Real suffixes should be specified in `same_subtree`: ['_X'] not found in ['', '_NET'].", { suffix: null, parameter: "same_subtree" }],
	["Expected 'required' parameter value of the form: HW_CPU_X86_VMX. Got an empty trait", { suffix: "_NET", parameter: "required" }],
	["The search took too long and gave up.", null],
	["Badly formed resources parameter.", null],
]) {
	test(`the card of: ${detail.slice(0, 60)}`, () => assert.deepEqual(placeOfRefusal(REQUEST, detail), place));
}

test("values with signs of patterns are only texts", () => {
	const hostile = parse("resources=VCPU:1");
	hostile.groups[0].required = ["(a+)+$", "[", "\\"];
	assert.equal(placeOfRefusal(hostile, "nothing of it"), null);
});
