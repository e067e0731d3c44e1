// One operation of the API: what to send, and what comes back.

import { SERVICE_URL } from "../api.js";
import { Command } from "../parts/conditions.js";
import { html } from "../vendor/preact.js";

/** @typedef {import("./openapi.js").Operation} Operation */

/** @param {{operation: Operation, version: string}} props */
export function OperationDetails({ operation, version }) {
	const { examples } = operation;
	return html`<div class="operation">
		<h2><span class="method">${operation.method}</span> <${Path} path=${operation.path} /></h2>
		<p>${operation.summary}</p>
		${operation.description && html`<p><${Prose} text=${operation.description} /></p>`}
		<p class="quiet small">
			${operation.versions && html`${operation.versions} · `}
			${operation.rule && html`policy rule <code>${operation.rule}</code>`}
			${operation.isOpen && "needs no token"}
			${operation.extension && html` · extension <code>${operation.extension}</code>`}
		</p>
		${examples.map((example) => html`<div key=${example.key} class="request">
			<p class="small quiet">${example.summary}</p><${Command} text=${asCurl(operation, version, example)} />
		</div>`)}
		${!examples.length && html`<${Command} text=${asCurl(operation, version, { path: operation.path, query: [], body: undefined })} />`}
		${operation.parameters.length > 0 && html`<h3>Parameters</h3><${Table} rows=${operation.parameters.map((each) => ({ ...each, depth: 0, note: each.in === "query" ? each.versions : each.in }))} />`}
		${operation.body.length > 0 && html`<h3>Body</h3><${Table} rows=${operation.body} />`}
		<h3>Answers</h3>
		${operation.answers.map((answer) => html`<${AnswerDetails} key=${answer.status} answer=${answer} />`)}
	</div>`;
}

/** @param {{answer: import("./openapi.js").Answer}} props */
function AnswerDetails({ answer }) {
	const isSuccess = answer.status.startsWith("2");
	return html`<details class="answer" open=${isSuccess}>
		<summary><code>${answer.status}</code> <${Prose} text=${answer.description} /></summary>
		${answer.type && !answer.fields.length && html`<p class="small">${answer.type}</p>`}
		${answer.fields.length > 0 && html`<${Table} rows=${answer.fields} />`}
		${answer.headers.length > 0 && html`<details><summary class="small quiet">headers</summary><${Table} rows=${answer.headers.map((each) => ({ ...each, depth: 0, type: "", isRequired: false }))} /></details>`}
		${answer.examples.map(([summary, value]) => html`<p class="small quiet">${summary}</p><pre tabindex="0">${asText(value)}</pre>`)}
	</details>`;
}

/** @param {{rows: {name: string, depth: number, type: string, isRequired: boolean, description: string, note?: string}[]}} props */
function Table({ rows }) {
	return html`<table class="fields"><tbody>${rows.map((row, number) => html`<tr key=${number}>
		<th scope="row" style=${{ paddingLeft: `${16 * row.depth}px` }}><code>${row.name}</code>${row.isRequired && html`<span class="required" title="required"> *</span>`}
			${row.note && html` <span class="quiet small">${row.note}</span>`}</th>
		<td class="small">${row.type && html`<span class="type">${row.type}</span> `}<span class="quiet"><${Prose} text=${row.description} /></span></td>
	</tr>`)}</tbody></table>`;
}

/** Where it does not fit into a line, it is broken after a slash. @param {{path: string}} props */
export function Path({ path }) {
	const parts = path.split("/");
	return html`<span class="mono">${parts.map((part, number) => (number ? html`/<wbr />${part}` : part))}</span>`;
}

/** What stands between backticks is code. @param {{text: string}} props */
export function Prose({ text }) {
	return text.split("`").map((part, number) => (number % 2 ? html`<code key=${number}>${part}</code>` : part));
}

/** @param {unknown} value */
function asText(value) {
	return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/**
 * @param {Operation} operation
 * @param {string} version
 * @param {{path: string, query: [string, string][], body: any}} request
 */
function asCurl({ method, isOpen }, version, { path, query, body }) {
	const text = query.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value).replaceAll("%3A", ":").replaceAll("%2C", ",")}`).join("&");
	const parts = ["curl"];
	if (method !== "GET") parts.push(`-X ${method}`);
	if (!isOpen) parts.push(`-H "x-auth-token: $TOKEN"`, `-H "openstack-api-version: placement ${version}"`);
	if (body !== undefined) parts.push(`-H "content-type: application/json"`);
	parts.push(`'${SERVICE_URL}${path}${text && `?${text}`}'`);
	// In a text between quotes, bash has no other way to write one.
	if (body !== undefined) parts.push(`-d '${JSON.stringify(body, null, 1).replace(/\n\s*/g, " ").replaceAll("'", "'\\''")}'`);
	return parts.join(" ");
}
