// Schemas of the document in words.

/** @typedef {{depth: number, name: string, type: string, isRequired: boolean, description: string}} Field */

const DEPTH_MAX = 8;

/** @param {any} document @param {any} node */
export function resolve(document, node) {
	for (let steps = 0; typeof node?.$ref === "string" && steps < DEPTH_MAX; steps++) {
		node = node.$ref.replace(/^#\//, "").split("/").reduce((/** @type {any} */ at, /** @type {string} */ key) => at?.[key], document);
	}
	return node;
}

/**
 * A type in few words.
 * @param {any} document
 * @param {any} schema
 * @returns {string}
 */
export function describe(document, schema, depth = 0) {
	const known = resolve(document, schema);
	if (known === undefined || known === null || typeof known !== "object" || depth > DEPTH_MAX) return "any";
	if (Array.isArray(known.enum)) {
		const shown = known.enum.slice(0, 6).map((/** @type {unknown} */ value) => JSON.stringify(value));
		return shown.join(" | ") + (known.enum.length > shown.length ? " | …" : "");
	}
	if ("const" in known) return JSON.stringify(known.const);
	const forms = known.anyOf ?? known.oneOf;
	if (forms) return [...new Set(forms.map((/** @type {any} */ form) => describe(document, form, depth + 1)))].join(" or ");
	const types = [known.type ?? (known.properties ? "object" : "any")].flat();
	return types.map((type) => describeType(document, known, type, depth)).join(" or ");
}

/** @param {any} document @param {any} schema @param {string} type @param {number} depth */
function describeType(document, schema, type, depth) {
	if (type === "array") return `list of ${describe(document, schema.items, depth + 1)}`;
	if (type === "object" && isMap(schema)) return `map of ${describe(document, schema.additionalProperties, depth + 1)}`;
	return schema.format ?? type;
}

/** An object with any number of fields, which are alike. @param {any} schema */
function isMap(schema) {
	return typeof schema.additionalProperties === "object" && !Object.keys(schema.properties ?? {}).length;
}

/**
 * The fields of a schema, those of objects within it below them.
 * @param {any} document
 * @param {any} schema
 * @returns {Field[]}
 */
export function describeFields(document, schema, depth = 0) {
	const known = resolve(document, schema);
	if (depth > DEPTH_MAX || !known) return [];
	const forms = known.anyOf ?? known.oneOf;
	if (forms) return forms.flatMap((/** @type {any} */ form) => describeFields(document, form, depth));
	if (known.type === "array") return describeFields(document, known.items, depth);
	/** @type {[string, any][]} */
	const named = Object.entries(known.properties ?? {});
	// What a map is of, its type says, unless there is more to say.
	if (typeof known.additionalProperties === "object" && (named.length || describeFields(document, known.additionalProperties, depth + 1).length)) named.push(["…", known.additionalProperties]);
	return named.flatMap(([name, each]) => [
		{ depth, name, type: describe(document, each), isRequired: (known.required ?? []).includes(name), description: each.description ?? resolve(document, each)?.description ?? "" },
		...describeFields(document, each, depth + 1),
	]);
}
