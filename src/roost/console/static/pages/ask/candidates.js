// The candidates: a line for each, and one of them drawn on its trees.

import { get } from "../../api.js";
import { names } from "../../model/provider_names.js";
import { Failed, Loading, useReading } from "../../parts/conditions.js";
import { ProviderTree } from "../../parts/provider_tree.js";
import { formatAmount, formatNumber, ProviderLink, Word } from "../../parts/values.js";
import { useStore } from "../../state.js";
import { html } from "../../vendor/preact.js";
import { askLink } from "./address.js";
import { rootOf } from "./lost_trees.js";
import { shortName } from "./texts.js";

/**
 * @typedef {import("../../model/request.js").Request} Request
 * @typedef {import("./answers.js").Candidate} Candidate
 * @typedef {import("./answers.js").Candidates} Candidates
 * @typedef {import("./answers.js").Summary} Summary
 */

const INCLUDE = "inventories,usages,traits,aggregates";

/** A short name of a candidate that stays the same when others come and go. @param {Candidate} candidate */
export function candidateKey(candidate) {
	let hash = 0;
	for (const character of JSON.stringify([candidate.allocations, candidate.mappings])) hash = (Math.imul(hash, 31) + character.charCodeAt(0)) >>> 0;
	return hash.toString(36);
}

/** @param {{request: Request, found: Candidates, selected: string, onMore: () => void, isLoading: boolean}} props */
export function CandidateList({ request, found, selected, onMore, isLoading }) {
	useStore(names);
	const { candidates, summaries, hasMore } = found;
	const limit = Number(request.limit) || 0;
	return html`<div class="candidates">
		<ol aria-label="candidates">
			${candidates.map((candidate) => {
				const key = candidateKey(candidate);
				return html`<${CandidateLine} key=${key} candidate=${candidate} summaries=${summaries}
					href=${askLink(request, { kind: "candidate", value: key })} isSelected=${key === selected} />`;
			})}
		</ol>
		${hasMore && html`<button type="button" disabled=${isLoading} onClick=${onMore}>more candidates</button>`}
		${!hasMore && limit > 0 && candidates.length === limit && html`<p class="quiet small">The limit of the request is ${formatNumber(limit)}; there may be more.</p>`}
		${!found.isComplete && html`<p class="quiet small">Not everything was tried: there may be more.</p>`}
	</div>`;
}

/** @param {{candidate: Candidate, summaries: Record<string, Summary>, href: string, isSelected: boolean}} props */
function CandidateLine({ candidate, summaries, href, isSelected }) {
	const root = rootOf(candidate, summaries);
	const parts = Object.entries(candidate.allocations);
	return html`<li><a class="candidate" href=${href} aria-current=${isSelected ? "true" : undefined}>
		<span class="candidate-root name">${names.nameOf(root) || root.slice(0, 8)}</span>
		<span class="candidate-parts">${parts.map(([uuid, { resources }]) => {
			const isShared = summaries[uuid] && summaries[uuid].root_provider_uuid !== root;
			const groups = Object.entries(candidate.mappings).filter(([suffix, uuids]) => suffix && uuids.includes(uuid)).map(([suffix]) => suffix);
			return html`<span class="candidate-part" key=${uuid}>
				${uuid !== root && html`<span class="name" title=${names.nameOf(uuid) || uuid}>${shortName(names.nameOf(uuid), names.nameOf(root)) || uuid.slice(0, 8)}</span> `}
				${isShared && html`<span class="quiet" title="a provider that shares with the tree">(shared) </span>`}
				<span class="mono">${Object.entries(resources).map(([name, amount]) => `${name} ${formatAmount(name, amount)}`).join(", ")}</span>
				${groups.length > 0 && html` <span class="quiet mono">${groups.join(" ")}</span>`}
			</span>`;
		})}</span>
	</a></li>`;
}

/** @param {{candidate: Candidate, summaries: Record<string, Summary>, round: unknown}} props */
export function CandidateView({ candidate, summaries, round }) {
	useStore(names);
	const root = rootOf(candidate, summaries);
	const roots = [...new Set([root, ...Object.keys(candidate.allocations).map((uuid) => summaries[uuid]?.root_provider_uuid ?? uuid)])];
	const takes = Object.fromEntries(Object.entries(candidate.allocations).map(([uuid, { resources }]) => [uuid, resources]));
	const classes = [...new Set(Object.values(takes).flatMap(Object.keys))];
	const { value, error, isLoading, reload } = useReading(
		(signal) => Promise.all(roots.map((tree) => get("/resource_providers", { tree, include: INCLUDE }, { signal }))), [roots.join(), round]);
	return html`<div class="candidate-view">
		<h2 class="name"><${ProviderLink} uuid=${root} name=${names.nameOf(root)} /></h2>
		<table>
			<thead><tr><th scope="col"><${Word}>group</${Word}></th><th scope="col"><${Word}>provider</${Word}></th></tr></thead>
			<tbody>${Object.entries(candidate.mappings).map(([suffix, uuids]) => html`<tr key=${suffix}>
				<td class=${suffix ? "mono" : "quiet"}>${suffix || "unsuffixed"}</td>
				<td>${uuids.map((uuid, position) => html`${position > 0 ? ", " : ""}<${ProviderLink} uuid=${uuid} name=${names.nameOf(uuid)} />`)}</td>
			</tr>`)}</tbody>
		</table>
		<h3>What it would take</h3>
		${error ? html`<${Failed} error=${error} retry=${reload} />` : ""}
		${isLoading && !value && html`<${Loading} lines=${4} text="reading its trees" />`}
		${value?.map(({ resource_providers: providers }, position) => html`<div key=${roots[position]}>
			${position > 0 && html`<h3><${Word} of="sharing provider">Shared with it</${Word}></h3>`}
			<${ProviderTree} providers=${providers} takes=${takes} classes=${classes} label=${position ? "a provider that shares" : "the tree of the candidate"} />
		</div>`)}
	</div>`;
}
