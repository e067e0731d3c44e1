// /openapi.json as a list of operations, and schemas in words.

/**
 * @typedef {{in: string, name: string, type: string, isRequired: boolean, versions: string, description: string}} Parameter
 * @typedef {{depth: number, name: string, type: string, isRequired: boolean}} BodyLine
 * @typedef {{key: string, method: string, path: string, group: string, summary: string, description: string, versions: string,
 *   rule: string, extension: string, isOpen: boolean, parameters: Parameter[], body: BodyLine[], answers: [string, string][]}} Operation
 */

const METHODS = ["get", "post", "put", "delete", "patch"];
const DEPTH_MAX = 8;

/**
 * @param {any} document
 * @returns {Operation[]} in the order of the document
 */
export function listOperations(document) {
	const operations = [];
	for (const [path, methods] of Object.entries(document.paths ?? {})) {
		for (const method of METHODS) if (methods?.[method]) operations.push(toOperation(document, path, method, methods[method]));
	}
	return operations;
}

/**
 * @param {any} document
 * @param {string} path
 * @param {string} method
 * @param {any} operation
 * @returns {Operation}
 */
function toOperation(document, path, method, operation) {
	const own = operation["x-openstack"] ?? {};
	const schema = operation.requestBody?.content?.["application/json"]?.schema;
	return {
		key: `${method.toUpperCase()} ${path}`,
		method: method.toUpperCase(),
		path,
		group: String(operation.tags?.[0] ?? "other").replaceAll("_", " "),
		summary: operation.summary ?? "",
		description: operation.description ?? "",
		versions: describeVersions(document, own),
		rule: own.policy ?? "",
		extension: own.extension ?? "",
		isOpen: operation.security?.length === 0,
		// The version is a parameter of all of them.
		parameters: (operation.parameters ?? []).map((/** @type {any} */ each) => toParameter(document, resolve(document, each))).filter((/** @type {Parameter} */ each) => each.in !== "header"),
		body: schema ? describeBody(document, newest(document, schema)) : [],
		answers: Object.entries(operation.responses ?? {}).map(([status, answer]) => [status, resolve(document, answer)?.description ?? ""]),
	};
}

/** @param {any} document @param {any} parameter @returns {Parameter} */
function toParameter(document, parameter) {
	const own = parameter?.["x-openstack"] ?? {};
	return {
		in: parameter?.in ?? "",
		// A suffix says which group a parameter is about: resources_NET.
		name: `${parameter?.name ?? ""}${own.suffix ? "[_…]" : ""}`,
		type: describe(document, parameter?.schema),
		isRequired: Boolean(parameter?.required),
		versions: describeVersions(document, own),
		description: parameter?.description ?? "",
	};
}

/**
 * From which version on, if not from the beginning, and until when.
 * @param {any} document
 * @param {any} own
 */
function describeVersions(document, own) {
	const [first, last] = [own["min-ver"], own["max-ver"]];
	if (!first) return "";
	if (last && last !== document.info?.version) return `${first} to ${last}`;
	return first === "1.0" ? "" : `from ${first}`;
}

/** @param {any} document @param {any} node */
function resolve(document, node) {
	for (let steps = 0; typeof node?.$ref === "string" && steps < DEPTH_MAX; steps++) {
		node = node.$ref.replace(/^#\//, "").split("/").reduce((/** @type {any} */ at, /** @type {string} */ key) => at?.[key], document);
	}
	return node;
}

/** Of the forms that a body had over the versions, the last one. @param {any} document @param {any} schema */
function newest(document, schema) {
	const known = resolve(document, schema);
	const forms = (known?.anyOf ?? known?.oneOf ?? []).map((/** @type {any} */ form) => resolve(document, form));
	return forms.find((/** @type {any} */ form) => form?.["x-openstack"]?.["max-ver"] === document.info?.version) ?? known;
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
	return types.map((type) => (type === "array" ? `list of ${describe(document, known.items, depth + 1)}` : (known.format ?? type))).join(" or ");
}

/**
 * The properties of a body, one line each.
 * @param {any} document
 * @param {any} schema
 * @returns {BodyLine[]}
 */
export function describeBody(document, schema, depth = 0) {
	const known = resolve(document, schema);
	if (depth > DEPTH_MAX || !known) return [];
	if (known.type === "array") return describeBody(document, known.items, depth);
	/** @type {[string, any][]} */
	const named = Object.entries(known.properties ?? {});
	for (const pattern of Object.values(known.patternProperties ?? {})) named.push(["…", pattern]);
	if (known.additionalProperties && typeof known.additionalProperties === "object") named.push(["…", known.additionalProperties]);
	return named.flatMap(([name, each]) => [
		{ depth, name, type: describe(document, each), isRequired: (known.required ?? []).includes(name) },
		...describeBody(document, newest(document, each), depth + 1),
	]);
}
