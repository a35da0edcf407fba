// One color for each class, told apart by people with any kind of color vision as far as colors go; a name stands
// beside every one of them.

const LIGHT = ["#3b5bdb", "#d9770a", "#0f8a66", "#c2317a", "#7a4fd0", "#1787b8", "#96700a", "#b4402c", "#4d7c1f", "#3f4a5a"];
const DARK = ["#8ea6ff", "#f5a953", "#4fd1a5", "#f28bbd", "#bda2ff", "#6cc8f0", "#e3c25c", "#ff9d8a", "#a9d46a", "#d3dae6"];

const dark = matchMedia("(prefers-color-scheme: dark)");

export function colorOf(rank) {
  const colors = dark.matches ? DARK : LIGHT;
  if (rank < colors.length) return colors[rank];
  return `hsl(${(rank * 137.5) % 360} 55% ${dark.matches ? 70 : 42}%)`;
}

export class Colors {
  constructor() {
    this.ranks = new Map();
  }

  learn(names) {
    for (const name of names) if (!this.ranks.has(name)) this.ranks.set(name, this.ranks.size);
  }

  of(name) {
    return name === null || name === undefined ? themed("--line-strong") : colorOf(this.ranks.get(name) ?? 9);
  }
}

export const themed = (variable) => getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
export const onTheme = (run) => dark.addEventListener("change", run);
