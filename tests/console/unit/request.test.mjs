// Requests as values: nothing is lost between a query, cards and a copy, whatever somebody pastes.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import test from "node:test";

import {
	emptyRequest, freeSuffix, isEmpty, readParameters, renameGroup, withGroup, withoutGroup, writeParameters, writeQuery,
} from "../../../src/roost/console/static/model/request.js";
import {
	quotePython, quoteShell, readBody, readText, writeBody, writeCommand, writeCurl, writePython,
} from "../../../src/roost/console/static/model/request_text.js";

const RACK = "6b3a4e0e-52a4-4f4e-9e27-5c4e1d0e7f11";
const OTHER = "0f1d2c3b-4a59-4877-9685-a4b3c2d1e0f1";
const parse = (query) => readParameters(new URLSearchParams(query));
const pairs = (query) => [...new URLSearchParams(query)].map(([name, value]) => `${name}=${value}`).sort();

const EVERYTHING = [
	"resources=VCPU:2,MEMORY_MB:4096", "required=HW_CPU_X86_AVX2,!COMPUTE_STATUS_DISABLED", "required=in:CUSTOM_A,CUSTOM_B",
	`member_of=in:${RACK},${OTHER}`, `member_of=!${OTHER}`, `in_tree=${RACK}`, `in_subtree=${OTHER}`,
	"resources_NET=SRIOV_NET_VF:1", "required_NET=CUSTOM_PHYSNET1", "can_split_NET=SRIOV_NET_VF", `member_of_NET=${RACK}`, "resources1=VGPU:1",
	"can_split=VCPU,MEMORY_MB", "root_required=in:A,B", "root_required=!C", `root_member_of=!in:${RACK},${OTHER}`,
	"same_subtree=_NET,!1", "isolate=_NET,1", "group_policy=none", "order=random:5", "limit=10",
].join("&");

test("a query that has everything keeps everything", () => {
	assert.deepEqual(pairs(writeQuery(parse(EVERYTHING))), pairs(EVERYTHING));
	assert.equal(writeQuery(parse(writeQuery(parse(EVERYTHING)))), writeQuery(parse(EVERYTHING)));
});

test("a query becomes groups and rules", () => {
	const request = parse(EVERYTHING);
	assert.deepEqual(request.groups.map((group) => group.suffix), ["", "_NET", "1"]);
	assert.deepEqual(request.groups[0].resources, [{ name: "VCPU", amount: "2" }, { name: "MEMORY_MB", amount: "4096" }]);
	assert.deepEqual(request.groups[0].required, ["HW_CPU_X86_AVX2", "!COMPUTE_STATUS_DISABLED", "in:CUSTOM_A,CUSTOM_B"]);
	assert.deepEqual(request.groups[1].canSplit, ["SRIOV_NET_VF"]);
	assert.deepEqual(request.canSplit, ["VCPU", "MEMORY_MB"]);
	assert.deepEqual(request.others, []);
	assert.equal(request.limit, "10");
});

test("traits of one parameter, or of several, are written as one", () => {
	assert.equal(writeQuery(parse("resources=VCPU:1&required=A&required=!B")), "resources=VCPU:1&required=A,!B");
});

for (const query of [
	"resources=VCPU:2&resources=VCPU:3", // given twice
	"resources=VCPU", "resources=VCPU:1:2", "resources=", "resources=,", "required=A,,B", "required=", "required=!!A",
	"limit=5&limit=6", "in_tree=", "can_split=A&can_split=B",
	"resource=VCPU:1", "after=abc", "unknown=%22%3Cscript%3E&__proto__=1&constructor=2",
	"resources_%C3%A9=VCPU:1", `resources_${"x".repeat(65)}=VCPU:1`, "required_A%20B=X",
]) {
	test(`what has no card is kept as it is: ${query.slice(0, 50)}`, () => {
		assert.deepEqual(pairs(writeQuery(parse(query))), pairs(query));
		assert.ok(parse(query).others.length > 0);
	});
}

test("a wrong amount stays, so that the service can refuse it", () => {
	assert.equal(writeQuery(parse("resources=VCPU:many")), "resources=VCPU:many");
	assert.equal(writeBody(parse("resources=VCPU:many")).groups[""].resources.VCPU, "many");
});

