// A request for candidates as a value: cards on the page Ask, the query string of GET /allocation_candidates.
//
// What a card cannot show (a parameter that nobody knows, one that is given twice, a value that has no
// form) is kept in `others` as it was, so that nothing is lost on the way from a query to cards and back.

/**
 * Amounts stay texts: a wrong one is for the service to refuse.
 * @typedef {{name: string, amount: string}} Amount
 * @typedef {{
 *   suffix: string,
 *   resources: Amount[],
 *   required: string[],
 *   memberOf: string[],
 *   inTree: string,
 *   inSubtree: string,
 *   canSplit: string[],
 * }} Group
 *   `suffix` "" is the group without one. `required` has "A", "!A" and "in:A,B"; `memberOf` the same forms with UUIDs,
 *   and "!in:A,B". `canSplit` has classes; the group without a suffix has none, because `can_split` is for all groups.
 * @typedef {{
 *   groups: Group[],
 *   rootRequired: string[],
 *   rootMemberOf: string[],
 *   sameSubtree: string[],
 *   isolate: string[],
 *   canSplit: string[],
 *   groupPolicy: string,
 *   order: string,
 *   limit: string,
 *   others: [string, string][],
 * }} Request
 *   `sameSubtree` has "_A,_B" and "_A,!_B"; `isolate` has "_A,_B".
 */

const SUFFIXED = /^(resources|required|member_of|in_tree|in_subtree|can_split)([a-zA-Z0-9_-]{0,64})$/;
const AMOUNTS = /^[^:,\s]+:[^:,]*(,[^:,\s]+:[^:,]*)*$/;
const NAMES = /^!?[^,\s!]+(,!?[^,\s!]+)*$/;

/** @returns {Request} */
export function emptyRequest() {
	return {
		groups: [], rootRequired: [], rootMemberOf: [], sameSubtree: [], isolate: [], canSplit: [],
		groupPolicy: "", order: "", limit: "", others: [],
	};
}

/** @param {string} suffix @returns {Group} */
export function emptyGroup(suffix) {
	return { suffix, resources: [], required: [], memberOf: [], inTree: "", inSubtree: "", canSplit: [] };
}

// ---------------------------------------------------------------------------------------------
// From and to parameters

/** @param {Iterable<[string, string]>} parameters @returns {Request} */
export function readParameters(parameters) {
	const request = emptyRequest();
	for (const [name, value] of parameters) {
		if (!readParameter(request, name, value)) request.others.push([name, value]);
	}
	// The service takes the group without a suffix first, too.
	request.groups.sort((one, other) => Number(one.suffix !== "") - Number(other.suffix !== ""));
	return request;
}

/**
 * Put one parameter into the request, which changes in place.
 * @param {Request} request
 * @param {string} name
 * @param {string} value
 * @returns {boolean} whether it has a place there
 */
function readParameter(request, name, value) {
	switch (name) {
		case "root_required": return readNames(request.rootRequired, value);
		case "root_member_of": return addText(request.rootMemberOf, value);
		case "same_subtree": return addText(request.sameSubtree, value);
		case "isolate": return addText(request.isolate, value);
		case "can_split": return request.canSplit.length === 0 && readNames(request.canSplit, value);
		case "group_policy": return setText(request, "groupPolicy", value);
		case "order": return setText(request, "order", value);
		case "limit": return setText(request, "limit", value);
	}
	const [, stem, suffix] = name.match(SUFFIXED) ?? [];
	if (!stem) return false;
	const known = request.groups.find((each) => each.suffix === suffix);
	const group = known ?? emptyGroup(suffix);
	const isRead = readOfGroup(group, stem, value);
	if (isRead && !known) request.groups.push(group);
	return isRead;
}

/** @param {Group} group @param {string} stem @param {string} value */
function readOfGroup(group, stem, value) {
	switch (stem) {
		case "resources": return readAmounts(group, value);
		case "required": return readNames(group.required, value);
		case "member_of": return addText(group.memberOf, value);
		case "in_tree": return setText(group, "inTree", value);
		case "in_subtree": return setText(group, "inSubtree", value);
		default: return group.canSplit.length === 0 && readNames(group.canSplit, value);
	}
}

/** @param {Group} group @param {string} value */
function readAmounts(group, value) {
	if (group.resources.length || !AMOUNTS.test(value)) return false;
	for (const part of value.split(",")) {
		const [name, amount] = part.split(":");
		group.resources.push({ name, amount: amount.trim() });
	}
	return true;
}

/** `A,!B` are several entries, `in:A,B` is one. @param {string[]} entries @param {string} value */
function readNames(entries, value) {
	if (value.startsWith("in:")) return addText(entries, value);
	if (!NAMES.test(value)) return false;
	entries.push(...value.split(","));
	return true;
}

/** @param {string[]} entries @param {string} value */
function addText(entries, value) {
	if (value.trim()) entries.push(value);
	return Boolean(value.trim());
}

/**
 * @template {string} Key
 * @param {Record<Key, string>} target
 * @param {Key} key
 * @param {string} value
 */
