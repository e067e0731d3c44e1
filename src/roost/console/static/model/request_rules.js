// What an answer says about a request, put back into it: rules taken out or lowered, and the card that a refusal is about.

import { withGroup, writeParameters } from "./request.js";

/**
 * @typedef {import("./request.js").Request} Request
 * @typedef {import("./request.js").Group} Group
 * @typedef {{kind: string, group?: string, names: string[], outside?: string[], amount?: number, can_split?: boolean}} Rule
 * @typedef {{rule: Rule, amount: number | null, text: string}} Relaxation
 * @typedef {{suffix: string | null, parameter: string}} Place `suffix`: of the card; null: a rule of the whole request
 */

// ---------------------------------------------------------------------------------------------
// Rules

/** The request as a relaxation of the service would have it. @param {Request} request @param {Relaxation} relaxation */
export function relax(request, { rule, amount }) {
	if (amount === null) return without(request, [rule]);
	const group = request.groups.find((each) => each.suffix === rule.group);
	if (!group) return request;
	const resources = group.resources.map((each) => (each.name === rule.names[0] ? { ...each, amount: String(amount) } : each));
	return withGroup(request, group.suffix, { resources });
}

/**
 * The request without these rules. Groups of which nothing is left go, too.
 * @param {Request} request
 * @param {Rule[]} rules
 * @returns {Request}
 */
export function without(request, rules) {
	let left = request;
	for (const rule of rules) left = withoutRule(left, rule);
	const groups = left.groups.filter((group) => !isNothing(group) || !rules.some((rule) => rule.group === group.suffix));
	return withoutStraySplits({ ...left, groups });
}

/** @param {Request} request @param {Rule} rule @returns {Request} */
function withoutRule(request, rule) {
	const names = rule.names;
	switch (rule.kind) {
		case "root_required": return { ...request, rootRequired: withoutAnyOf(request.rootRequired, names) };
		case "root_forbidden": return { ...request, rootRequired: request.rootRequired.filter((each) => each !== `!${names[0]}`) };
		case "root_member_of": return { ...request, rootMemberOf: withoutAnyOf(request.rootMemberOf, names) };
		case "root_not_member_of": return { ...request, rootMemberOf: withoutForbidden(request.rootMemberOf, names[0]) };
		case "group_policy": return { ...request, groupPolicy: "none" };
		case "isolate": return { ...request, isolate: request.isolate.filter((each) => !isSame(each.split(","), names)) };
		case "same_subtree": return { ...request, sameSubtree: request.sameSubtree.filter((each) => !isSame(inside(each), names)) };
		case "elsewhere": return { ...request, sameSubtree: request.sameSubtree.flatMap((each) => withoutOutside(each, rule)) };
		case "capacity": return request; // what is free is no part of a request
	}
	const group = request.groups.find((each) => each.suffix === rule.group);
	return group ? withGroup(request, group.suffix, groupWithout(group, rule)) : request;
}

/** @param {Group} group @param {Rule} rule @returns {Partial<Group>} */
function groupWithout(group, { kind, names }) {
	switch (kind) {
		case "resources": return { resources: group.resources.filter((each) => each.name !== names[0]) };
		case "required": return { required: withoutAnyOf(group.required, names) };
		case "forbidden": return { required: group.required.filter((each) => each !== `!${names[0]}`) };
		case "member_of": return { memberOf: withoutAnyOf(group.memberOf, names) };
		case "not_member_of": return { memberOf: withoutForbidden(group.memberOf, names[0]) };
		case "in_tree": return { inTree: "" };
		case "in_subtree": return { inSubtree: "" };
	}
	return {};
}

/** @param {Group} group */
export const isNothing = (group) =>
	!group.resources.length && !group.required.length && !group.memberOf.length && !group.inTree && !group.inSubtree;

/** Without the entry `A` or `in:A,B` that has these names. @param {string[]} entries @param {string[]} names */
function withoutAnyOf(entries, names) {
	return entries.filter((entry) => entry.startsWith("!") || !isSame(entry.replace(/^in:/, "").split(","), names));
}

