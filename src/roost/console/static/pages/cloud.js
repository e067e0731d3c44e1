// The page Cloud: one cell for every tree, coloured by how full it is.

import { ApiError, get } from "../api.js";
import { cloud } from "../model/cloud.js";
import { groupRows, parseFilter, SCARCEST, select, sortRows, totals } from "../model/selection.js";
import { Empty, Failed, Loading } from "../parts/conditions.js";
import { Choice, Page, TextChoice } from "../parts/page.js";
import { formatNumber } from "../parts/values.js";
import { catalog, loadCatalog } from "../model/catalog.js";
import { change, link, useStore } from "../state.js";
import { html, useEffect, useMemo, useState } from "../vendor/preact.js";
import { CloudMap } from "./cloud/map.js";
import { Legend, Totals } from "./cloud/totals.js";
import { TreeDetails } from "./cloud/details.js";

const ORDERS = /** @type {[string, string][]} */ ([["fullest", "fullest"], ["emptiest", "emptiest"], ["free", "most free"], ["name", "name"]]);
const FITTING_MAX = 10_000;

/**
 * The roots of the trees that could serve a request.
 * @param {string} query
 * @param {AbortSignal} signal
 * @returns {Promise<{roots: Set<string>, isComplete: boolean}>}
 */
async function readFitting(query, signal) {
	const parameters = new URLSearchParams(query);
	for (const name of ["limit", "order", "after"]) parameters.delete(name);
	const counted = await get("/capacity", parameters, { signal });
	const roots = new Set(/** @type {string[]} */ (counted.trees.map((/** @type {{uuid: string}} */ tree) => tree.uuid)));
	if (counted.complete) return { roots, isComplete: true };
	// Trees take turns in an answer, so its beginning has a candidate of each.
	parameters.set("limit", String(FITTING_MAX));
	const answer = await get("/allocation_candidates", parameters, { signal });
	for (const summary of Object.values(/** @type {Record<string, {root_provider_uuid: string}>} */ (answer.provider_summaries))) {
		roots.add(summary.root_provider_uuid);
	}
	return { roots, isComplete: answer.allocation_requests.length < FITTING_MAX };
}

/**
 * The answer of the service to `fits:` of the filter; null if it does not ask.
 * @param {string} query
 */
function useFitting(query) {
	const [state, setState] = useState(/** @type {{query: string, roots: Set<string> | null, isComplete: boolean, error: unknown}} */ ({ query: "", roots: null, isComplete: true, error: null }));
	useEffect(() => {
		if (!query) return setState({ query, roots: null, isComplete: true, error: null });
		const controller = new AbortController();
		readFitting(query, controller.signal).then(
			(found) => setState({ query, ...found, error: null }),
			(error) => controller.signal.aborted || setState({ query, roots: new Set(), isComplete: true, error }),
		);
		return () => controller.abort();
	}, [query]);
	return state;
}