// ---------------------------------------------------------------------------------------------
// Pasting

const NOVA_LINE = '2026-01-02 03:04:05.678 7 DEBUG nova.scheduler.client.report [None req-1] 10.0.0.1 "GET /placement/allocation_candidates?limit=1000&resources=DISK_GB%3A1%2CMEMORY_MB%3A512%2CVCPU%3A1&root_required=COMPUTE_IMAGE_TYPE_QCOW2%2C%21COMPUTE_STATUS_DISABLED HTTP/1.1" status: 200 len: 53 microversion: 1.36';
const NOVA_QUERY = "limit=1000&resources=DISK_GB:1,MEMORY_MB:512,VCPU:1&root_required=COMPUTE_IMAGE_TYPE_QCOW2,!COMPUTE_STATUS_DISABLED";

for (const [what, text, query] of [
	["a line of nova's log", NOVA_LINE, NOVA_QUERY],
	["a URL", `http://controller:8778/allocation_candidates?${NOVA_QUERY}`, NOVA_QUERY],
	["a URL in quotes", `'http://[::1]/placement/allocation_candidates/explain?${NOVA_QUERY}'`, NOVA_QUERY],
	["a link to this page", `http://controller/console/ask?${NOVA_QUERY}#main`, NOVA_QUERY],
	["a query", NOVA_QUERY, NOVA_QUERY],
	["a query with its mark", `  ?${NOVA_QUERY}\n`, NOVA_QUERY],
	["a query that is folded", NOVA_QUERY.replaceAll("&", "\n    &"), NOVA_QUERY],
	["a query of a web page", NOVA_QUERY.replaceAll("&", "&amp;"), NOVA_QUERY],
	["a command", "$ roost candidates resources=VCPU:4 required=HW_CPU_X86_AVX2 --limit 5", "resources=VCPU:4&required=HW_CPU_X86_AVX2"],
	["a command with quotes", "roost explain 'resources=VCPU:4&required=A' --json", "resources=VCPU:4&required=A"],
	["curl", `curl -H 'x-auth-token: secret=1' 'http://a/allocation_candidates?resources=VCPU:1'`, "resources=VCPU:1"],
	["a placement", '{"query": "resources=VCPU:2", "consumers": {}}', "resources=VCPU:2"],
	["JSON in a log", 'POST body: {"groups": {"_A": {"resources": {"VCPU": 2}}}, "limit": 3} took 3 ms', "resources_A=VCPU:2&limit=3"],
]) {
	test(`pasted: ${what}`, () => assert.deepEqual(pairs(writeQuery(readText(text))), pairs(query)));
}

for (const text of ["", "   ", "hello", "{}", "[]", "null", '{"groups": 3}', '{"groups": {}}', "a=b", "http://example.org/?q=1", "{{{", "0", "resources"]) {
	test(`nothing to ask in ${JSON.stringify(text)}`, () => assert.equal(readText(text), null));
}

test("a body is read as what it asks, and written again", () => {
	const body = {
		groups: {
			"": { resources: { VCPU: 2, MEMORY_MB: 512 }, required: ["!COMPUTE_NODE", "in:A,B"] },
			_NET: { resources: { SRIOV_NET_VF: 1 }, in_subtree: RACK, can_split: "SRIOV_NET_VF", member_of: [`!${OTHER}`] },
		},
		same_subtree: ["_NET"], root_member_of: [RACK], order: "random:5", limit: 1, can_split: "VCPU",
	};
	assert.deepEqual(writeBody(readBody(body)), body);
});

test("fields that nobody knows are kept", () => {
	const request = readBody({ groups: { _A: { resources: { VCPU: 1 }, speed: 3 } }, colour: ["red", null] });
	assert.deepEqual(request.others, [["speed_A", "3"], ["colour", "red"], ["colour", "null"]]);
});

// ---------------------------------------------------------------------------------------------
// Copying

const HOSTILE = ["'; rm -rf / #", "$(touch /tmp/x)", "`id`", "a\nb", "\\", "\"", "!!", "‮RTL", "😀", "</script>", "\u0000x", "%27", "&b=c"];