/** `!A` goes; of `!in:A,B` stays what else it names. @param {string[]} entries @param {string} name */
function withoutForbidden(entries, name) {
	return entries.flatMap((entry) => {
		if (!entry.startsWith("!")) return [entry];
		const left = entry.slice(1).replace(/^in:/, "").split(",").filter((each) => each.toLowerCase() !== name.toLowerCase());
		if (!left.length) return [];
		return [left.length > 1 ? `!in:${left.join(",")}` : `!${left[0]}`];
	});
}

/** @param {string} value the groups of `same_subtree` that are in the subtree */
const inside = (value) => value.split(",").map((name) => name.trim()).filter((name) => !name.startsWith("!"));

/** @param {string} value @param {Rule} rule */
function withoutOutside(value, rule) {
	const outside = value.split(",").map((name) => name.trim()).filter((name) => name.startsWith("!")).map((name) => name.slice(1));
	if (!isSame(inside(value), rule.names) || !isSame(outside, rule.outside ?? [])) return [value];
	// A subtree of one group asks for nothing.
	return rule.names.length > 1 ? [rule.names.join(",")] : [];
}

/** UUIDs may be written in capitals. @param {string[]} one @param {string[]} other */
function isSame(one, other) {
	const key = (/** @type {string[]} */ names) => [...new Set(names.map((name) => name.trim().toLowerCase()))].sort().join();
	return key(one) === key(other);
}

/** The service refuses a `can_split` of a class that nobody asks for. @param {Request} request @returns {Request} */
function withoutStraySplits(request) {
	const asked = (/** @type {Group[]} */ groups) => new Set(groups.flatMap((group) => group.resources.map((each) => each.name)));
	const inAll = asked(request.groups);
	return {
		...request,
		canSplit: request.canSplit.filter((name) => inAll.has(name)),
		groups: request.groups.map((group) => ({ ...group, canSplit: group.canSplit.filter((name) => asked([group]).has(name)) })),
	};
}

// ---------------------------------------------------------------------------------------------
// Refusals

const SUFFIXED_STEMS = ["resources", "required", "member_of", "in_tree", "in_subtree", "can_split"];
const WHOLE = ["root_required", "root_member_of", "same_subtree", "isolate", "group_policy", "order", "limit"];

/**
 * What a sentence of the service is about, if that can be found out: by the name of a parameter with
 * its suffix, and otherwise by a value that only one card has.
 * @param {Request} request
 * @param {string} detail
 * @returns {Place | null}
 */
export function placeOfRefusal(request, detail) {
	const has = (/** @type {string} */ text) => text !== "" && new RegExp(`(?<![\\w-])${escapePattern(text)}(?![\\w-])`).test(detail);
	const names = [...new Set(writeParameters(request).keys())];
	const suffixed = names.filter((name) => SUFFIXED_STEMS.some((stem) => name.startsWith(stem) && name !== stem) && has(name));
	if (suffixed.length === 1) return { suffix: suffixOf(suffixed[0]), parameter: suffixed[0] };
	const inBody = detail.match(/\bgroups\.([\w-]*)\.(\w+)/);
	if (inBody) return { suffix: inBody[1], parameter: inBody[2] };
	const whole = WHOLE.filter((name) => has(name));
	if (whole.length) return { suffix: null, parameter: whole[0] };
	const groups = request.groups.filter((group) => valuesOf(group).some(has));
	if (groups.length === 1) return { suffix: groups[0].suffix, parameter: "" };
	const stem = SUFFIXED_STEMS.find(has);
	const owners = stem ? request.groups.filter((group) => names.includes(stem + group.suffix)) : [];
	return stem && owners.length === 1 ? { suffix: owners[0].suffix, parameter: stem } : null;
}

/** @param {string} name */
function suffixOf(name) {
	const stem = /** @type {string} */ (SUFFIXED_STEMS.find((each) => name.startsWith(each)));
	return name.slice(stem.length);
}

/** @param {Group} group */
function valuesOf(group) {
	const names = [...group.required, ...group.memberOf].flatMap((entry) => entry.replace(/^!?(in:)?/, "").split(","));
	const amounts = group.resources.flatMap((each) => [each.name, /^[1-9]\d*$/.test(each.amount) ? "" : each.amount]);
	return [...amounts, ...names, group.inTree, group.inSubtree];
}

/** @param {string} text */
const escapePattern = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
