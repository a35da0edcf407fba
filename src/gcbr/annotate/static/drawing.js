// The neighborhood of a node: the node in the middle, its neighbors around it, some of theirs outside.

import { onTheme, themed } from "./colors.js";

const INNER = 62; // radius of the ring of neighbors, in pixels where the drawing fits without zooming
const OUTER = 124;
const touch = matchMedia("(pointer: coarse)");

export class Drawing {
  constructor(container, colors, onPick) {
    this.colors = colors;
    this.shown = null;
    this.cy = window.cytoscape({
      container,
      minZoom: 0.2,
      maxZoom: 4,
      boxSelectionEnabled: false,
      autoungrabify: true,
      userPanningEnabled: !touch.matches, // on a phone a finger scrolls the page
      userZoomingEnabled: !touch.matches,
      style: this.style(),
    });
    this.cy.on("tap", "node", (event) => onPick(Number(event.target.id())));
    this.cy.on("mouseover", "node", (event) => event.target.addClass("hovered"));
    this.cy.on("mouseout", "node", (event) => event.target.removeClass("hovered"));
    new ResizeObserver(() => this.fit()).observe(container);
    onTheme(() => {
      this.cy.style(this.style());
      if (this.shown) this.show(this.shown);
    });
  }

  show(neighborhood, hidePredictions = this.hidden) {
    this.shown = neighborhood;
    this.hidden = hidePredictions;
    const places = layout(neighborhood);
    const isQuiet = neighborhood.shown > 7;
    const nodes = neighborhood.nodes.map((node) => {
      const cls = node.label ?? (hidePredictions ? null : node.predicted);
      return {
        data: {
          id: String(node.node),
          name: shorten(node.name),
          size: [24, 12, 8][node.distance] + [8, 12, 8][node.distance] * node.centrality,
          color: this.colors.of(cls),
          fill: node.label === null ? themed("--surface") : this.colors.of(node.label),
        },
        position: places.get(node.node),
        classes: [`far-${node.distance}`, node.distance === 0 || (node.distance === 1 && !isQuiet) ? "named" : ""].join(" "),
      };
    });
    const edges = neighborhood.edges.map(([a, b]) => ({
      data: { id: `${a}-${b}`, source: String(a), target: String(b) },
      classes: a === neighborhood.nodes[0].node || b === neighborhood.nodes[0].node ? "own" : "",
    }));
    this.cy.batch(() => {
      this.cy.elements().remove();
      this.cy.add([...nodes, ...edges]);
    });
    this.fit();
  }

  fit() {
    this.cy.resize();
    this.cy.fit(undefined, 14);
    if (this.cy.zoom() > 1.3) this.cy.zoom(1.3);
    this.cy.center();
  }

  zoom(factor) {
    this.cy.zoom({ level: this.cy.zoom() * factor, renderedPosition: { x: this.cy.width() / 2, y: this.cy.height() / 2 } });
    this.cy.userPanningEnabled(true);
  }

  style() {
    const ink = themed("--ink");
    return [
      {
        selector: "node",
        style: {
          width: "data(size)",
          height: "data(size)",
          "background-color": "data(fill)",
          "border-color": "data(color)",
          "border-width": 2.5,
          color: ink,
          "font-size": 11,
          "font-family": "system-ui, sans-serif",
          "text-valign": "bottom",
          "text-margin-y": 4,
          "text-outline-width": 2,
          "text-outline-color": themed("--surface"),
        },
      },
      { selector: "node.far-0", style: { "border-width": 4, "font-weight": 600, "font-size": 12 } },
      { selector: "node.far-2", style: { opacity: 0.75, "border-width": 2 } },
      { selector: "node.named, node.hovered", style: { label: "data(name)" } },
      { selector: "node.hovered", style: { opacity: 1, "z-index": 10 } },
      { selector: "edge", style: { width: 1, "line-color": themed("--line-strong"), "curve-style": "straight", opacity: 0.55 } },
      { selector: "edge.own", style: { width: 1.6, opacity: 0.95 } },
    ];
  }
}

const shorten = (name) => (name.length > 16 ? `${name.slice(0, 15)}…` : name);

// Rings, each outer node behind the neighbor it belongs to: no simulation, so the same picture every time.
function layout({ nodes, edges }) {
  const places = new Map([[nodes[0].node, { x: 0, y: 0 }]]);
  const near = nodes.filter((node) => node.distance === 1);
  const far = nodes.filter((node) => node.distance === 2);
  const radius = far.length ? INNER : 0.8 * OUTER;
  const angles = new Map(near.map((node, rank) => [node.node, (2 * Math.PI * rank) / near.length - Math.PI / 2]));
  for (const [node, angle] of angles) {
    places.set(node, { x: radius * Math.cos(angle), y: radius * Math.sin(angle) });
  }
  const parents = new Map();
  for (const [a, b] of edges) {
    if (angles.has(a) && !parents.has(b)) parents.set(b, a);
    if (angles.has(b) && !parents.has(a)) parents.set(a, b);
  }
  far.sort((a, b) => (angles.get(parents.get(a.node)) ?? 0) - (angles.get(parents.get(b.node)) ?? 0));
  far.forEach((node, rank) => {
    const angle = (2 * Math.PI * rank) / far.length - Math.PI / 2;
    const reach = OUTER * (rank % 2 ? 0.86 : 1);
    places.set(node.node, { x: 1.12 * reach * Math.cos(angle), y: reach * Math.sin(angle) });
  });
  return places;
}
