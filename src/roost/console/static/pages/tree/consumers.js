// The consumers of a tree: a list to pick from, and what the picked one holds.

import { get } from "../../api.js";
import { holds } from "../../model/consumers.js";
import { Failed, Loading, useReading } from "../../parts/conditions.js";
import { Uuid, formatAge, formatAmount, formatNumber } from "../../parts/values.js";
import { change, link } from "../../state.js";
import { html, useRef } from "../../vendor/preact.js";
import { readNames } from "./reading.js";

/** @typedef {import("../../model/tree.js").Provider} Provider */
/** @typedef {import("../../model/consumers.js").Consumer} Consumer */
/** @typedef {{uuid: string, consumer: Consumer | null, isLoading: boolean, error: unknown}} Picked */

export const CONSUMERS_STEP = 500;

/**
 * The consumer that the address names: from the list if it is there, from the service otherwise.
 * @param {string} uuid
 * @param {Consumer[] | undefined} listed
 * @param {Provider[]} providers read again when they are
 * @returns {Picked}
 */
export function usePicked(uuid, listed, providers) {
	const found = listed?.find((each) => each.uuid === uuid);
	const isKnown = !uuid || !listed || Boolean(found);
	const single = useReading(async (signal) => {
		if (isKnown) return null;
		return /** @type {Consumer} */ ({ uuid, ...(await get(`/allocations/${encodeURIComponent(uuid)}`, {}, { signal })) });
	}, [uuid, isKnown, providers]);
	const alone = single.value?.uuid === uuid ? single.value : null;
	return { uuid, consumer: uuid ? (found ?? alone) : null, isLoading: single.isLoading, error: isKnown ? null : single.error };
}

/** A short text of amounts: "VCPU 2, MEMORY_MB 4 GB". @param {Record<string, number>} amounts */
export function amountsText(amounts) {
	return Object.entries(amounts).map(([name, amount]) => `${name} ${formatAmount(name, amount)}`).join(", ") || "nothing";
}

/**
 * @param {{listed: {value: {consumers: Consumer[], hasMore: boolean} | null, error: unknown, reload: () => void}, picked: Picked,
 *   selected: Provider | undefined, resourceClass: string, providers: Provider[], lenders: Provider[], count: number}} props
 */
export function TreeConsumers({ listed, picked, selected, resourceClass, providers, lenders, count }) {
	const consumers = listed.value?.consumers;
	const what = [selected ? `of ${selected.name}` : "", resourceClass ? `with ${resourceClass}` : ""].filter(Boolean).join(" ");
	return html`<section class="tree-consumers" aria-label="consumers">
		<h3>Consumers ${what && html`<span class="name">${what}</span>`} ${consumers && html`<span class="quiet">${formatNumber(consumers.length)}${listed.value?.hasMore ? " and more" : ""}</span>`}</h3>
		${picked.uuid && html`<${PickedConsumer} picked=${picked} providers=${providers} lenders=${lenders} />`}
		${listed.error ? html`<${Failed} error=${listed.error} retry=${listed.reload} />`
			: !consumers ? html`<${Loading} lines=${4} text="reading consumers" />`
			: !consumers.length ? html`<p class="quiet">Nobody holds anything here.</p>`
			: html`<${ConsumerList} consumers=${consumers} picked=${picked.uuid} selected=${selected} providers=${providers} />`}
		${listed.value?.hasMore && html`<button type="button" onClick=${() => change({ shown: String(count + CONSUMERS_STEP) }, { replace: true })}>read ${CONSUMERS_STEP} more</button>`}
	</section>`;
}

