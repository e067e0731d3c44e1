// The page Cloud.

import { Empty } from "../parts/conditions.js";
import { Page } from "../parts/page.js";
import { html } from "../vendor/preact.js";

/** @param {{parameters: URLSearchParams}} props */
export function CloudPage({ parameters }) {
	return html`<${Page} title="Cloud"><${Empty} title="Cloud">${parameters.toString()}</${Empty}></${Page}>`;
}