for (const text of HOSTILE) {
	test(`a shell takes ${JSON.stringify(text)} as one word`, () => {
		if (!text.includes("\0")) {
			const said = execFileSync("sh", ["-c", `printf %s ${quoteShell(text)}`], { encoding: "utf8" });
			assert.equal(said, text);
		}
		const request = withGroup(emptyRequest(), "", { required: [text], resources: [{ name: "VCPU", amount: "1" }] });
		for (const command of [writeCommand(request, "explain"), writeCurl(request, { url: `http://h/${text}`, token: text })]) {
			if (command.includes("\0")) continue;
			// `set --` makes the words of the command the shell's own.
			const words = execFileSync("sh", ["-c", `set -- ${command}\nprintf '%s\\0' "$@"`], { encoding: "utf8" }).split("\0").slice(0, -1);
			const query = words.at(-1).replace(/^.*allocation_candidates\?/s, "");
			assert.equal(new URLSearchParams(query).get("required"), text);
			assert.equal(words.length, command.startsWith("curl") ? 7 : 3);
		}
	});
}

test("Python takes every hostile text as one literal", () => {
	const literals = HOSTILE.map(quotePython);
	for (const literal of literals) assert.match(literal, /^"[\x20-\x7e]*"$/);
	const said = execFileSync("python3", ["-c", `import json; print(json.dumps([${literals.join(", ")}]))`], { encoding: "utf8" });
	assert.deepEqual(JSON.parse(said), HOSTILE);
});

test("a token of a user is not copied", () => {
	assert.match(writeCurl(parse("resources=VCPU:1"), { url: "http://h", token: null }), /-H "x-auth-token: \$OS_TOKEN" /);
});

test("Python builds the request", () => {
	const code = writePython(parse("resources=VCPU:2&required=A,!B&resources_NET=SRIOV_NET_VF:1&required_NET=in:C,D&isolate=_NET,_X&limit=5"), { url: "http://h" });
	assert.match(code, /^ {4}\.resources\(VCPU=2\)$/m);
	assert.match(code, /^ {4}\.required\("A", "!B"\)$/m);
	assert.match(code, /^ {4}\.group\("_NET", SRIOV_NET_VF=1, required=\["in:C,D"\]\)$/m);
	assert.match(code, /^ {4}\.isolate\("_NET", "_X"\)$/m);
	assert.match(code, /^ {4}\.limit\(5\)$/m);
});

test("Python parses what has no method", () => {
	assert.match(writePython(parse("resources=VCPU:x"), { url: "http://h" }), /Request\.parse\("resources=VCPU:x"\)/);
	assert.match(writePython(parse("resources=VCPU:1&foo=1"), { url: "http://h" }), /Request\.parse\("resources=VCPU:1&foo=1"\)/);
});

// ---------------------------------------------------------------------------------------------
// Changes

test("a group is renamed and removed in the rules, too", () => {
	const request = parse("resources_A=VCPU:1&resources_B=VCPU:1&resources_C=VCPU:1&same_subtree=_A,!_B&isolate=_A,_B,_C&isolate=_A,_B");
	assert.equal(
		writeQuery(renameGroup(request, "_A", "_X")),
		"resources_X=VCPU:1&resources_B=VCPU:1&resources_C=VCPU:1&same_subtree=_X,!_B&isolate=_X,_B,_C&isolate=_X,_B",
	);
	assert.equal(writeQuery(withoutGroup(request, "_A")), "resources_B=VCPU:1&resources_C=VCPU:1&isolate=_B,_C");
	assert.equal(freeSuffix(parse("resources_1=A:1"), ["_2"]), "_3");
});

test("changes leave the request as it was", () => {
	const request = Object.freeze(parse("resources=VCPU:1"));
	assert.equal(writeQuery(withGroup(request, "", { required: ["A"] })), "resources=VCPU:1&required=A");
	assert.equal(writeQuery(request), "resources=VCPU:1");
	assert.ok(isEmpty(emptyRequest()) && !isEmpty(request) && writeParameters(emptyRequest()).size === 0);
});
