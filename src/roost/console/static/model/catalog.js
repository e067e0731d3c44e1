// The names that requests may use: resource classes, traits and aggregates.

import { get } from "../api.js";
import { Store } from "../state.js";
import { followEvents } from "./live.js";

/** @typedef {{classes: string[], traits: string[], aggregates: string[]}} Catalog */

/** Empty until `loadCatalog` has read it. @type {Store<Catalog>} */
export const catalog = new Store({ classes: [], traits: [], aggregates: [] });

/** @type {Promise<void> | null} */
let loading = null;

/** Read the catalogue once; again after it has changed. A part that is forbidden stays empty. */
export function loadCatalog() {
	loading ??= Promise.all([
		get("/resource_classes").catch(() => ({ resource_classes: [] })),
		get("/traits").catch(() => ({ traits: [] })),
		get("/summary", { by: "aggregates", resource_class: "VCPU" }).catch(() => ({ aggregates: {} })),
	]).then(([classes, traits, summary]) =>
		catalog.set({
			classes: classes.resource_classes.map((/** @type {{name: string}} */ each) => each.name).sort(),
			traits: traits.traits.sort(),
			aggregates: Object.keys(summary.aggregates).sort(),
		}),
	);
	return loading;
}

followEvents({
	events: (events) => {
		if (loading && events.some((event) => event.kind === "catalog" || event.kind === "aggregates")) {
			loading = null;
			loadCatalog();
		}
	},
});
