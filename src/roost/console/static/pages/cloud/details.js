// The drawer of the page Cloud: the tree of the cell that was clicked.

import { get } from "../../api.js";
import { followEvents } from "../../model/live.js";
import { Failed, Loading, useReading } from "../../parts/conditions.js";
import { ProviderTree } from "../../parts/provider_tree.js";
import { Chip, Uuid } from "../../parts/values.js";
import { link } from "../../state.js";
import { html, useEffect } from "../../vendor/preact.js";

const CHIPS_MAX = 12;

/** @param {{uuid: string, resourceClass: string}} props */
export function TreeDetails({ uuid }) {
	const read = (/** @type {AbortSignal} */ signal) =>
		get("/resource_providers", { tree: uuid, include: "inventories,usages,traits,aggregates" }, { signal });
	const { value, error, reload } = useReading(read, [uuid]);
	useEffect(() => {
		let timer = 0;
		const later = () => {
			clearTimeout(timer);
			timer = setTimeout(reload, 300);
		};
		const stop = followEvents({ events: (events) => events.some((event) => event.tree === uuid) && later(), reset: later });
		return () => (clearTimeout(timer), stop());
	}, [uuid]);
	if (error) return html`<${Failed} error=${error} retry=${reload} />`;
	if (!value) return html`<${Loading} text="reading the tree" />`;
	const providers = value.resource_providers;
	const root = providers.find((/** @type {any} */ each) => each.uuid === each.root_provider_uuid) ?? providers[0];
	return html`
		<h2><a class="name" href=${link("tree", { uuid })}>${root.name}</a></h2>
		<p class="small"><${Uuid} value=${root.uuid} /> <span class="quiet">generation ${root.generation}</span> · <a href=${link("tree", { uuid })}>tree</a> · <a href=${link("consumers", { tree: uuid })}>consumers</a> · <a href=${link("events", { tree: uuid })}>events</a></p>
		<p>
			${root.aggregates.map((/** @type {string} */ each) => html`<${Chip} text=${each.slice(0, 8)} title=${`aggregate ${each}`} kind="aggregate" href=${link("cloud", { filter: each })} />`)}
			${root.traits.slice(0, CHIPS_MAX).map((/** @type {string} */ each) => html`<${Chip} text=${each} href=${link("cloud", { filter: each })} />`)}
			${root.traits.length > CHIPS_MAX && html`<a class="small" href=${link("tree", { uuid, provider: root.uuid })}>${root.traits.length - CHIPS_MAX} more traits</a>`}
		</p>
		<${ProviderTree} providers=${providers} />`;
}