/** @param {{parameters: URLSearchParams}} props */
export function CloudPage({ parameters }) {
	const version = useStore(cloud);
	const { traits } = useStore(catalog);
	useEffect(() => {
		cloud.load();
		loadCatalog();
	}, []);
	const classes = cloud.classNames();
	const resourceClass = parameters.get("class") ?? (classes.includes("VCPU") ? "VCPU" : SCARCEST);
	const shownClass = resourceClass === "scarcest" ? SCARCEST : resourceClass;
	const grouping = parameters.get("group") ?? (catalog.value.aggregates.length > 1 ? "aggregate" : "none");
	const by = grouping === "none" ? "" : grouping;
	const order = parameters.get("sort") ?? "fullest";
	const text = parameters.get("filter") ?? "";
	const filter = useMemo(() => parseFilter(text), [text]);
	const fitting = useFitting(filter.fits);
	const isAsking = fitting.query !== filter.fits;
	const rows = useMemo(
		() => sortRows(cloud, select(cloud, filter, fitting.roots), order, shownClass),
		[version, filter, fitting.roots, order, shownClass],
	);
	const groups = useMemo(() => groupRows(cloud, rows, by), [rows, by]);
	const selected = parameters.get("uuid") ?? "";

	const filters = html`
		<${Choice} label="class" value=${resourceClass} options=${[["scarcest", "whatever is scarcest"], ...classes.map((name) => [name, name])]}
			onChange=${(/** @type {string} */ value) => change({ class: value })} />
		<${Choice} label="group by" value=${["none", "aggregate"].includes(grouping) ? grouping : "trait"} options=${[["none", "nothing"], ["aggregate", "aggregate"], ["trait", "a trait"]]}
			onChange=${(/** @type {string} */ value) => change({ group: value === "trait" ? "COMPUTE_NODE" : value })} />
		${by && by !== "aggregate" && html`<${TextChoice} label="trait" value=${by} list=${traits} onChange=${(/** @type {string} */ value) => change({ group: value })} />`}
		<${Choice} label="sort" value=${order} options=${ORDERS} onChange=${(/** @type {string} */ value) => change({ sort: value })} />
		<${TextChoice} label="filter" id="filter" value=${text} width="26em" placeholder='name, trait, aggregate, "fits: resources=VCPU:4"'
			onChange=${(/** @type {string} */ value) => change({ filter: value })} />
		<span class="quiet" role="status">${isAsking ? "asking…" : count(rows.length, fitting, filter.fits)}</span>
		${filter.fits && html`<a href=${link("ask", new URLSearchParams(filter.fits))}>why?</a>`}`;

	const body = () => {
		if (cloud.state === "failed") return html`<${Failed} error=${cloud.error} retry=${() => cloud.reload()} />`;
		if (!cloud.trees.length && cloud.state !== "ready") return html`<${Loading} text="reading the cloud" lines=${12} />`;
		if (cloud.state === "ready" && !cloud.size) {
			return html`<${Empty} title="No providers yet" command="roost demo">
				This page shows a cell for every host, coloured by how full it is. Hosts are reported by <code>roost agent</code>, by nova-compute, or
				by any client of Placement. To look around first, load a small data centre; <code>roost demo --remove</code> takes it away again:
			</${Empty}>`;
		}
		if (fitting.error && !isAsking) {
			const said = fitting.error instanceof ApiError ? fitting.error : null;
			return html`<${Failed} error=${said ?? fitting.error} />`;
		}
		return html`
			<${Totals} totals=${totals(cloud, rows)} chosen=${shownClass} />
			<div class="map-head">
				<${Legend} />
				${cloud.state === "loading" && html`<span class="quiet" role="status">reading: ${formatNumber(cloud.providerCount)} providers</span>`}
			</div>
			${rows.length
				? html`<${CloudMap} groups=${groups} resourceClass=${shownClass} selected=${selected} size=${parameters.get("size") ?? ""} />`
				: !isAsking && html`<${Empty} title=${filter.fits ? "No tree fits" : "No tree passes the filter"}>
					${filter.fits ? html`<a href=${link("ask", new URLSearchParams(filter.fits))}>Ask why</a>.` : "Names, traits (in capital letters) and UUIDs of aggregates can be combined; all of them must match."}
				</${Empty}>`}`;
	};

	const details = selected && html`<${TreeDetails} uuid=${selected} resourceClass=${shownClass} />`;
	return html`<${Page} title="Cloud" filters=${filters} details=${details} onClose=${() => change({ uuid: null })}>${body()}</${Page}>`;
}

/**
 * @param {number} shown
 * @param {{isComplete: boolean}} fitting
 * @param {string} query
 */
function count(shown, fitting, query) {
	if (!query) return `${formatNumber(shown)} of ${formatNumber(cloud.size)} trees`;
	return `${formatNumber(shown)} ${fitting.isComplete ? "" : "or more "}of ${formatNumber(cloud.size)} trees fit`;
}

