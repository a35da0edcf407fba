// A small line over time.

const SPACE = "http://www.w3.org/2000/svg";
const WIDTH = 240;
const HEIGHT = 48;
const EDGE = 5;

function shape(tag, properties) {
  const made = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(properties)) made.setAttribute(name, value);
  return made;
}

// `points` are [{x, y, marked}], y from 0 to 1; marked ones are where stopping was advised.
export function drawLine(parent, points, name) {
  const chart = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", class: "line-chart" });
  const last = points.at(-1);
  chart.setAttribute("aria-label", last ? `${name}: ${points.length} values, the last is ${last.y.toFixed(2)}` : `${name}: nothing yet`);
  for (const share of [0, 0.5, 1]) {
    const y = placeY(share);
    chart.append(shape("line", { x1: 0, x2: WIDTH, y1: y, y2: y, class: share ? "rule" : "axis" }));
  }
  if (last) {
    const first = points[0].x;
    const span = Math.max(1, last.x - first);
    const places = points.map((point) => [EDGE + ((point.x - first) / span) * (WIDTH - 2 * EDGE), placeY(point.y)]);
    chart.append(shape("polyline", { points: places.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" "), class: "line" }));
    places.forEach(([x, y], rank) => {
      if (points[rank].marked) chart.append(shape("circle", { cx: x, cy: y, r: 3, class: "marked" }));
    });
    const [x, y] = places.at(-1);
    chart.append(shape("circle", { cx: x, cy: y, r: 3.5, class: "last" }));
  }
  parent.replaceChildren(chart);
}

const placeY = (share) => HEIGHT - EDGE - share * (HEIGHT - 2 * EDGE);
