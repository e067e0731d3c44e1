// The page Tree.

import { Empty } from "../parts/conditions.js";
import { Page } from "../parts/page.js";
import { html } from "../vendor/preact.js";

/** @param {{parameters: URLSearchParams}} props */
export function TreePage({ parameters }) {
	return html`<${Page} title="Tree"><${Empty} title="Tree">${parameters.toString()}</${Empty}></${Page}>`;
}
