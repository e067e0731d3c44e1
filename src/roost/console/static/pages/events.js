// The page Events.

import { Empty } from "../parts/conditions.js";
import { Page } from "../parts/page.js";
import { html } from "../vendor/preact.js";

/** @param {{parameters: URLSearchParams}} props */
export function EventsPage({ parameters }) {
	return html`<${Page} title="Events"><${Empty} title="Events">${parameters.toString()}</${Empty}></${Page}>`;
}
