// The page Service.

import { Empty } from "../parts/conditions.js";
import { Page } from "../parts/page.js";
import { html } from "../vendor/preact.js";

/** @param {{parameters: URLSearchParams}} props */
export function ServicePage({ parameters }) {
	return html`<${Page} title="Service"><${Empty} title="Service">${parameters.toString()}</${Empty}></${Page}>`;
}
