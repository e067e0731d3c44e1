// The page Consumers.

import { Empty } from "../parts/conditions.js";
import { Page } from "../parts/page.js";
import { html } from "../vendor/preact.js";

/** @param {{parameters: URLSearchParams}} props */
export function ConsumersPage({ parameters }) {
	return html`<${Page} title="Consumers"><${Empty} title="Consumers">${parameters.toString()}</${Empty}></${Page}>`;
}
