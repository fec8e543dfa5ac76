/** The lines of charts as SVG paths; pure. */

/** A point in pixels, from the upper left corner. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** The room of a chart, pixels. */
export interface Box {
  readonly width: number;
  readonly height: number;
}

/** Half the length of the dash that shows a point without neighbours, pixels. */
const LONE_DASH = 1;

/**
 * Places numbers at equal distances over the width, from zero at the bottom.
 *
 * @param values `null` where nothing is known
 * @param top the number at the upper edge; a greater one is drawn at the edge
 * @returns the parts of the line between gaps, each with at least one point
 */
export function placeValues(
  values: readonly (number | null)[],
  { width, height }: Box,
  top: number,
): readonly (readonly Point[])[] {
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  const parts: Point[][] = [];
  let isOpen = false;
  for (const [index, value] of values.entries()) {
    if (value === null) {
      isOpen = false;
      continue;
    }
    if (!isOpen) parts.push([]);
    isOpen = true;
    const share = top > 0 ? Math.min(1, Math.max(0, value / top)) : 0;
    parts.at(-1)?.push({ x: values.length > 1 ? index * step : width / 2, y: height - share * height });
  }
  return parts;
}

/** The path of a line with gaps. A point without neighbours becomes a short dash. */
export function linePath(parts: readonly (readonly Point[])[]): string {
  return parts
    .map((points) => {
      const [first] = points;
      if (first === undefined) return '';
      if (points.length === 1) return `M${pixel(first.x - LONE_DASH)} ${pixel(first.y)}h${2 * LONE_DASH}`;
      return points.map((point, index) => `${index === 0 ? 'M' : 'L'}${at(point)}`).join('');
    })
    .join('');
}

/** The path of the area between a line with gaps and the bottom of the chart. */
export function areaPath(parts: readonly (readonly Point[])[], height: number): string {
  return parts
    .flatMap((points) => {
      const [first, last] = [points[0], points.at(-1)];
      if (first === undefined || last === undefined || points.length === 1) return [];
      const line = points.map((point) => `L${at(point)}`).join('');
      return [`M${pixel(first.x)} ${pixel(height)}${line}L${pixel(last.x)} ${pixel(height)}Z`];
    })
    .join('');
}

function at({ x, y }: Point): string {
  return `${pixel(x)} ${pixel(y)}`;
}

/** Tenths of a pixel are enough. */
function pixel(value: number): string {
  return String(Math.round(value * 10) / 10);
}