/** @param {{consumers: Consumer[], picked: string, selected: Provider | undefined, providers: Provider[]}} props */
function ConsumerList({ consumers, picked, selected, providers }) {
	const list = useRef(/** @type {HTMLElement | null} */ (null));
	const known = new Set(providers.map((each) => each.uuid));
	const pick = (/** @type {string} */ uuid) => change({ consumer: uuid === picked ? null : uuid });
	const tabStop = consumers.some((each) => each.uuid === picked) ? picked : consumers[0].uuid;
	const press = (/** @type {KeyboardEvent} */ event) => {
		const options = /** @type {HTMLElement[]} */ ([...(list.current?.querySelectorAll("[role=option]") ?? [])]);
		const index = options.indexOf(/** @type {HTMLElement} */ (event.target));
		const moves = /** @type {Record<string, number>} */ ({ ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: options.length - 1 });
		if (event.key in moves) options[moves[event.key]]?.focus();
		else if (event.key === "Enter" || event.key === " ") pick(options[index]?.dataset.uuid ?? "");
		else return;
		event.preventDefault();
	};
	return html`<div class="consumer-list" role="listbox" aria-label="pick a consumer" ref=${list} onKeyDown=${press}>
		${consumers.map((consumer) => {
			const here = Object.entries(consumer.allocations).filter(([uuid]) => (selected ? uuid === selected.uuid : known.has(uuid)));
			const text = amountsText(holds({ ...consumer, allocations: Object.fromEntries(here) }));
			return html`<div class="consumer-option" role="option" key=${consumer.uuid} data-uuid=${consumer.uuid} title=${consumer.uuid}
				aria-selected=${consumer.uuid === picked} tabindex=${consumer.uuid === tabStop ? 0 : -1} onClick=${() => pick(consumer.uuid)}>
				<span class="mono">${consumer.uuid.slice(0, 8)}</span>
				<span class="small">${consumer.consumer_type ?? "unknown"}</span>
				<span class="small quiet name" title=${`project ${consumer.project_id}`}>${consumer.project_id}</span>
				<span class="small consumer-holds">${text}</span>
			</div>`;
		})}
	</div>`;
}

/** @param {{picked: Picked, providers: Provider[], lenders: Provider[]}} props */
function PickedConsumer({ picked, providers, lenders }) {
	const { consumer, uuid } = picked;
	const known = new Set(providers.map((each) => each.uuid));
	const elsewhere = Object.keys(consumer?.allocations ?? {}).filter((each) => !known.has(each));
	const unnamed = elsewhere.filter((each) => !lenders.some((lender) => lender.uuid === each));
	const names = useReading((signal) => readNames(unnamed, signal), [unnamed.join()]);
	const nameOf = (/** @type {string} */ each) => [...lenders, ...(names.value ?? [])].find((provider) => provider.uuid === each)?.name;
	const isHolding = consumer && Object.keys(consumer.allocations).length > 0;
	return html`<div class="picked" role="status">
		<p><span class="swatch strip-mark"></span> <${Uuid} value=${uuid} />
			${isHolding && html` <span>${consumer.consumer_type ?? "unknown"}</span>`}
			<a href=${link("consumers", { consumer: uuid })}>details</a>
			<button type="button" class="icon" aria-label="pick no consumer" title="pick no consumer" onClick=${() => change({ consumer: null })}>✕</button></p>
		${picked.error ? html`<${Failed} error=${picked.error} />`
			: isHolding ? html`<p class="small">holds ${amountsText(holds(consumer))} of ${formatNumber(Object.keys(consumer.allocations).length)} provider${Object.keys(consumer.allocations).length === 1 ? "" : "s"}<br />
				<span class="quiet">project</span> <span class="name">${consumer.project_id}</span> <span class="quiet">user</span> <span class="name">${consumer.user_id}</span>
				${consumer.created_at && html` <span class="quiet" title=${consumer.created_at}>created ${formatAge(Date.now() - Date.parse(consumer.created_at))} ago</span>`}</p>`
			: !picked.isLoading && html`<p class="small">This consumer holds nothing now.</p>`}
		${elsewhere.length > 0 && html`<p class="small">in other trees: ${elsewhere.map((each) => html`<span class="borrower" key=${each}>
			<a class="name" href=${link("tree", { uuid: each, provider: each, consumer: uuid })} title=${each}>${nameOf(each) ?? each.slice(0, 8)}</a>
			<span class="quiet"> ${amountsText(/** @type {Consumer} */ (consumer).allocations[each].resources)}</span></span>`)}</p>`}
	</div>`;
}
