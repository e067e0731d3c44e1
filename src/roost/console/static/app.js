// The console: who is asking, the header, and the page that the address names.

import { get } from "./api.js";
import { startStream } from "./model/live.js";
import { AskPage } from "./pages/ask.js";
import { CloudPage } from "./pages/cloud.js";
import { ConsumersPage } from "./pages/consumers.js";
import { EventsPage } from "./pages/events.js";
import { ServicePage } from "./pages/service.js";
import { TreePage } from "./pages/tree.js";
import { Failed, Loading } from "./parts/conditions.js";
import { Jump } from "./parts/jump.js";
import { Keys } from "./parts/keys.js";
import { LiveLight } from "./parts/live_light.js";
import { Login } from "./parts/login.js";
import { applyTheme, followLink, nextTheme, session, theme, useAddress, useStore } from "./state.js";
import { Component, html, render, useEffect, useState } from "./vendor/preact.js";

/** @type {Record<string, (props: {parameters: URLSearchParams}) => any>} */
const ROUTES = {
	cloud: CloudPage,
	tree: TreePage,
	ask: AskPage,
	consumers: ConsumersPage,
	events: EventsPage,
	service: ServicePage,
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
			<${Boundary} key=${page}><${ROUTES[page]} parameters=${parameters} /></${Boundary}>
		</main>`;
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
