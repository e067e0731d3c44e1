// The API's documentation, from /openapi.json.

import { SERVICE_URL, url } from "../../api.js";
import { Command, Empty, Failed, Loading, useReading } from "../../parts/conditions.js";
import { Page } from "../../parts/page.js";
import { change, link } from "../../state.js";
import { html, useMemo } from "../../vendor/preact.js";
import { listOperations } from "./openapi.js";
import { readDocument } from "./polling.js";

/** @typedef {import("./openapi.js").Operation} Operation */

/** @param {{parameters: URLSearchParams, views: any}} props */
export function ApiView({ parameters, views }) {
	const { value, error, reload } = useReading(readDocument, []);
	const operations = useMemo(() => (value ? listOperations(value) : []), [value]);
	const words = (parameters.get("filter") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
	const shown = operations.filter((operation) => words.every((word) => textOf(operation).includes(word)));
	const selected = operations.find((operation) => operation.key === parameters.get("operation"));
	const filters = html`${views}
		<label class="choice">filter
			<input type="search" value=${parameters.get("filter") ?? ""} placeholder="path, word or parameter" autocomplete="off" spellcheck=${false}
				onInput=${(/** @type {any} */ event) => change({ filter: event.target.value }, { replace: true })} />
		</label>
		<span class="quiet small" role="status">${value && `${shown.length} of ${operations.length} operations`}</span>
		<a class="raw small" href=${url("/openapi.json")}>openapi.json</a>`;
	const close = () => change({ operation: null });
	return html`<${Page} title="API" filters=${filters} details=${selected && html`<${Details} operation=${selected} />`} onClose=${close}>
		${!value && !error && html`<${Loading} />`}
		${!value && error && html`<${Failed} error=${error} retry=${reload} />`}
		${value && !shown.length && html`<${Empty} title="No operation matches">Words are searched in paths, summaries, names of parameters and policy rules.</${Empty}>`}
		${groupsOf(shown).map(([group, members]) => html`<section key=${group} aria-label=${group}>
			<h2>${group}</h2>
			<ul class="operations">${members.map((operation) => html`<li key=${operation.key}>
				<a href=${link("service", withOperation(parameters, operation.key))} aria-current=${operation === selected ? "true" : undefined}>
					<span class="method">${operation.method}</span> <span class="mono">${operation.path}</span></a>
				<span class="quiet"> ${operation.summary}</span>
				${operation.extension && html` <span class="chip" title=${`beyond the Placement API: the extension ${operation.extension}`}>extension</span>`}
			</li>`)}</ul>
		</section>`)}
	</${Page}>`;
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

/** @param {{operation: Operation}} props */
function Details({ operation }) {
	const isRead = operation.method === "GET";
	return html`<div class="operation">
		<h2><span class="method">${operation.method}</span> <span class="mono">${operation.path}</span></h2>
		<p>${operation.summary}</p>
		${operation.description && html`<p><${Prose} text=${operation.description} /></p>`}
		<p class="quiet small">
			${operation.versions && html`${operation.versions} · `}
			${operation.rule && html`policy rule <code>${operation.rule}</code>`}
			${operation.isOpen && "needs no token"}
			${operation.extension && html` · extension <code>${operation.extension}</code>`}
		</p>
		${isRead && html`<${Command} text=${asCurl(operation)} />`}
		${operation.parameters.length > 0 && html`<h3>Parameters</h3><table>
			<thead><tr><th>name</th><th>type</th><th>versions</th></tr></thead>
			<tbody>${operation.parameters.map((each) => html`<tr key=${each.in + each.name} title=${each.description}>
				<th scope="row"><code>${each.name}</code>${each.isRequired && html`<span class="required" title="required"> *</span>`}
					${each.in !== "query" && html` <span class="quiet small">${each.in}</span>`}</th>
				<td class="small">${each.type}</td><td class="small quiet versions">${each.versions}</td>
			</tr>`)}</tbody>
		</table>`}
		${operation.body.length > 0 && html`<h3>Body, as of the newest version</h3><table><tbody>${operation.body.map((line, number) => html`<tr key=${number}>
			<th scope="row" style=${{ paddingLeft: `${16 * line.depth}px` }}><code>${line.name}</code>${line.isRequired && html`<span class="required" title="required"> *</span>`}</th>
			<td class="small">${line.type}</td>
		</tr>`)}</tbody></table>`}
		<h3>Answers</h3>
		<table><tbody>${operation.answers.map(([status, meaning]) => html`<tr key=${status}><th scope="row"><code>${status}</code></th><td class="small">${meaning}</td></tr>`)}</tbody></table>
	</div>`;
}

/** What stands between backticks is code. @param {{text: string}} props */
function Prose({ text }) {
	return text.split("`").map((part, number) => (number % 2 ? html`<code key=${number}>${part}</code>` : part));
}

/** @param {Operation} operation */
function asCurl({ path, isOpen }) {
	const headers = isOpen ? "" : `-H "x-auth-token: $TOKEN" -H "openstack-api-version: placement 1.39" `;
	return `curl ${headers}'${SERVICE_URL}${path}'`;
}
