import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** The measurements of one job. */
export interface GrowthSeries {
  readonly name: string;
  readonly unit: string;
  readonly points: ReadonlyArray<{ readonly size: number; readonly seconds: number }>;
  readonly exponent: number;
}

const [WIDTH, HEIGHT, MARGIN] = [720, 420, 56] as const;
const LEGEND_WIDTH = 260;
const COLOURS = ['#3b7dd8', '#c8553d', '#3f8f4f', '#8a5fbf', '#b0851f'];

/** Writes a plot of time by size as SVG, both on logarithmic scales; sizes are multiples of the smallest of each job. */
export async function writeGrowthPlot(file: string, series: readonly GrowthSeries[]): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, growthPlot(series));
}

function growthPlot(series: readonly GrowthSeries[]): string {
  const lines = series.map(({ points }) => {
    const [first] = points;
    return points.map(({ size, seconds }) => ({
      x: Math.log10(size / (first?.size ?? size)),
      y: Math.log10(seconds),
    }));
  });
  const all = lines.flat();
  const right = Math.ceil(Math.max(1, ...all.map(({ x }) => x)));
  const [bottom, top] = [
    Math.floor(Math.min(0, ...all.map(({ y }) => y))),
    Math.ceil(Math.max(1, ...all.map(({ y }) => y))),
  ];
  const across = (x: number): number => MARGIN + (x / right) * (WIDTH - LEGEND_WIDTH - 2 * MARGIN);
  const up = (y: number): number => HEIGHT - MARGIN - ((y - bottom) / (top - bottom)) * (HEIGHT - 2 * MARGIN);
  const powers = (from: number, to: number): number[] =>
    Array.from({ length: to - from + 1 }, (_, i) => from + i);
  const grid = [
    ...powers(0, right).map(
      (x) =>
        `<path class="grid" d="M${across(x)} ${up(bottom)}V${up(top)}"/><text x="${across(x)}" y="${HEIGHT - MARGIN + 20}" text-anchor="middle">× ${10 ** x}</text>`,
    ),
    ...powers(bottom, top).map(
      (y) =>
        `<path class="grid" d="M${across(0)} ${up(y)}H${across(right)}"/><text x="${MARGIN - 8}" y="${up(y) + 4}" text-anchor="end">${Number((10 ** y).toPrecision(1))} s</text>`,
    ),
  ];
  const drawn = series.map(({ name, exponent }, at) => {
    const colour = COLOURS[at % COLOURS.length];
    const path = (lines[at] ?? []).map(({ x, y }) => `${across(x).toFixed(1)} ${up(y).toFixed(1)}`).join('L');
    const legend = MARGIN + 22 * at;
    return `<path d="M${path}" fill="none" stroke="${colour}" stroke-width="2.5"/><path d="M${WIDTH - LEGEND_WIDTH} ${legend}h18" stroke="${colour}" stroke-width="2.5"/><text x="${WIDTH - LEGEND_WIDTH + 26}" y="${legend + 4}">${name}: ${exponent.toFixed(2)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="Time of each job by its size, with the exponent of its growth">
<style>text{font:12px system-ui,sans-serif;fill:#333}.grid{stroke:#8884}@media(prefers-color-scheme:dark){text{fill:#ddd}}</style>
${grid.join('\n')}
${drawn.join('\n')}
</svg>
`;
}
