// Which trees the page Cloud shows, in which groups and in which order. Pure functions of the cloud.

/** @typedef {import("./cloud.js").Cloud} Cloud */
/** @typedef {{key: string, label: string, title: string, rows: number[]}} Group */

export const SCARCEST = ""; // the class of which a tree has least: the fullest one of each tree
export const DISABLED = "COMPUTE_STATUS_DISABLED";

const IS_UUID = /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;

/**
 * How full a tree is: used, capacity, reserved, and of which class.
 * @param {Cloud} cloud
 * @param {number} row
 * @param {string} resourceClass or `SCARCEST`
 * @returns {{used: number, capacity: number, reserved: number, isOver: boolean, name: string}}
 */
export function fullness(cloud, row, resourceClass) {
	const names = resourceClass === SCARCEST ? cloud.columns.keys() : [resourceClass];
	let found = { used: 0, capacity: 0, reserved: 0, isOver: false, name: resourceClass };
	let highest = -1;
	for (const name of names) {
		const column = cloud.columns.get(name);
		if (!column || row >= column.used.length) continue;
		const used = column.used[row];
		const capacity = column.capacity[row];
		const isOver = column.over[row] > 0;
		if (capacity <= 0 && used <= 0) continue;
		const share = isOver ? 2 : used / capacity;
		if (share > highest) {
			highest = share;
			found = { used, capacity, reserved: column.reserved[row], isOver, name };
		}
	}
	return found;
}

/**
 * What a filter asks for: words in the name, traits (`!` forbids one), and aggregates. `fits:` is answered by the service.
 * @param {string} text
 */
export function parseFilter(text) {
	const [plain, fits] = text.split(/\bfits:\s*/, 2);
	/** @type {{words: string[], traits: string[], forbidden: string[], aggregates: string[], fits: string}} */
	const filter = { words: [], traits: [], forbidden: [], aggregates: [], fits: (fits ?? "").trim().replace(/^\?/, "") };
	for (const word of plain.split(/[\s,]+/).filter(Boolean)) {
		const name = word.replace(/^!/, "");
		if (IS_UUID.test(word)) filter.aggregates.push(word.toLowerCase());
		else if (/^[A-Z][A-Z0-9]*_[A-Z0-9_]+$/.test(name)) (word.startsWith("!") ? filter.forbidden : filter.traits).push(name);
		else filter.words.push(word.toLowerCase());
	}
	return filter;
}

/**
 * The rows that pass a filter.
 * @param {Cloud} cloud
 * @param {ReturnType<typeof parseFilter>} filter
 * @param {Set<string> | null} fitting the roots that could serve a request; null: whichever
 */
export function select(cloud, filter, fitting) {
	const rows = [];
	for (let row = 0; row < cloud.trees.length; row++) {
		const tree = cloud.trees[row];
		if (!tree.length || (fitting && !fitting.has(cloud.uuids[row]))) continue;
		const hasTrait = (/** @type {string} */ name) => tree.some((entry) => entry.traits.includes(name));
		if (filter.traits.length && !filter.traits.every(hasTrait)) continue;
		if (filter.forbidden.length && filter.forbidden.some(hasTrait)) continue;
		if (filter.aggregates.length && !filter.aggregates.every((uuid) => tree.some((entry) => entry.aggregates.some((each) => each.toLowerCase() === uuid)))) continue;
		if (filter.words.length) {
			const isNamed = (/** @type {string} */ word) => tree.some((entry) => entry.name.toLowerCase().includes(word)) || cloud.uuids[row].startsWith(word);
			if (!filter.words.every(isNamed)) continue;
		}
		rows.push(row);
	}
	return rows;
}

/**
 * Put rows into an order.
 * @param {Cloud} cloud
 * @param {number[]} rows changed in place
 * @param {string} order fullest, emptiest, free or name
 * @param {string} resourceClass
 */
export function sortRows(cloud, rows, order, resourceClass) {
	const byName = (/** @type {number} */ a, /** @type {number} */ b) => (cloud.names[a] < cloud.names[b] ? -1 : cloud.names[a] > cloud.names[b] ? 1 : 0);
	if (order === "name") return rows.sort(byName);
	const keys = new Map(rows.map((row) => {
		const { used, capacity, isOver } = fullness(cloud, row, resourceClass);
		if (capacity <= 0 && !isOver) return [row, order === "fullest" ? -1 : Infinity];
		if (order === "free") return [row, used - capacity];
		const share = isOver ? Math.max(1.001, used / Math.max(capacity, 1)) : used / capacity;
		return [row, share];
	}));
	const key = (/** @type {number} */ row) => /** @type {number} */ (keys.get(row));
	const sign = order === "fullest" ? -1 : 1;
	return rows.sort((a, b) => (key(a) === key(b) ? byName(a, b) : sign * (key(a) < key(b) ? -1 : 1)));
}

/**
 * Divide sorted rows. Every row is in exactly one group: with several aggregates, in the group of all of them.
 * @param {Cloud} cloud
 * @param {number[]} rows
 * @param {string} by "", "aggregate" or a trait
 * @returns {Group[]}
 */
export function groupRows(cloud, rows, by) {
	if (!by) return rows.length ? [{ key: "", label: "", title: "", rows }] : [];
	/** @type {Map<string, Group>} */
	const groups = new Map();
	for (const row of rows) {
		const root = cloud.rootOf(row);
		const names = by === "aggregate" ? [...root.aggregates].sort() : root.traits.includes(by) ? [by] : [];
		const key = names.join(" ");
		let group = groups.get(key);
		if (!group) groups.set(key, (group = { key, label: "", title: key, rows: [] }));
		group.rows.push(row);
	}
	const found = [...groups.values()];
	for (const group of found) {
		if (by !== "aggregate") group.label = group.key || `without ${by}`;
		else group.label = group.key ? labelOf(group.rows.map((row) => cloud.names[row]), group.key.split(" ")) : "in no aggregate";
	}
	return found.sort((a, b) => (!a.key !== !b.key ? (a.key ? -1 : 1) : a.label < b.label ? -1 : 1));
}

/**
 * Aggregates have no names, but their members often have one in common: "r1- · 3f2a9c1b".
 * @param {string[]} names
 * @param {string[]} aggregates
 */
export function labelOf(names, aggregates) {
	let common = names[0] ?? "";
	for (const name of names) while (common && !name.startsWith(common)) common = common.slice(0, -1);
	// A name that ends within a number or a word would mislead.
	common = common === names[0] ? common : common.replace(/[^-_. :/]*$/, "");
	const uuids = aggregates.map((uuid) => uuid.slice(0, 8)).join(" + ");
	return common ? `${common.replace(/[-_. :/]+$/, "")} · ${uuids}` : uuids;
}

/**
 * Sums by class over rows.
 * @param {Cloud} cloud
 * @param {number[]} rows
 */
export function totals(cloud, rows) {
	return cloud.classNames().map((name) => {
		const column = /** @type {import("./cloud.js").Column} */ (cloud.columns.get(name));
		let used = 0, capacity = 0, over = 0;
		for (const row of rows) {
			if (row >= column.used.length) continue;
			used += column.used[row];
			capacity += column.capacity[row];
			if (column.over[row]) over += 1;
		}
		return { name, used, capacity, over };
	}).filter((each) => each.capacity > 0 || each.used > 0);
}
