import type { JSX } from 'preact';

/** How far a key moves the edge, pixels. */
const STEP = 16;

interface ColumnEdgeProps {
  /** Of the column. */
  readonly name: string;
  /** Pixels. */
  readonly width: number;
  /** Only one edge of a table takes part in the order of the Tab key; the arrow keys reach the others. */
  readonly isReached: boolean;
  readonly onWidth: (width: number) => void;
  readonly onFocus: () => void;
}

/** The edge of a column, which changes its width by pointer or keyboard. */
export function ColumnEdge({ name, width, isReached, onWidth, onFocus }: ColumnEdgeProps): JSX.Element {
  const widthOf = (edge: HTMLElement): number => edge.parentElement?.offsetWidth ?? 0;
  return (
    <span
      role="separator"
      class="column-edge"
      aria-orientation="vertical"
      aria-label={`Width of ${name}`}
      aria-valuenow={width}
      aria-valuetext={`${width} pixels`}
      title="Drag it, or press the left and right keys, to change the width; up and down go to another column"
      tabIndex={isReached ? 0 : -1}
      onFocus={onFocus}
      onPointerDown={(event) => {
        const edge = event.currentTarget;
        const [start, before] = [event.clientX, widthOf(edge)];
        const onDrag = ({ clientX }: PointerEvent): void => onWidth(before + clientX - start);
        event.preventDefault();
        edge.setPointerCapture(event.pointerId);
        edge.addEventListener('pointermove', onDrag);
        edge.addEventListener('lostpointercapture', () => edge.removeEventListener('pointermove', onDrag), {
          once: true,
        });
      }}
      onKeyDown={(event) => {
        const edge = event.currentTarget;
        if (event.key === 'ArrowLeft') onWidth(widthOf(edge) - STEP);
        else if (event.key === 'ArrowRight') onWidth(widthOf(edge) + STEP);
        else if (event.key === 'ArrowUp') edgeBeside(edge, -1)?.focus();
        else if (event.key === 'ArrowDown') edgeBeside(edge, 1)?.focus();
        else return;
        event.preventDefault();
        // The rows have the same keys.
        event.stopPropagation();
      }}
    />
  );
}

function edgeBeside(edge: HTMLElement, step: 1 | -1): HTMLElement | undefined {
  const edges = [...(edge.closest('[role="row"]')?.querySelectorAll<HTMLElement>('.column-edge') ?? [])];
  return edges[edges.indexOf(edge) + step];
}
