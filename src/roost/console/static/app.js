// The console: who is asking, the header, and the page that the address names.

import { get } from "./api.js";
// Not only when the page Events is opened: it shows what happened before, too.
import "./model/event_log.js";
import { startStream } from "./model/live.js";
import { Failed, Loading, useReading } from "./parts/conditions.js";
import { Jump } from "./parts/jump.js";
import { Keys } from "./parts/keys.js";
import { LiveLight } from "./parts/live_light.js";
import { Login } from "./parts/login.js";
import { applyTheme, followLink, nextTheme, session, theme, useAddress, useStore } from "./state.js";
import { Component, html, render, useEffect, useState } from "./vendor/preact.js";

/** @typedef {(props: {parameters: URLSearchParams}) => any} PageComponent */

/** The code of a page is loaded when the page is first opened. @type {Record<string, () => Promise<PageComponent>>} */
const ROUTES = {
	cloud: async () => (await import("./pages/cloud.js")).CloudPage,
	tree: async () => (await import("./pages/tree.js")).TreePage,
	ask: async () => (await import("./pages/ask.js")).AskPage,
	consumers: async () => (await import("./pages/consumers.js")).ConsumersPage,
	events: async () => (await import("./pages/events.js")).EventsPage,
	service: async () => (await import("./pages/service.js")).ServicePage,
};

const NAVIGATION = [["cloud", "Cloud"], ["ask", "Ask"], ["consumers", "Consumers"], ["events", "Events"], ["service", "Service"]];
const THEME_NAMES = /** @type {Record<string, string>} */ ({ "": "as the system has it", light: "light", dark: "dark" });

function Console() {
	useStore(session);
	const [failure, setFailure] = useState(/** @type {unknown} */ (null));
	const begin = async () => {
		setFailure(null);
		try {
			const { token, ...service } = await get("/console/session");
			session.service = service;
			session.accept(token);
		} catch (error) {
			setFailure(error);
		}
	};
	useEffect(() => void begin(), []);
	const { token } = session;
	useEffect(() => {
		if (token) startStream();
	}, [token]);
	if (failure) return html`<main id="main"><${Failed} error=${failure} retry=${begin} /></main>`;
	if (!session.service) return html`<main id="main"><${Loading} text="asking the service" /></main>`;
	return token ? html`<${Frame} />` : html`<${Login} />`;
}

function Frame() {
	const { page, parameters } = useAddress();
	useStore(theme);
	return html`
		<a class="skip" href="#main">to the content</a>
		<header>
			<a class="brand" href="cloud">roost</a>
			<nav aria-label="pages">
				${NAVIGATION.map(([key, text]) => html`<a href=${key} aria-current=${key === page ? "page" : undefined}>${text}</a>`)}
			</nav>
			<${Jump} />
			<${LiveLight} />
			<button type="button" class="icon" title=${`theme: ${THEME_NAMES[theme.value]} (t)`} aria-label="change the theme" onClick=${nextTheme}>◐</button>
			<${Keys} />
		</header>
		<main id="main" class=${`page-${page}`}>
			<${Boundary} key=${page}><${LoadedPage} page=${page} parameters=${parameters} /></${Boundary}>
		</main>`;
}

/** @param {{page: string, parameters: URLSearchParams}} props */
function LoadedPage({ page, parameters }) {
	const { value, error, reload } = useReading(async () => ({ Component: await ROUTES[page]() }), [page]);
	if (error) return html`<${Failed} error=${error} retry=${reload} />`;
	return value ? html`<${value.Component} parameters=${parameters} />` : html`<${Loading} />`;
}

/** Shows what went wrong in a page instead of nothing. @extends {Component<{children?: any}, {error: unknown}>} */
class Boundary extends Component {
	constructor() {
		super();
		/** @type {{error: unknown}} */
		this.state = { error: null };
	}

	/** @param {unknown} error */
	componentDidCatch(error) {
		console.error(error);
		this.setState({ error });
	}

	render() {
		if (!this.state.error) return this.props.children;
		return html`<${Failed} error=${this.state.error} retry=${() => this.setState({ error: null })} />`;
	}
}

applyTheme();
document.addEventListener("click", followLink);
const root = /** @type {HTMLElement} */ (document.getElementById("console"));
root.replaceChildren();
render(html`<${Console} />`, root);
