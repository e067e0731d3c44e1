// A tree of providers: its order, its folds, and what each provider has of each class. Pure.

/**
 * @typedef {{total: number, reserved: number, min_unit: number, max_unit: number, step_size: number, allocation_ratio: number}} Inventory
 * @typedef {{uuid: string, name: string, generation: number, parent_provider_uuid: string | null, root_provider_uuid: string,
 *   inventories: Record<string, Inventory>, usages: Record<string, number>, traits: string[], aggregates: string[]}} Provider
 *   as `GET /resource_providers?include=inventories,usages,traits,aggregates` shows it
 * @typedef {Record<string, Record<string, number>>} Amounts amounts by UUID of the provider and class
 * @typedef {{provider: Provider, parentName: string, index: number, depth: number, below: number, isLast: boolean, guides: boolean[], position: number, siblings: number}} Line
 *   `below`: how many providers are below it; `guides`: for each ancestor but the root, whether more of its siblings follow
 * @typedef {{used: number, reserved: number, capacity: number, total: number, ratio: number}} Level
 */

/** More providers than this are not shown all at once. */
export const OPEN_LINES_MAX = 60;

export const SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE";

const FIRST_CLASSES = ["VCPU", "PCPU", "MEMORY_MB", "DISK_GB"];
const COLLATOR = new Intl.Collator("en", { numeric: true });

/**
 * Compare names as people do: numa2 comes before numa10.
 * @param {string} one
 * @param {string} other
 */
export const compareNames = (one, other) => COLLATOR.compare(one, other);

/**
 * The well-known classes first, then the others by name.
 * @param {Iterable<string>} classes
 */
export function sortClasses(classes) {
	const rank = (/** @type {string} */ name) => (FIRST_CLASSES.includes(name) ? FIRST_CLASSES.indexOf(name) : FIRST_CLASSES.length);
	return [...new Set(classes)].sort((one, other) => rank(one) - rank(other) || compareNames(one, other));
}

/** Every class of which a provider has something, or uses something. @param {Provider[]} providers */
export function classesOf(providers) {
	return sortClasses(providers.flatMap((each) => [...Object.keys(each.inventories), ...Object.keys(each.usages)]));
}

/**
 * The providers from the root downwards, children after their parent, siblings by name. A provider whose parent
 * is not in the list is shown as a root.
 * @param {Provider[]} providers
 * @returns {Line[]}
 */
export function treeLines(providers) {
	const known = new Set(providers.map((each) => each.uuid));
	/** @type {Map<string | null, Provider[]>} */
	const children = new Map();
	for (const provider of providers) {
		const parent = provider.parent_provider_uuid;
		const key = parent !== null && known.has(parent) ? parent : null;
		const siblings = children.get(key);
		if (siblings) siblings.push(provider);
		else children.set(key, [provider]);
	}
	for (const siblings of children.values()) siblings.sort((one, other) => compareNames(one.name, other.name));
	/** @type {Line[]} */
	const lines = [];
	const add = (/** @type {Provider | null} */ parent, /** @type {number} */ depth, /** @type {boolean[]} */ guides) => {
		const siblings = children.get(parent?.uuid ?? null) ?? [];
		siblings.forEach((provider, number) => {
			const isLast = number === siblings.length - 1;
			/** @type {Line} */
			const line = { provider, parentName: parent?.name ?? "", index: lines.length, depth, below: 0, isLast, guides, position: number + 1, siblings: siblings.length };
			lines.push(line);
			const before = lines.length;
			add(provider, depth + 1, depth === 0 ? [] : [...guides, !isLast]);
			line.below = lines.length - before;
		});
	};
	add(null, 0, []);
	return lines;
}

/**
 * The lines that are not below a folded one.
 * @param {Line[]} lines
 * @param {ReadonlySet<string>} folded
 */
export function visibleLines(lines, folded) {
	const visible = [];
	for (let index = 0; index < lines.length; index += 1) {
		visible.push(lines[index]);
		if (folded.has(lines[index].provider.uuid)) index += lines[index].below;
	}
	return visible;
}

/**
 * What is folded at first: nothing in a small tree; otherwise everything below the level at which the lines would be too many.
 * @param {Line[]} lines
 * @param {number} [linesMax]
 * @returns {Set<string>}
 */
