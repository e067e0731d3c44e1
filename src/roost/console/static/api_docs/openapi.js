// /openapi.json as a list of operations with their examples.

import { describe, describeFields, resolve } from "./schemas.js";

/**
 * @typedef {import("./schemas.js").Field} Field
 * @typedef {{in: string, name: string, type: string, isRequired: boolean, versions: string, description: string}} Parameter
 * @typedef {{name: string, description: string}} Header
 * @typedef {{status: string, description: string, type: string, fields: Field[], headers: Header[], examples: [string, any][]}} Answer
 * @typedef {{key: string, summary: string, path: string, query: [string, string][], body: any}} Example a request
 * @typedef {{key: string, method: string, path: string, group: string, summary: string, description: string, versions: string,
 *   rule: string, extension: string, isOpen: boolean, parameters: Parameter[], bodyType: string, body: Field[],
 *   answers: Answer[], examples: Example[]}} Operation
 */

const METHODS = ["get", "post", "put", "delete", "patch"];
const JSON_TYPE = "application/json";

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
 * What a group of operations is about, by its name.
 * @param {any} document
 * @returns {Map<string, string>}
 */
export function listGroups(document) {
	return new Map((document.tags ?? []).map((/** @type {any} */ tag) => [groupName(tag.name), tag.description ?? ""]));
}

/** @param {unknown} tag */
const groupName = (tag) => String(tag ?? "other").replaceAll("_", " ");

/**
 * @param {any} document
 * @param {string} path
 * @param {string} method
 * @param {any} operation
 * @returns {Operation}
 */
function toOperation(document, path, method, operation) {
	const own = operation["x-openstack"] ?? {};
	const schema = operation.requestBody?.content?.[JSON_TYPE]?.schema;
	const parameters = (operation.parameters ?? []).map((/** @type {any} */ each) => resolve(document, each) ?? {});
	return {
		key: `${method.toUpperCase()} ${path}`,
		method: method.toUpperCase(),
		path,
		group: groupName(operation.tags?.[0]),
		summary: operation.summary ?? "",
		description: operation.description ?? "",
		versions: describeVersions(document, own),
		rule: own.policy ?? "",
		extension: own.extension ?? "",
		isOpen: operation.security?.length === 0,
		// The version is a parameter of all of them.
		parameters: parameters.filter((/** @type {any} */ each) => each.in !== "header").map((/** @type {any} */ each) => toParameter(document, each, own)),
		bodyType: schema ? describe(document, schema) : "",
		body: schema ? describeFields(document, schema) : [],
		answers: Object.entries(operation.responses ?? {}).sort(byStatus).map(([status, answer]) => toAnswer(document, status, resolve(document, answer) ?? {})),
		examples: listExamples(path, parameters, operation.requestBody?.content?.[JSON_TYPE], operation.responses ?? {}),
	};
}

/** @param {any} document @param {any} parameter @param {any} around the versions of its operation @returns {Parameter} */
function toParameter(document, parameter, around) {
	const own = parameter["x-openstack"] ?? {};
	return {
		in: parameter.in ?? "",
		name: parameter.name ?? "",
		type: describe(document, parameter.schema),
		isRequired: Boolean(parameter.required),
		// What is as old as its operation need not say so.
		versions: own["min-ver"] === around["min-ver"] ? "" : describeVersions(document, own),
		description: parameter.description ?? "",
	};
}

/** A range such as 4XX comes after what is listed of it. @param {[string, any]} one @param {[string, any]} other */
function byStatus([one], [other]) {
	return one.replace("XX", "99").localeCompare(other.replace("XX", "99"));
}

/** @param {any} document @param {string} status @param {any} answer @returns {Answer} */
function toAnswer(document, status, answer) {
	const contents = /** @type {[string, any][]} */ (Object.entries(answer.content ?? {}));
	const content = contents[0]?.[1];
	return {
		status,
		description: answer.description ?? "",
		type: content?.schema ? describe(document, content.schema) : "",
		fields: content?.schema ? describeFields(document, content.schema) : [],
		headers: Object.entries(answer.headers ?? {}).map(([name, header]) => ({ name, description: resolve(document, header)?.description ?? "" })),
		examples: contents.flatMap(([type, each]) => Object.values(each.examples ?? {}).map((/** @type {any} */ example) => /** @type {[string, any]} */ ([each === content ? (example.summary ?? "") : type, example.value]))),
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
	if (last && isBefore(last, document.info?.version)) return `${first} to ${last}`;
	return first === "1.0" ? "" : `from ${first}`;
}

/** @param {string} version @param {string} other */
function isBefore(version, other) {
	return Number(version.split(".")[1]) < Number(String(other).split(".")[1]);
}

/**
 * The requests that the examples of parameters, bodies and answers are parts of.
 * @param {string} path
 * @param {any[]} parameters
 * @param {any} body
 * @param {Record<string, any>} responses
 * @returns {Example[]}
 */
function listExamples(path, parameters, body, responses) {
	const answers = Object.values(responses).map((answer) => Object.values(answer.content ?? {})[0]);
	/** @type {Map<string, string>} */
	const summaries = new Map();
	for (const part of [...answers, body, ...parameters]) {
		for (const [key, example] of Object.entries(part?.examples ?? {})) summaries.set(key, example.summary ?? "");
	}
	return [...summaries].map(([key, summary]) => {
		const valueOf = (/** @type {any} */ part) => part?.examples?.[key]?.value;
		const filled = path.replace(/\{(\w+)\}/g, (_, name) => valueOf(parameters.find((each) => each.name === name)) ?? `{${name}}`);
		/** @type {[string, string][]} */
		const query = parameters.filter((each) => each.in === "query").flatMap((each) => (each.explode ? Object.entries(valueOf(each) ?? {}) : [[each.name, valueOf(each)]]))
			.flatMap(([name, value]) => (value === undefined ? [] : [value].flat().map((each) => /** @type {[string, string]} */ ([name, String(each)]))));
		return { key, summary, path: filled, query, body: valueOf(body) };
	});
}
