import type { JSX } from 'preact';
import { useWidth } from './use-width.ts';

const HEIGHT = 16;
/** A part that exists is never narrower, pixels. */
const LEAST_WIDTH = 2;

export interface StoragePart {
  readonly kind: 'current' | 'retained' | 'reclaimable' | 'quarantine' | 'other' | 'free';
  readonly text: string;
  readonly size: number;
}

/** A part with its place in the bar, pixels. */
interface PlacedPart extends StoragePart {
  readonly x: number;
  readonly width: number;
}

/** Places the parts side by side over the width. A small part keeps a visible width at the cost of the others. */
export function placeParts(parts: readonly StoragePart[], width: number): readonly PlacedPart[] {
  const shown = parts.filter(({ size }) => size > 0);
  const total = shown.reduce((sum, { size }) => sum + size, 0);
  const room = Math.max(0, width - shown.length * LEAST_WIDTH);
  let x = 0;
  return shown.map((part) => {
    const placed = { ...part, x, width: LEAST_WIDTH + (part.size / total) * room };
    x += placed.width;
    return placed;
  });
}

/** The use of a volume, with a legend that has the numbers. */
export function StorageBar({
  label,
  parts,
  format,
}: {
  readonly label: string;
  readonly parts: readonly StoragePart[];
  readonly format: (size: number) => string;
}): JSX.Element {
  const [box, width] = useWidth<HTMLDivElement>();
  return (
    <figure class="chart storage-bar">
      <figcaption class="unseen">{label}</figcaption>
      <div class="chart-box" ref={box}>
        {/* The legend says the same. */}
        <svg width={width} height={HEIGHT} aria-hidden="true">
          {placeParts(parts, width).map(({ kind, text, size, x, width: wide }) => (
            <rect key={kind} class={`storage-${kind}`} x={x} y={0} width={wide} height={HEIGHT}>
              <title>{`${text}: ${format(size)}`}</title>
            </rect>
          ))}
        </svg>
      </div>
      <ul class="legend">
        {parts.map(({ kind, text, size }) => (
          <li key={kind}>
            <svg class="swatch" width={10} height={10} aria-hidden="true">
              <rect class={`storage-${kind}`} width={10} height={10} />
            </svg>
            {text}
            <strong>{format(size)}</strong>
          </li>
        ))}
      </ul>
    </figure>
  );
}
