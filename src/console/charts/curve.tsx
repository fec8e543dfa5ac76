import type { JSX } from 'preact';
import { areaPath, linePath, type Box, type Point } from './line-path.ts';

/** Room for half the line at the upper and lower edge, pixels. */
const EDGE = 1;
/** Narrower steps of a line cannot be seen, pixels. */
export const LINE_STEP = 2;

/** The room of the points of a curve, within the room of the curve. */
export function roomOfCurve({ width, height }: Box): Box {
  return { width, height: height - 2 * EDGE };
}

/** A line and the area below it. @param props `parts`: placed in {@link roomOfCurve} */
export function Curve({
  label,
  box,
  parts,
}: {
  readonly label: string;
  readonly box: Box;
  readonly parts: readonly (readonly Point[])[];
}): JSX.Element {
  return (
    <svg role="img" aria-label={label} width={box.width} height={box.height}>
      <g transform={`translate(0 ${EDGE})`}>
        <path class="area" d={areaPath(parts, roomOfCurve(box).height)} />
        <path class="line" d={linePath(parts)} />
      </g>
    </svg>
  );
}
