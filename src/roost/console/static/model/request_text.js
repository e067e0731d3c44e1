// Requests as texts: what is pasted (a query, a URL, a line of a log, JSON), and what is copied (curl, roost, Python).

import { isEmpty, readParameters, writeParameters, writeQuery } from "./request.js";

/** @typedef {import("./request.js").Request} Request */

// Where a query begins in a URL, whether of the API or of this page.
const URL_WITH_QUERY = /(?:allocation_candidates(?:\/explain)?|capacity|\/ask)\?([^\s"'<>`\\]+)/;
const KNOWN = /(^|[?&\s])(resources|required|member_of|in_tree|in_subtree|can_split|root_required|root_member_of|same_subtree|isolate|group_policy|order|limit)[\w-]*=/;
const TEXT_MAX = 1_000_000;

// ---------------------------------------------------------------------------------------------
// Reading

/**
 * The request in a text that somebody copied from somewhere.
 * @param {string} text
 * @returns {Request | null} null: there is none in it
 */
export function readText(text) {
	const given = text.slice(0, TEXT_MAX).trim();
	const request = readJson(given) ?? readQuery(given);
	return request && !isEmpty(request) ? request : null;
}

/** @param {string} given */
function readQuery(given) {
	// Long queries are folded into lines, and pages escape what is between parameters.
	const text = given.replaceAll("&amp;", "&").replace(/\s*&\s*/g, "&");
	const inUrl = text.match(URL_WITH_QUERY)?.[1];
	if (inUrl) return parse(inUrl);
	if (!KNOWN.test(text)) return null;
	// The words of a command line, of which only those with parameters count.
	const words = text.replace(/^[^\s=]*\?/, "").split(/\s+/).map((word) => word.replace(/^["']+|["',;]+$/g, ""));
	return parse(words.filter((word) => KNOWN.test(word) || /^[\w-]+=/.test(word)).join("&"));
}

/** @param {string} query */
function parse(query) {
	// A fragment is no part of a query.
	return readParameters(new URLSearchParams(query.split("#")[0]));
}

/** @param {string} text */
function readJson(text) {
	const begin = text.indexOf("{");
	const end = text.lastIndexOf("}");
	if (begin < 0 || end < begin) return null;
	let body;
	try {
		body = JSON.parse(text.slice(begin, end + 1));
	} catch {
		return null;
	}
	// The body of a placement has the query in a field.
	if (typeof body?.query === "string") return readQuery(body.query);
	const query = body?.query ?? body;
	return isObject(query) && isObject(query.groups) ? readBody(query) : null;
}

/** @param {unknown} value @returns {value is Record<string, any>} */
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** The body of POST /allocation_candidates. @param {Record<string, any>} body @returns {Request} */
export function readBody(body) {
	/** @type {[string, string][]} */
	const parameters = [];
	const add = (/** @type {string} */ name, /** @type {unknown} */ value) => {
		for (const each of Array.isArray(value) ? value : [value]) {
			parameters.push([name, typeof each === "string" ? each : JSON.stringify(each) ?? ""]);
		}
	};
	for (const [suffix, group] of Object.entries(body.groups)) {
		for (const [name, value] of Object.entries(isObject(group) ? group : {})) {
			if (name === "resources" && isObject(value)) {
				add(`resources${suffix}`, Object.entries(value).map(([each, amount]) => `${each}:${amount}`).join(","));
			} else add(`${name}${suffix}`, value);
		}
	}
	for (const [name, value] of Object.entries(body)) if (name !== "groups") add(name, value);
	return readParameters(parameters);
}

// ---------------------------------------------------------------------------------------------
// Writing

/** The body of POST /allocation_candidates. @param {Request} request @returns {Record<string, any>} */
export function writeBody(request) {
	/** @type {Record<string, any>} */
	const body = { groups: {} };
	for (const group of request.groups) {
		body.groups[group.suffix] = present({
			resources: group.resources.length ? Object.fromEntries(group.resources.map(({ name, amount }) => [name, toNumber(amount)])) : "",
			required: group.required,
			member_of: group.memberOf,
			in_tree: group.inTree,
			in_subtree: group.inSubtree,
			can_split: group.suffix ? group.canSplit.join(",") : "",
		});
	}
	Object.assign(body, present({
		can_split: request.canSplit.join(","),
		root_required: request.rootRequired,
		root_member_of: request.rootMemberOf,
		same_subtree: request.sameSubtree,
		isolate: request.isolate,
		group_policy: request.groupPolicy,
		order: request.order,
		limit: request.limit && toNumber(request.limit),
	}));
	// The service says what is wrong with these.
	for (const [name, value] of request.others) body[name] ??= value;
	return body;
}

/** @param {Record<string, any>} fields */
function present(fields) {
	return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== "" && value?.length !== 0));
}

/** @param {string} text */
const toNumber = (text) => (/^-?\d{1,15}$/.test(text) ? Number(text) : text);

/** A word of a shell's command line. @param {string} text */
export const quoteShell = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/**
 * @param {Request} request
 * @param {{url: string, token: string | null}} service `token`: null: of the user, from the environment
 */
export function writeCurl(request, { url, token }) {
	// In double quotes the shell puts the value there; nothing else of the command has them.
	const header = token === null ? '"x-auth-token: $OS_TOKEN"' : quoteShell(`x-auth-token: ${token}`);
	const address = `${url}/allocation_candidates?${writeQuery(request)}`;
	return `curl -sS -H ${header} -H 'openstack-api-version: placement 1.39' ${quoteShell(address)}`;
}

/** @param {Request} request @param {string} command explain, candidates or capacity */
export function writeCommand(request, command) {
	return `roost ${command} ${quoteShell(writeQuery(request))}`;
}

/** @param {Request} request @param {{url: string}} service */
export function writePython(request, { url }) {
	return [
		"from roost.client import Client, Request",
		"",
		`client = Client(${quotePython(url)})`,
		...writeBuilder(request),
		"print(client.explain(request).summary)",
		"",
	].join("\n");
}

/** @param {Request} request */
function writeBuilder(request) {
	const isPlain = request.groups.every((group) => group.resources.every(({ amount }) => /^[1-9]\d*$/.test(amount)));
	const isInteger = /^([1-9]\d*)?$/.test(request.limit);
	if (request.others.length || !isPlain || !isInteger) return [`request = Request.parse(${quotePython(writeQuery(request))})`];
	const calls = request.groups.flatMap((group) => (group.suffix ? [groupCall(group)] : unsuffixedCalls(group)));
	const several = (/** @type {string} */ name, /** @type {string[]} */ values) => {
		if (values.length) calls.push(`.${name}(${values.map(quotePython).join(", ")})`);
	};
	several("can_split", request.canSplit);
	several("root_required", request.rootRequired);
	several("root_member_of", request.rootMemberOf);
	for (const value of request.sameSubtree) several("same_subtree", value.split(","));
	for (const value of request.isolate) several("isolate", value.split(","));
	several("group_policy", request.groupPolicy ? [request.groupPolicy] : []);
	several("order", request.order ? [request.order] : []);
	if (request.limit) calls.push(`.limit(${request.limit})`);
	return ["request = (", "    Request()", ...calls.map((call) => `    ${call}`), ")"];
}

/** @param {import("./request.js").Group} group */
function unsuffixedCalls(group) {
	const calls = [];
	if (group.resources.length) calls.push(`.resources(${writeAmounts(group.resources)})`);
	if (group.required.length) calls.push(`.required(${group.required.map(quotePython).join(", ")})`);
	if (group.memberOf.length) calls.push(`.member_of(${group.memberOf.map(quotePython).join(", ")})`);
	if (group.inTree) calls.push(`.in_tree(${quotePython(group.inTree)})`);
	if (group.inSubtree) calls.push(`.in_subtree(${quotePython(group.inSubtree)})`);
	return calls;
}

/** @param {import("./request.js").Group} group */
function groupCall(group) {
	const list = (/** @type {string[]} */ values) => `[${values.map(quotePython).join(", ")}]`;
	const words = [quotePython(group.suffix)];
	if (group.resources.length) words.push(writeAmounts(group.resources));
	if (group.required.length) words.push(`required=${list(group.required)}`);
	if (group.memberOf.length) words.push(`member_of=${list(group.memberOf)}`);
	if (group.inTree) words.push(`in_tree=${quotePython(group.inTree)}`);
	if (group.inSubtree) words.push(`in_subtree=${quotePython(group.inSubtree)}`);
	if (group.canSplit.length) words.push(`can_split=${list(group.canSplit)}`);
	return `.group(${words.join(", ")})`;
}

/** @param {import("./request.js").Amount[]} amounts */
function writeAmounts(amounts) {
	const isWord = amounts.every(({ name }) => /^[A-Z][A-Z0-9_]*$/.test(name));
	if (isWord) return amounts.map(({ name, amount }) => `${name}=${amount}`).join(", ");
	return `{${amounts.map(({ name, amount }) => `${quotePython(name)}: ${amount}`).join(", ")}}`;
}

/** A literal of Python. Only ASCII, so that nothing in it can look like something else. @param {string} text */
export function quotePython(text) {
	const escape = (/** @type {string} */ character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
	// A character beyond 16 bits would be two escapes, which Python does not join.
	const beyond = (/** @type {string} */ character) => `\\U${Number(character.codePointAt(0)).toString(16).padStart(8, "0")}`;
	return JSON.stringify(text).replace(/[\u{10000}-\u{10ffff}]/gu, beyond).replace(/[^\x20-\x7e]/g, escape);
}

/** How long the query string is: very long ones do not fit into a URL. @param {Request} request */
export const queryLength = (request) => writeParameters(request).toString().length;
