// The page Tree without a tree: how to get to one.

import { get } from "../../api.js";
import { Empty, Failed, Loading, useReading } from "../../parts/conditions.js";
import { Page } from "../../parts/page.js";
import { ProviderLink } from "../../parts/values.js";
import { compareNames } from "../../model/tree.js";
import { link } from "../../state.js";
import { html } from "../../vendor/preact.js";

const ROOTS_MAX = 50;
/** Of so many providers the roots are looked for. */
const PROVIDERS_MAX = 500;

/**
 * Some roots to begin with.
 * @param {AbortSignal} signal
 * @returns {Promise<{roots: {uuid: string, name: string}[], isAll: boolean}>}
 */
async function readRoots(signal) {
	/** @type {{resource_providers: import("../../model/tree.js").Provider[], next?: string}} */
	const answer = await get("/resource_providers", { limit: PROVIDERS_MAX }, { signal });
	const roots = answer.resource_providers.filter((each) => each.parent_provider_uuid === null);
	const shown = roots.slice(0, ROOTS_MAX).sort((one, other) => compareNames(one.name, other.name));
	return { roots: shown, isAll: !answer.next && roots.length <= ROOTS_MAX };
}

export function TreeStart() {
	const { value, error, reload } = useReading(readRoots, []);
	if (error) return html`<${Page} title="Tree"><${Failed} error=${error} retry=${reload} /></${Page}>`;
	if (!value) return html`<${Page} title="Tree"><${Loading} text="looking for trees" /></${Page}>`;
	if (!value.roots.length) {
		return html`<${Page} title="Tree"><${Empty} title="There is no tree yet" command="roost demo">
			This page shows the providers of one tree: what each has, what of it is used, and by whom. A small data centre to try it with:
		</${Empty}></${Page}>`;
	}
	return html`<${Page} title="Tree">
		<h2>Which tree?</h2>
		<p>Type a name or a UUID into the search box (<kbd>/</kbd>), or click a cell of the <a href=${link("cloud")}>cloud</a>.
			${value.isAll ? " All trees:" : " Some of the trees:"}</p>
		<ul class="roots">${value.roots.map((root) => html`<li key=${root.uuid}><${ProviderLink} uuid=${root.uuid} name=${root.name} /></li>`)}</ul>
	</${Page}>`;
}