function setText(target, key, value) {
	if (target[key] || !value.trim()) return false;
	target[key] = value;
	return true;
}

/** The parameters of the query string. @param {Request} request @returns {URLSearchParams} */
export function writeParameters(request) {
	const query = new URLSearchParams();
	const add = (/** @type {string} */ name, /** @type {string} */ value) => value && query.append(name, value);
	for (const group of request.groups) {
		const { suffix } = group;
		add(`resources${suffix}`, group.resources.map(({ name, amount }) => `${name}:${amount}`).join(","));
		for (const value of joinNames(group.required)) add(`required${suffix}`, value);
		for (const value of group.memberOf) add(`member_of${suffix}`, value);
		add(`in_tree${suffix}`, group.inTree);
		add(`in_subtree${suffix}`, group.inSubtree);
		if (suffix) for (const value of joinNames(group.canSplit)) add(`can_split${suffix}`, value);
	}
	for (const value of joinNames(request.canSplit)) add("can_split", value);
	for (const value of joinNames(request.rootRequired)) add("root_required", value);
	for (const value of request.rootMemberOf) add("root_member_of", value);
	for (const value of request.sameSubtree) add("same_subtree", value);
	for (const value of request.isolate) add("isolate", value);
	add("group_policy", request.groupPolicy);
	add("order", request.order);
	add("limit", request.limit);
	for (const [name, value] of request.others) query.append(name, value);
	return query;
}

/** What stands in one parameter, and each `in:` by itself. @param {string[]} entries */
function joinNames(entries) {
	const single = entries.filter((each) => !each.startsWith("in:"));
	return [...(single.length ? [single.join(",")] : []), ...entries.filter((each) => each.startsWith("in:"))];
}

/** The query string; colons, commas and exclamation marks stay readable. @param {Request} request */
export function writeQuery(request) {
	return readable(writeParameters(request));
}

/** @param {URLSearchParams} query */
export const readable = (query) => query.toString().replaceAll("%3A", ":").replaceAll("%2C", ",").replaceAll("%21", "!");

/** Whether nothing is asked for. @param {Request} request */
export const isEmpty = (request) => writeParameters(request).size === 0;

/** Whether some amount is asked for: without one, no search can be made. @param {Request} request */
export const hasResources = (request) => request.groups.some((group) => group.resources.length > 0);

// ---------------------------------------------------------------------------------------------
// Changes, each of which returns a new request

/**
 * Change one group; a group that is not there yet is added.
 * @param {Request} request
 * @param {string} suffix
 * @param {Partial<Group>} changes
 * @returns {Request}
 */
export function withGroup(request, suffix, changes) {
	const isKnown = request.groups.some((group) => group.suffix === suffix);
	const groups = isKnown ? request.groups : [...request.groups, emptyGroup(suffix)];
	return { ...request, groups: groups.map((group) => (group.suffix === suffix ? { ...group, ...changes } : group)) };
}

/** Also out of the rules between groups. @param {Request} request @param {string} suffix @returns {Request} */
export function withoutGroup(request, suffix) {
	const groups = request.groups.filter((group) => group.suffix !== suffix);
	return renameInRules({ ...request, groups }, suffix, null);
}

/** @param {Request} request @param {string} from @param {string} to @returns {Request} */
export function renameGroup(request, from, to) {
	const groups = request.groups.map((group) => {
		if (group.suffix !== from) return group;
		// What the group without a suffix may split is a matter of the whole request.
		return { ...group, suffix: to, canSplit: to ? group.canSplit : [] };
	});
	return renameInRules({ ...request, groups }, from, to || null);
}

/**
 * Rules that would name fewer groups than they need are dropped.
 * @param {Request} request
 * @param {string} from
 * @param {string | null} to
 * @returns {Request}
 */
function renameInRules(request, from, to) {
	if (!from) return request;
	const renamed = (/** @type {string[]} */ values, /** @type {number} */ least) =>
		values.flatMap((value) => {
			const names = value.split(",").map((name) => name.trim());
			if (!names.some((name) => name.replace(/^!/, "") === from)) return [value];
			const left = names.flatMap((name) => {
				if (name.replace(/^!/, "") !== from) return [name];
				return to ? [name.startsWith("!") ? `!${to}` : to] : [];
			});
			const isLeft = left.length >= least && left.some((name) => !name.startsWith("!"));
			return isLeft ? [left.join(",")] : [];
		});
	return { ...request, sameSubtree: renamed(request.sameSubtree, 1), isolate: renamed(request.isolate, 2) };
}

/** A suffix that no group has. @param {Request} request @param {string[]} [taken] */
export function freeSuffix(request, taken = []) {
	const used = new Set([...taken, ...request.groups.map((group) => group.suffix)]);
	for (let number = 1; ; number += 1) if (!used.has(`_${number}`)) return `_${number}`;
}

/** @param {string} text */
export const isSuffix = (text) => /^[a-zA-Z0-9_-]{1,64}$/.test(text);
