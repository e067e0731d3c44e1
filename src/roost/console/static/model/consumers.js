// Consumers: what they hold, in sums and by group, and the orphans of an audit. Pure.

import { compareNames, sortClasses } from "./tree.js";

/**
 * @typedef {{uuid: string, allocations: Record<string, {resources: Record<string, number>}>, project_id: string, user_id: string,
 *   consumer_type?: string, consumer_generation: number, created_at?: string | null, updated_at?: string | null}} Consumer
 *   as `GET /allocations` lists it
 * @typedef {Record<string, number>} Sums amounts by class
 * @typedef {{key: string, consumers: Consumer[], sums: Sums}} Group
 * @typedef {{orphans: Consumer[], names: Record<string, string>, fileName: string, total: number}} AuditReport `total`: the consumers that were looked at
 */

/** What can be chosen to group by, and the field that it means. */
export const GROUPINGS = /** @type {const} */ ({ project: "project_id", user: "user_id", type: "consumer_type" });

/** The ages that can be chosen, in seconds. */
export const AGES = /** @type {Record<string, number>} */ ({ "1h": 3600, "1d": 86400, "7d": 7 * 86400, "30d": 30 * 86400, "90d": 90 * 86400, "1y": 365 * 86400 });

/** What a consumer holds in all. @param {Consumer} consumer */
export function holds(consumer) {
	return addUp(Object.values(consumer.allocations).map((each) => each.resources));
}

/** @param {Iterable<Sums>} amounts @returns {Sums} */
export function addUp(amounts) {
	/** @type {Sums} */
	const sums = {};
	for (const each of amounts) {
		for (const [name, amount] of Object.entries(each)) sums[name] = (sums[name] ?? 0) + amount;
	}
	return Object.fromEntries(sortClasses(Object.keys(sums)).map((name) => [name, sums[name]]));
}

/**
 * What it holds by provider and class, to be marked in a tree.
 * @param {Consumer | null | undefined} consumer
 * @returns {import("./tree.js").Amounts}
 */
export function marksOf(consumer) {
	return Object.fromEntries(Object.entries(consumer?.allocations ?? {}).map(([uuid, each]) => [uuid, each.resources]));
}

/** The largest amount that one of them holds, by class. @param {Consumer[]} consumers @returns {Sums} */
export function largest(consumers) {
	/** @type {Sums} */
	const found = {};
	for (const consumer of consumers) {
		for (const [name, amount] of Object.entries(holds(consumer))) found[name] = Math.max(found[name] ?? 0, amount);
	}
	return found;
}

/**
 * Consumers by project, user or type: the largest groups first.
 * @param {Consumer[]} consumers
 * @param {string} grouping a key of GROUPINGS; another one gives a single group
 * @returns {Group[]}
 */
export function groupConsumers(consumers, grouping) {
	const field = GROUPINGS[/** @type {keyof typeof GROUPINGS} */ (grouping)];
	/** @type {Map<string, Consumer[]>} */
	const groups = new Map();
	for (const consumer of consumers) {
		const key = field ? (consumer[field] ?? "unknown") : "";
		const members = groups.get(key);
		if (members) members.push(consumer);
		else groups.set(key, [consumer]);
	}
	return [...groups]
		.map(([key, members]) => ({ key, consumers: members, sums: addUp(members.map(holds)) }))
		.sort((one, other) => other.consumers.length - one.consumers.length || compareNames(one.key, other.key));
}

/** When it last changed, in milliseconds; null if the service does not know. @param {Consumer} consumer */
export function changedAt(consumer) {
	const text = consumer.updated_at ?? consumer.created_at;
	const time = text ? Date.parse(text) : NaN;
	return Number.isNaN(time) ? null : time;
}

/**
 * The filters of the page as `GET /allocations` has them.
 * @param {{project?: string, user?: string, type?: string, age?: string, class?: string, provider?: string}} filters
 * @param {number} now milliseconds
 */
export function toQuery(filters, now) {
	const age = AGES[filters.age ?? ""];
	return {
		project_id: filters.project,
		user_id: filters.user,
		consumer_type: filters.type,
		resource_class: filters.class,
		resource_provider: filters.provider,
		changed_before: age ? new Date(now - age * 1000).toISOString().replace(/\.\d+Z$/, "Z") : undefined,
	};
}

/**
 * The same filters for consumers that do not come from the service.
 * @param {Consumer} consumer
 * @param {{project?: string, user?: string, type?: string, age?: string, class?: string, provider?: string}} filters
 * @param {number} now milliseconds
 */
export function matches(consumer, filters, now) {
	const age = AGES[filters.age ?? ""];
	const changed = changedAt(consumer);
	const held = filters.provider ? [consumer.allocations[filters.provider]] : Object.values(consumer.allocations);
	return (
		(!filters.project || consumer.project_id === filters.project) &&
		(!filters.user || consumer.user_id === filters.user) &&
		(!filters.type || (consumer.consumer_type ?? "unknown") === filters.type) &&
		(!age || (changed !== null && changed < now - age * 1000)) &&
		held.some((each) => each && (!filters.class || filters.class in each.resources))
	);
}

/**
 * Read the report of `roost audit --json`.
 * @param {string} text
 * @param {string} fileName
 * @returns {AuditReport}
 * @throws {Error} with a sentence for the user
 */
export function parseReport(text, fileName) {
	let report;
	try {
		report = JSON.parse(text);
	} catch {
		throw new Error(`${fileName} is no JSON. The page takes what \`roost audit --json\` prints.`);
	}
	if (!Array.isArray(report?.orphans) || typeof report.totals !== "object") {
		throw new Error(`${fileName} is JSON, but no report of \`roost audit --json\`: it has no list of orphans.`);
	}
	return { orphans: report.orphans.map(readOrphan), names: report.names ?? {}, fileName, total: Number(report.totals?.consumers ?? 0) };
}

/** @param {any} orphan @returns {Consumer} */
function readOrphan(orphan) {
	const allocations = Object.entries(orphan.allocations ?? {}).map(([uuid, resources]) => [uuid, { resources }]);
	return {
		uuid: String(orphan.uuid),
		allocations: Object.fromEntries(allocations),
		project_id: orphan.project_id ?? "unknown",
		user_id: orphan.user_id ?? "unknown",
		consumer_type: orphan.consumer_type ?? "unknown",
		consumer_generation: orphan.consumer_generation,
		created_at: null,
		updated_at: orphan.changed_at ?? null,
	};
}
