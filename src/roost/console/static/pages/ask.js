// The page Ask.

import { Empty } from "../parts/conditions.js";
import { Page } from "../parts/page.js";
import { html } from "../vendor/preact.js";

/** @param {{parameters: URLSearchParams}} props */
export function AskPage({ parameters }) {
	return html`<${Page} title="Ask"><${Empty} title="Ask">${parameters.toString()}</${Empty}></${Page}>`;
}
