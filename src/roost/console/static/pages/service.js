// The page Service: how the service is, what it does, and what its API offers.

import { url } from "../api.js";
import { ApiView } from "../api_docs/view.js";
import { Loading } from "../parts/conditions.js";
import { Page } from "../parts/page.js";
import { link } from "../state.js";
import { html } from "../vendor/preact.js";
import { Condition, Database, Extensions, Processes, Trouble } from "./service/condition.js";
import { readMetrics, readReadiness, readVersions, usePolling } from "./service/polling.js";
import { Plots, Routes } from "./service/traffic.js";

const METRICS_SECONDS = 2;
const READINESS_SECONDS = 5; // it asks the database
const VERSIONS_SECONDS = 30; // they change when another version is started

/** @param {{parameters: URLSearchParams}} props */
export function ServicePage({ parameters }) {
	const isApi = parameters.get("view") === "api";
	const views = html`<span class="views">
		<a href=${link("service")} aria-current=${isApi ? undefined : "true"}>state</a>
		<a href=${link("service", { view: "api" })} aria-current=${isApi ? "true" : undefined}>API</a>
	</span>`;
	return isApi ? html`<${ApiView} page="service" parameters=${parameters} views=${views} />` : html`<${StateView} parameters=${parameters} views=${views} />`;
}

/** @param {{parameters: URLSearchParams, views: any}} props */
function StateView({ parameters, views }) {
	const readiness = usePolling(readReadiness, READINESS_SECONDS);
	const versions = usePolling(readVersions, VERSIONS_SECONDS);
	const scrape = usePolling(readMetrics, METRICS_SECONDS);
	const filters = html`${views}
		<span class="raw small"><a href=${url("/readyz")}>readyz</a> <a href=${url("/metrics")}>metrics</a> <a href=${url("/openapi.json")}>openapi.json</a></span>`;
	return html`<${Page} title="Service" filters=${filters}>
		<${Condition} readiness=${readiness} versions=${versions} scrape=${scrape} />
		<${Trouble} error=${scrape.error} />
		${!scrape.value && !scrape.error && html`<${Loading} text="reading the metrics" />`}
		${scrape.value && html`
			<section aria-label="traffic"><h2 class="unseen">Traffic</h2><${Plots} /></section>
			<div class="pair">
				<section aria-label="processes"><h2>Processes</h2>
					<div class="wide" role="group" aria-label="table of processes" tabindex="0"><${Processes} scrape=${scrape.value} /></div>
				</section>
				<section aria-label="database"><h2>Database</h2><${Database} scrape=${scrape.value} /></section>
			</div>
			<section aria-label="routes"><h2>Routes</h2><${Routes} sort=${parameters.get("sort") ?? ""} /></section>`}
		${versions.value && html`<section aria-label="extensions"><h2>Extensions of the API</h2><${Extensions} versions=${versions.value} /></section>`}
	</${Page}>`;
}