export function foldedAtFirst(lines, linesMax = OPEN_LINES_MAX) {
	if (lines.length <= linesMax) return new Set();
	const depths = Math.max(...lines.map((line) => line.depth));
	let level = 0;
	while (level < depths && lines.filter((line) => line.depth <= level + 1).length <= linesMax) level += 1;
	// The children of the root are shown, however many there are: they are what the tree is made of.
	const foldAt = Math.max(level, 1);
	return new Set(lines.filter((line) => line.depth >= foldAt && line.below > 0).map((line) => line.provider.uuid));
}

/**
 * Some providers and all above them: what is needed to show where they are.
 * @param {Provider[]} providers
 * @param {Iterable<string>} uuids
 */
export function withAncestors(providers, uuids) {
	const byUuid = new Map(providers.map((each) => [each.uuid, each]));
	/** @type {Set<string>} */
	const kept = new Set();
	for (const uuid of uuids) {
		for (let each = byUuid.get(uuid); each && !kept.has(each.uuid); each = byUuid.get(each.parent_provider_uuid ?? "")) kept.add(each.uuid);
	}
	return providers.filter((each) => kept.has(each.uuid));
}

/**
 * Those above a provider, the nearest first.
 * @param {Provider[]} providers
 * @param {string} uuid
 */
export function ancestorsOf(providers, uuid) {
	return withAncestors(providers, [uuid]).filter((each) => each.uuid !== uuid).reverse();
}

/** How much of an inventory may be allocated in all, as the service computes it. @param {Inventory} inventory */
export function capacityOf(inventory) {
	return Math.trunc((inventory.total - inventory.reserved) * inventory.allocation_ratio);
}

/**
 * What a provider has of a class; null if it has none and nothing of it is used.
 * @param {Provider} provider
 * @param {string} resourceClass
 * @returns {Level | null}
 */
export function levelOf(provider, resourceClass) {
	const inventory = provider.inventories[resourceClass];
	const used = provider.usages[resourceClass] ?? 0;
	if (!inventory) return used ? { used, reserved: 0, capacity: 0, total: 0, ratio: 1 } : null;
	const { total, reserved, allocation_ratio: ratio } = inventory;
	return { used, reserved, capacity: capacityOf(inventory), total, ratio };
}

/**
 * The parts of a bar and their shares of it, from left to right. Reserved amounts are scaled by the ratio, so that
 * they can be compared with used ones. `mark` is a part of what is used, `take` a part of what is free.
 * @param {{used: number, reserved: number, capacity: number, ratio: number, mark?: number, take?: number}} level
 * @returns {{kind: "mark" | "used" | "over" | "reserved" | "take" | "free", share: number}[]}
 */
export function barParts({ used, reserved, capacity, ratio, mark = 0, take = 0 }) {
	const marked = Math.min(mark, used);
	const over = Math.min(Math.max(0, used - capacity), used - marked);
	const held = Math.max(0, reserved * ratio);
	const whole = Math.max(capacity, used + take) + held;
	if (whole <= 0) return [];
	const amounts = /** @type {const} */ ([
		["mark", marked],
		["used", used - marked - over],
		["over", over],
		["reserved", held],
		["take", take],
		["free", Math.max(0, capacity - used - take)],
	]);
	return amounts.filter(([, amount]) => amount > 0).map(([kind, amount]) => ({ kind, share: amount / whole }));
}

/**
 * The providers that are not as they were: to be pointed out once.
 * @param {Provider[]} before
 * @param {Provider[]} after
 * @returns {Set<string>}
 */
export function changedProviders(before, after) {
	const known = new Map(before.map((each) => [each.uuid, JSON.stringify(each)]));
	return new Set(after.filter((each) => known.get(each.uuid) !== JSON.stringify(each)).map((each) => each.uuid));
}

/**
 * Where lines to the side run: for each aggregate, the lines that are in it or have a folded provider in it.
 * @param {Line[]} lines all of them
 * @param {Line[]} visible
 * @param {string[]} aggregates
 * @returns {{members: Set<number>, last: number}[]} indices into `visible`; `last` is -1 if there is none
 */
export function railsOf(lines, visible, aggregates) {
	/** @type {Map<string, number>} */
	const shownAt = new Map();
	let next = 0;
	for (const line of lines) {
		if (visible[next]?.provider.uuid === line.provider.uuid) next += 1;
		shownAt.set(line.provider.uuid, next - 1);
	}
	return aggregates.map((aggregate) => {
		const members = new Set(
			lines.filter((line) => line.provider.aggregates.includes(aggregate)).map((line) => /** @type {number} */ (shownAt.get(line.provider.uuid))),
		);
		return { members, last: Math.max(-1, ...members) };
	});
}
