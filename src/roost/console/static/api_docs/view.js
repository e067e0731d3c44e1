// The documentation of the API, from /openapi.json: the list of operations, and the one that is selected.

import { ApiError, getOpenJson, noAnswerOfRoost, url, VERSION } from "../api.js";
import { Empty, Failed, Loading, useReading } from "../parts/conditions.js";
import { Choice, Page } from "../parts/page.js";
import { change, link } from "../state.js";
import { html, useMemo } from "../vendor/preact.js";
import { listGroups, listOperations } from "./openapi.js";
import { OperationDetails, Path, Prose } from "./operation.js";

/** @typedef {import("./openapi.js").Operation} Operation */

const [, NEWEST] = VERSION.split(" ");
const VERSIONS = Array.from({ length: Number(NEWEST.split(".")[1]) + 1 }, (_, minor) => `1.${minor}`).reverse();

/**
 * @param {{page: string, parameters: URLSearchParams, views?: any}} props `page`: where it is shown;
 *   `views`: what else that page shows
 */
export function ApiView({ page, parameters, views }) {
	const version = parameters.get("version") ?? NEWEST;
	const { value, error, reload } = useReading((signal) => readDocument(version, signal), [version]);
	const operations = useMemo(() => (value ? listOperations(value) : []), [value]);
	const words = (parameters.get("filter") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
	const shown = operations.filter((operation) => words.every((word) => textOf(operation).includes(word)));
	const selected = operations.find((operation) => operation.key === parameters.get("operation"));
	const filters = html`${views}
		<label class="choice">filter
			<input id="api-filter" type="search" value=${parameters.get("filter") ?? ""} placeholder="path, word or parameter" autocomplete="off" spellcheck=${false}
				onInput=${(/** @type {any} */ event) => change({ filter: event.target.value }, { replace: true })} />
		</label>
		<${Choice} label="version" value=${version} options=${VERSIONS.map((each) => [each, each])} onChange=${(/** @type {string} */ each) => change({ version: each === NEWEST ? null : each })} />
		<span class="quiet small" role="status">${value && `${shown.length} of ${operations.length} operations`}</span>
		<a class="raw small" href=${url("/openapi.json", ofVersion(version))}>openapi.json</a>`;
	const close = () => change({ operation: null });
	const details = selected && html`<${OperationDetails} key=${selected.key} operation=${selected} version=${version} />`;
	return html`<${Page} title="API" filters=${filters} details=${details} onClose=${close}>
		${!value && !error && html`<${Loading} />`}
		${error && html`<${Failed} error=${error} retry=${reload} />`}
		${value && !error && html`<p class="about quiet"><${Prose} text=${value.info?.description ?? ""} /></p>`}
		${value && !error && !shown.length && html`<${Empty} title="No operation matches">Words are searched in paths, summaries, names of parameters and policy rules.</${Empty}>`}
		${value && !error && groupsOf(shown).map(([group, members]) => html`<section key=${group} aria-label=${group}>
			<h2>${group} <span class="quiet small">${listGroups(value).get(group)}</span></h2>
			<ul class="operations">${members.map((operation) => html`<li key=${operation.key}>
				<a href=${link(page, withOperation(parameters, operation.key))} aria-current=${operation === selected ? "true" : undefined}>
					<span class="method">${operation.method}</span> <${Path} path=${operation.path} /></a>
				<span class="quiet"> ${operation.summary}</span>
				${operation.extension && html` <span class="chip" title=${`beyond the Placement API: the extension ${operation.extension}`}>extension</span>`}
			</li>`)}</ul>
		</section>`)}
	</${Page}>`;
}

/** @param {string} version */
const ofVersion = (version) => (version === NEWEST ? {} : { version });

/** @param {string} version @param {AbortSignal} signal @returns {Promise<any>} */
async function readDocument(version, signal) {
	const answer = await getOpenJson("/openapi.json", ofVersion(version), { signal });
	if (typeof answer.paths === "object") return answer;
	const [error] = answer.errors ?? [];
	throw error ? new ApiError(error.status, error.detail, { code: error.code, requestId: error.request_id }) : noAnswerOfRoost("/openapi.json", 200);
}

/** @param {URLSearchParams} parameters @param {string} key */
function withOperation(parameters, key) {
	const next = new URLSearchParams(parameters);
	next.set("operation", key);
	return next;
}

/** @param {Operation} operation */
function textOf(operation) {
	return [operation.key, operation.summary, operation.group, operation.rule, operation.extension, ...operation.parameters.map((each) => each.name)].join(" ").toLowerCase();
}

/**
 * @param {Operation[]} operations
 * @returns {[string, Operation[]][]}
 */
function groupsOf(operations) {
	/** @type {Map<string, Operation[]>} */
	const groups = new Map();
	for (const operation of operations) groups.set(operation.group, [...(groups.get(operation.group) ?? []), operation]);
	return [...groups];
}
