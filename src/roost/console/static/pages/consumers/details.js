// The details of one consumer: who it is, and all that it holds, drawn on its trees.

import { SERVICE_URL, get } from "../../api.js";
import { holds, marksOf } from "../../model/consumers.js";
import { withAncestors } from "../../model/tree.js";
import { Command, Failed, Loading, useReading } from "../../parts/conditions.js";
import { ProviderTree } from "../../parts/provider_tree.js";
import { Chip, Uuid, Word, formatAge, formatNumber } from "../../parts/values.js";
import { link } from "../../state.js";
import { html } from "../../vendor/preact.js";
import { amountsText } from "../tree/consumers.js";
import { PARTS, useReloading } from "../tree/reading.js";

/** @typedef {import("../../model/consumers.js").Consumer} Consumer */
/** @typedef {import("../../model/tree.js").Provider} Provider */

const TREES_MAX = 12;
/** Of so many consumers of a provider the one is looked for, to learn its times. */
const NEIGHBOURS_MAX = 1000;

/**
 * What it holds now. Only the list tells its times.
 * @param {string} uuid
 * @param {Consumer | undefined} listed
 * @param {AbortSignal} signal
 * @returns {Promise<Consumer>}
 */
async function readConsumer(uuid, listed, signal) {
	const answer = await get(`/allocations/${encodeURIComponent(uuid)}`, {}, { signal });
	const [provider] = Object.keys(answer.allocations);
	const consumer = { ...answer, uuid, created_at: listed?.created_at, updated_at: listed?.updated_at };
	if (consumer.created_at || !provider) return consumer;
	const filters = { resource_provider: provider, project_id: answer.project_id, user_id: answer.user_id, limit: NEIGHBOURS_MAX };
	const neighbours = await get("/allocations", filters, { signal }).catch(() => ({ consumers: [] }));
	return { ...consumer, ...neighbours.consumers.find((/** @type {Consumer} */ each) => each.uuid === uuid) };
}

/**
 * The trees in which it holds something, one after the other.
 * @param {Consumer} consumer
 * @param {AbortSignal} signal
 */
async function readTrees(consumer, signal) {
	/** @type {Provider[][]} */
	const trees = [];
	let rest = Object.keys(consumer.allocations);
	while (rest.length && trees.length < TREES_MAX) {
		/** @type {{resource_providers: Provider[]}} */
		const answer = await get("/resource_providers", { tree: rest[0], include: PARTS }, { signal });
		trees.push(answer.resource_providers);
		const known = new Set([rest[0], ...answer.resource_providers.map((each) => each.uuid)]);
		rest = rest.filter((each) => !known.has(each));
	}
	return { trees, left: rest.length };
}

/** @param {{uuid: string, listed: Consumer | undefined, isOrphan: boolean}} props */
export function ConsumerDetails({ uuid, listed, isOrphan }) {
	const reading = useReading((signal) => readConsumer(uuid, listed, signal), [uuid]);
	const consumer = reading.value;
	const drawn = useReading(async (signal) => (consumer ? readTrees(consumer, signal) : null), [consumer]);
	const held = new Set(Object.keys(consumer?.allocations ?? {}));
	const roots = new Set((drawn.value?.trees ?? []).map((each) => each[0]?.root_provider_uuid));
	// A consumer that holds nothing may come back anywhere.
	useReloading((event) => event.kind !== "catalog" && (!held.size || held.has(event.resource_provider ?? "") || roots.has(event.tree ?? "")), reading.reload);

	const title = html`<h2>Consumer</h2><p><code class="whole-uuid">${uuid}</code> ${isOrphan && html`<${Chip} text="orphan" kind="orphan" />`}</p>`;
	if (reading.error) return [title, html`<${Failed} error=${reading.error} retry=${reading.reload} />`];
	if (!consumer) return [title, html`<${Loading} lines=${6} text="reading what it holds" />`];
	if (!held.size) {
		return [title, html`<p>It holds nothing now${isOrphan ? ": what the audit saw has been given back" : ""}.</p>`, html`<${CopyAs} uuid=${uuid} />`];
	}
	return html`<div class="consumer-details">
		${title}
		<dl class="facts">
			<dt>type</dt><dd>${consumer.consumer_type ?? "unknown"}</dd>
			<dt>project</dt><dd><a class="name" href=${link("consumers", { project: consumer.project_id, consumer: uuid })}>${consumer.project_id}</a></dd>
			<dt>user</dt><dd><a class="name" href=${link("consumers", { user: consumer.user_id, consumer: uuid })}>${consumer.user_id}</a></dd>
			<dt><${Word}>generation</${Word}></dt><dd class="mono">${consumer.consumer_generation}</dd>
			<dt>created</dt><dd><${Time} text=${consumer.created_at} otherwise="unknown" /></dd>
			<dt>changed</dt><dd><${Time} text=${consumer.updated_at} otherwise="not since" /></dd>
			<dt>holds</dt><dd>${amountsText(holds(consumer))}</dd>
		</dl>
		<h3>Where</h3>
		${drawn.error ? html`<${Failed} error=${drawn.error} retry=${drawn.reload} />`
			: !drawn.value ? html`<${Loading} lines=${4} text="reading its trees" />`
			: drawn.value.trees.map((providers) => html`<${HeldTree} key=${providers[0]?.root_provider_uuid} providers=${providers} consumer=${consumer} />`)}
		${drawn.value && drawn.value.left > 0 && html`<p class="quiet">and something of ${formatNumber(drawn.value.left)} more providers</p>`}
		<${CopyAs} uuid=${uuid} />
	</div>`;
}

/** @param {{text: string | null | undefined, otherwise: string}} props */
function Time({ text, otherwise }) {
	if (!text) return html`<span class="quiet">${otherwise}</span>`;
	return html`<span class="mono">${text}</span> <span class="quiet">${formatAge(Date.now() - Date.parse(text))} ago</span>`;
}

/** A tree with only the providers of which it holds something. @param {{providers: Provider[], consumer: Consumer}} props */
function HeldTree({ providers, consumer }) {
	const marks = marksOf(consumer);
	const held = providers.filter((each) => marks[each.uuid]);
	const shown = withAncestors(providers, held.map((each) => each.uuid));
	const root = providers.find((each) => each.uuid === each.root_provider_uuid) ?? providers[0];
	const hidden = providers.length - shown.length;
	return html`<div class="held-tree">
		<p><a class="name" href=${link("tree", { uuid: root.uuid, consumer: consumer.uuid })}>${root.name}</a> <${Uuid} value=${root.uuid} />
			${hidden > 0 && html`<span class="quiet small"> without ${formatNumber(hidden)} of which it holds nothing</span>`}</p>
		<${ProviderTree} providers=${shown} marks=${marks} label=${`what it holds in ${root.name}`} />
	</div>`;
}

/** @param {{uuid: string}} props */
function CopyAs({ uuid }) {
	return html`<h3>Copy as</h3>
		<${Command} text=${`roost allocation show ${uuid}`} />
		<${Command} text=${`curl -H "x-auth-token: $ROOST_TOKEN" -H "openstack-api-version: placement 1.39" ${SERVICE_URL}/allocations/${uuid}`} />`;
}
